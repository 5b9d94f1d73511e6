"""Measuring and cutting JSON of any depth: loops agree with the decoder where it can follow."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.meta.nesting import is_deeper_than, items_of, members_of, nesting_depth

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(alphabet='a"\\{}[],: é\n'),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(alphabet='ab"\\{}[]:'), inner),
    max_leaves=12,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


@settings(max_examples=30)
@given(JSON, st.sampled_from([None, 1]))
def test_the_depth_of_any_json_is_counted(value: Any, indent: int | None) -> None:
    raw = msgspec.json.encode(value)
    raw = raw if indent is None else msgspec.json.format(raw, indent=indent)

    depth = nesting_depth(raw)

    assert depth == depth_of(value)
    assert is_deeper_than(raw, depth - 1) or not depth
    assert not is_deeper_than(raw, depth)


@settings(max_examples=30)
@given(st.dictionaries(st.text(alphabet='ab"\\{}[]:'), JSON), st.sampled_from([None, 1]))
def test_an_object_is_cut_into_its_members(value: dict[str, Any], indent: int | None) -> None:
    raw = msgspec.json.encode(value)
    raw = raw if indent is None else msgspec.json.format(raw, indent=indent)

    members = members_of(raw)

    assert {name: msgspec.json.decode(held) for name, held in members.items()} == value


@settings(max_examples=30)
@given(st.lists(JSON), st.sampled_from([None, 1]))
def test_an_array_is_cut_into_its_items(value: list[Any], indent: int | None) -> None:
    raw = msgspec.json.encode(value)
    raw = raw if indent is None else msgspec.json.format(raw, indent=indent)

    assert [*map(msgspec.json.decode, items_of(raw))] == value


@pytest.mark.parametrize("levels", [1, 999, 10_000, 100_000])
@pytest.mark.parametrize(("start", "end"), [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"b":', b"}]")])
def test_no_depth_is_too_much(start: bytes, end: bytes, levels: int) -> None:
    raw = start * levels + b"1" + end * levels
    per_step = start.count(b"[") + start.count(b"{")

    assert nesting_depth(raw) == levels * per_step
    assert items_of(b"[0," + raw + b" ,2]") == [b"0", raw, b"2"]
    assert members_of(b'{"x":0,"y":' + raw + b"}") == {"x": b"0", "y": raw}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"1",
        b"[]",
        b"{",
        b"}",
        b'{"a":1',
        b'{"a":1}}',
        b'{"a":1} {}',
        b'1{"a":1}',
        b'{"a":1]',
        b"{1:2}",
        b'{"a"}',
        b'{"a" 1}',
        b'{,"a":1}',
        b'{"\\x":1}',
        b'{"a":"',
        b"[" * 5000,
    ],
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        members_of(raw)


@pytest.mark.parametrize("raw", [b"", b"{}", b"[", b"]", b"[1", b"[1]]", b"[1] 2", b"0[1]", b"[1}"])
def test_what_is_no_array_is_refused(raw: bytes) -> None:
    with pytest.raises(ValueError, match="no JSON in"):
        items_of(raw)
