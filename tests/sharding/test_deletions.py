"""Deletions that the next owner of a shard has to know of."""

from __future__ import annotations

import pytest

from clientgo.sharding import Deletions
from clientgo.sharding import deletions as module
from clientgo.testing import FakeClock


def test_deletions_of_some_keys_can_be_had_more_than_once() -> None:
    deletions: Deletions[str] = Deletions(clock=FakeClock())
    deletions.note("a", 1)
    deletions.note("b")
    deletions.note("a", 2)
    for _ in range(2):
        assert deletions.select(lambda key: key == "a") == [("a", 2)]
    assert deletions.select(lambda _key: True) == [("b", None), ("a", 2)]


def test_old_deletions_and_those_above_the_bound_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = FakeClock()
    deletions: Deletions[int] = Deletions(clock=clock)
    monkeypatch.setattr(module, "_MOST", 3)
    for key in range(5):
        deletions.note(key)
    assert [key for key, _ in deletions.select(lambda _key: True)] == [2, 3, 4]
    clock.step(599)
    deletions.note(9)
    clock.step(1)
    assert [key for key, _ in deletions.select(lambda _key: True)] == [9]
