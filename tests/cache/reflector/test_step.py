"""The reflector's transitions, without a server, a store or a clock."""

from __future__ import annotations

import pytest

from clientgo.cache.reflector.state import OpenWatch, State, Waited
from clientgo.cache.reflector.step import ImpossibleEventError, step, transitions
from tests.cache.reflector.steps import LISTS, SYNCED


def test_what_cannot_happen_is_loud() -> None:
    with pytest.raises(ImpossibleEventError):
        step(LISTS, OpenWatch(SYNCED), Waited())


def test_every_state_that_follows_is_drawn_and_every_state_can_be_left() -> None:
    drawn = transitions()
    names = {state.__name__ for state in State.__args__}  # type: ignore[attr-defined]
    assert {target for _, _, target in drawn} == names
    assert {source for source, _, _ in drawn} == names
