"""A value that is computed when it is asked for."""

from __future__ import annotations

import threading

import pytest

from clientgo.cache.client_go.lazy import Lazy
from tests.background import Background
from tests.cache.running import PATIENCE, Noting


def test_it_is_computed_once_until_it_is_stale() -> None:
    """WTC-08."""
    numbers = iter(range(10))
    lazy = Lazy(lambda: next(numbers))
    assert (lazy.get(), lazy.get()) == (0, 0)
    lazy.notify()
    assert lazy.get() == 1


def test_an_error_is_not_kept() -> None:
    """WTC-08."""
    answers: list[Exception | str] = [ValueError("once"), "fine"]

    def answer() -> str:
        result = answers.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    lazy = Lazy(answer)
    with pytest.raises(ValueError, match="once"):
        lazy.get()
    assert lazy.get() == "fine"


class Slow:
    """A computation that begins, and ends when it is released."""

    def __init__(self) -> None:
        self.began = Noting()
        self.released = [threading.Event(), threading.Event()]

    def __call__(self) -> int:
        number = len(self.began.notes)
        self.began(number)
        assert self.released[number].wait(PATIENCE)
        return number


def test_those_who_ask_at_the_same_time_share_one_computation() -> None:
    """WTC-08."""
    slow = Slow()
    lazy = Lazy(slow)
    askers = [Background(lazy.get) for _ in range(4)]
    slow.began.wait_for_count(1)
    slow.released[0].set()
    assert [asker.result() for asker in askers] == [0, 0, 0, 0]
    assert slow.began.notes == [0]


def test_a_slow_stale_computation_does_not_hide_a_newer_one() -> None:
    """WTC-08."""
    slow = Slow()
    lazy = Lazy(slow)
    stale = Background(lazy.get)
    slow.began.wait_for_count(1)
    lazy.notify()
    slow.released[1].set()
    assert lazy.get() == 1
    slow.released[0].set()
    assert stale.result() == 0
    assert lazy.get() == 1
