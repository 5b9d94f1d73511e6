"""Waiting for what will be so, and looking whether it remains so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.testing.operator import consistently, eventually


def after(answers: list[Any]) -> Callable[[], Any]:
    """Gives the answers one after the other, and the last again and again."""

    def answer() -> Any:
        given = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(given, Exception):
            raise given
        return given

    return answer


def test_what_is_so_in_the_end_is_returned() -> None:
    """OP-TST-04: an assertion that fails meanwhile is no end."""
    assert eventually(after([None, AssertionError("not yet"), "there"]), every=0.001) == "there"


@pytest.mark.parametrize(
    ("answer", "last"), [(0, "answered 0"), (KeyError("x"), r"raised KeyError\('x'\)")]
)
def test_what_is_never_so_fails_with_the_last_answer(answer: Any, last: str) -> None:
    """OP-TST-04"""
    with pytest.raises(AssertionError, match=f"not so after 0.02 s: the last time it {last}"):
        eventually(after([answer]), timeout=0.02, every=0.01)


def test_what_remains_so_passes_and_what_does_not_fails() -> None:
    """OP-TST-04"""
    consistently(after([1]), duration=0.02, every=0.01)
    with pytest.raises(AssertionError, match="no longer so"):
        consistently(after([1, 1, 0]), duration=5.0, every=0.001)
