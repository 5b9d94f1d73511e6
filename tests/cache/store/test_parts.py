"""Many objects in parts."""

from __future__ import annotations

import gc

import pytest

from clientgo.cache.store.parts import PART, Parts, in_parts, with_part
from tests.cache.builders import foo


def test_it_is_a_sequence_of_all_items() -> None:
    """RFL-15."""
    parts = Parts([(), ("a", "b"), (), ("c",)])
    assert [*parts] == ["a", "b", "c"] == [parts[0], parts[1], parts[2]]
    assert (len(parts), parts[-1], parts[1:]) == (3, "c", ["b", "c"])
    assert repr(parts) == "<3 objects in 4 parts>"
    with pytest.raises(IndexError):
        parts[3]


def test_it_is_equal_to_any_sequence_with_these_items() -> None:
    """RFL-15."""
    assert Parts([("a",), ("b",)]) == ["a", "b"]
    assert Parts([]) == []
    assert Parts([("a",)]) != ["b"]
    assert Parts([("a",)]) != ["a", "b"]
    assert Parts([]) != 7


def test_small_parts_are_joined() -> None:
    """RFL-15: adding one costs no more when there are many."""
    parts: tuple[tuple[int, ...], ...] = ()
    for number in range(3 * PART):
        parts = with_part(parts, (number,))
    assert [len(part) for part in parts] == [PART] * 3
    assert with_part((), ()) == ()
    assert [*in_parts(range(PART + 1))] == [tuple(range(PART)), (PART,)]


def test_the_garbage_collector_has_nothing_to_look_at() -> None:
    """RFL-15."""
    objs = [foo(f"a-{number}") for number in range(PART)]
    parts = [*in_parts(objs)]
    gc.collect()
    assert not any(map(gc.is_tracked, parts))
