"""Calls of a handler that are slow."""

from __future__ import annotations

import logging

import pytest

from clientgo.cache import HandlerFuncs
from clientgo.cache.informer.listener import SlowCallLog
from clientgo.testing import FakeClock
from tests.cache.builders import Foo, foo
from tests.cache.running import Told


def test_calls_go_through() -> None:
    """LIS-06."""
    told = Told()
    handler = SlowCallLog(told, "test", FakeClock())
    handler.on_add(foo("a"), True)
    handler.on_update(foo("a"), foo("a", 2))
    handler.on_resync(foo("a", 2), foo("a", 2))
    handler.on_delete(foo("a", 2))
    assert told.notes == ["+a@1!", "a@1→a@2", "a@2→a@2", "-a@2"]


def test_a_slow_call_is_logged_with_its_object_even_if_it_fails(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """LIS-06."""
    caplog.set_level(logging.INFO)
    clock = FakeClock()

    def fail(*_: Foo) -> None:
        clock.step(3.0)
        raise ZeroDivisionError

    handler = SlowCallLog(HandlerFuncs(on_update=fail), "test", clock)
    with pytest.raises(ZeroDivisionError):
        handler.on_update(foo("a"), foo("a", 2))
    assert caplog.messages == [
        "test: the handler took 3.0 s for the update of ns/a while others wait"
    ]
