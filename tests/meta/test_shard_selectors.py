"""Which part of the objects a shard selector means (KEP-5866)."""

from __future__ import annotations

from collections import Counter
from uuid import NAMESPACE_DNS, uuid5

import pytest

from clientgo.meta import (
    ObjectMeta,
    PartialObjectMetadata,
    SelectorError,
    ShardSelector,
    parse_shard_selector,
    shard_range,
)
from clientgo.meta.selectors.shard_selectors import NAMESPACE, UID, fnv1a

FIRST_HALF = "shardRange(object.metadata.uid, '0x0000000000000000', '0x8000000000000000')"
SECOND_HALF = "shardRange(object.metadata.uid, '0x8000000000000000', '0x10000000000000000')"


def obj(uid: str = "", namespace: str = "") -> PartialObjectMetadata:
    return PartialObjectMetadata(metadata=ObjectMeta(name="a", uid=uid, namespace=namespace))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", 0xCBF29CE484222325),
        ("a", 0xAF63DC4C8601EC8C),
        ("foobar", 0x85944171F73967E8),
        ("é", fnv1a("é")),
    ],
)
def test_the_hash_is_fnv_1a_of_64_bits(text: str, expected: int) -> None:
    """LWT-06: with the published values, so that it is the server's."""
    assert fnv1a(text) == expected


def test_shards_are_written_as_a_server_reads_them() -> None:
    """LWT-06."""
    assert [str(shard_range(number, 2)) for number in (0, 1)] == [FIRST_HALF, SECOND_HALF]
    assert str(shard_range(0, 1, NAMESPACE)) == (
        "shardRange(object.metadata.namespace, '0x0000000000000000', '0x10000000000000000')"
    )


@pytest.mark.parametrize("shards", [1, 2, 3, 7])
@pytest.mark.parametrize("field", [UID, NAMESPACE])
def test_each_object_is_in_one_of_all_shards(shards: int, field: str) -> None:
    """LWT-06: and the shards are about equal."""
    selectors = [parse_shard_selector(str(shard_range(n, shards, field))) for n in range(shards)]
    sizes: Counter[int] = Counter()
    for number in range(700):
        text = str(uuid5(NAMESPACE_DNS, str(number)))
        of_it = [n for n, each in enumerate(selectors) if each.matches(obj(text, text))]
        assert len(of_it) == 1
        sizes.update(of_it)
    assert min(sizes.values()) > 700 / shards / 2


def test_several_ranges_are_one_selector() -> None:
    """LWT-06."""
    selector = parse_shard_selector(f"{FIRST_HALF}||{SECOND_HALF}")

    assert selector == ShardSelector(UID, ((0, 2**63), (2**63, 2**64)))
    assert parse_shard_selector(str(selector)) == selector
    assert selector.matches(obj("any"))


def test_a_range_includes_its_start_and_not_its_end() -> None:
    """LWT-06."""
    hashed = fnv1a("u")
    for start, end, inside in ((hashed, hashed + 1, True), (0, hashed, False)):
        assert ShardSelector(UID, ((start, end),)).matches(obj("u")) == inside


@pytest.mark.parametrize(
    "text",
    [
        "",
        "shardRange()",
        "shardRange(metadata.uid, '0x0000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.name, '0x0000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x0', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x000000000000000A', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x8000000000000000', '0x8000000000000000')",
        "shardRange(object.metadata.uid, '0x0000000000000000', '0x10000000000000001')",
        f"{FIRST_HALF} &&  {SECOND_HALF}",
        f"{FIRST_HALF} || ",
        f"{FIRST_HALF} || {shard_range(0, 2, NAMESPACE)}",
    ],
)
def test_what_a_server_would_refuse_is_refused(text: str) -> None:
    """LWT-06."""
    with pytest.raises(SelectorError):
        parse_shard_selector(text)


def test_shards_that_do_not_exist_are_refused() -> None:
    """LWT-06."""
    for number, shards in ((2, 2), (-1, 2), (0, 0)):
        with pytest.raises(ValueError, match=f"there is no shard {number} of {shards}"):
            shard_range(number, shards)
    with pytest.raises(ValueError, match="shards are by"):
        shard_range(0, 2, "metadata.uid")
