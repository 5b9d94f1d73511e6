"""Values that are deeper than the walkers of the server: cut, joined and stored again."""

from __future__ import annotations

from itertools import chain
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from clientgo.testcluster.server.storage.deep_values import (
    MOST_LEVELS,
    DeepText,
    decode_any,
    decode_deep,
    encode,
    fold,
    is_deep,
    unfold,
)

SHAPES = {
    "objects": (b'{"a":', b"}"),
    "arrays": (b"[", b"]"),
    "mixed": (b'{"b":1.5,"d":"}\\"]","a":', b',"z":null}'),
}
LEVELS = (1, 199, 200, 201, 399, 400, 401, 1000, 9998)


def text(levels: int, shape: str) -> bytes:
    start, end = SHAPES[shape]
    return start * levels + b"1" + end * levels


def levels_in_memory(value: Any) -> int:
    level, count = [value], 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        count += 1
        members = [item.values() if isinstance(item, dict) else item for item in level]
        level = [*chain.from_iterable(members)]
    return count


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", LEVELS)
def test_a_text_of_any_depth_is_a_value_of_a_few_levels(levels: int, shape: str) -> None:
    raw = text(levels, shape)

    value = decode_deep(raw)

    assert levels_in_memory(value) <= MOST_LEVELS
    assert is_deep(value) == (levels > MOST_LEVELS)
    assert encode(value) == raw


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("levels", LEVELS)
def test_a_value_is_unfolded_and_folded_again(levels: int, shape: str) -> None:
    raw = text(levels, shape)

    whole = unfold(decode_deep(raw))
    depth = levels_in_memory(whole)
    fold(whole)

    assert depth == levels
    assert levels_in_memory(whole) <= MOST_LEVELS
    assert encode(whole) == raw


def test_parts_are_read_as_the_text_around_them() -> None:
    seen: list[bytes] = []

    def parse(raw: bytes) -> Any:
        seen.append(raw)
        return msgspec.json.decode(raw)

    raw = text(450, "objects")
    deep = DeepText(raw, parse)

    assert [part.count(b"{") for part in seen] == [50, 200]
    assert deep.text.count(b"{") == 200
    assert encode(deep.value(parse(deep.text))) == raw


@pytest.mark.parametrize("change", [b"", b"x", b",", b"]", b"}", b'"'])
@pytest.mark.parametrize("levels", [150, 250, 999])
def test_malformed_parts_are_refused(levels: int, change: bytes) -> None:
    raw = text(levels, "objects").replace(b"1", change)

    with pytest.raises(ValueError, match=r".+"):
        decode_any(raw)


@pytest.mark.parametrize("levels", [10_001, 200_000])
def test_more_levels_than_the_api_allows_are_refused(levels: int) -> None:
    with pytest.raises(ValueError, match="exceeded max depth"):
        decode_any(text(levels, "arrays"))


def test_what_a_client_writes_is_never_taken_for_a_part() -> None:
    raw = b'{"a":"deep-0","b":%s}' % text(300, "arrays")

    assert decode_deep(raw)["a"] == "deep-0"


def test_a_part_may_be_replaced_as_a_whole() -> None:
    value = decode_deep(text(300, "arrays"))
    holder = value
    while not isinstance(holder[0], Raw):
        holder = holder[0]
    holder[0] = 5

    assert encode(value) == b"[" * MOST_LEVELS + b"5" + b"]" * MOST_LEVELS
