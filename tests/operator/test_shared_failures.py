"""Which of the failures that many objects have is reported."""

from __future__ import annotations

import pytest

from clientgo.meta import (
    DecodeError,
    InternalServerError,
    ObjectName,
    ServiceUnavailableError,
)
from clientgo.operator.controller.shared_failures import SharedFailures
from clientgo.rest import ServerRefusedError
from clientgo.testing import FakeClock
from tests.background import Background

A, B, C = (ObjectName("default", name) for name in "abc")


def refused(name: str) -> Exception:
    return ServerRefusedError("PATCH", f"https://server/{name}", "connection refused")


def test_one_object_is_reported_and_the_others_are_counted() -> None:
    """OP-RTY-26"""
    shared = SharedFailures(FakeClock())
    assert shared.failed(A, refused("a")) == 0
    assert shared.failed(B, refused("b")) is None
    assert shared.failed(C, refused("c")) is None
    assert shared.failed(A, refused("a")) == 2
    assert shared.failed(A, refused("a")) == 0
    assert shared.failed(B, refused("b")) is None
    assert shared.succeeded(B) == 0
    assert shared.succeeded(A) == 1
    assert shared.failed(B, refused("b")) == 0, "there is no other to report"


def test_another_object_is_reported_when_the_first_is_silent() -> None:
    """OP-RTY-26: it may be gone."""
    clock = FakeClock()
    shared = SharedFailures(clock)
    shared.failed(A, refused("a"))
    clock.step(59)
    assert shared.failed(B, refused("b")) is None
    clock.step(1)
    assert shared.failed(B, refused("b")) == 1
    assert shared.failed(A, refused("a")) is None


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        (refused("a"), ServiceUnavailableError.of("no"), False),
        (ServiceUnavailableError.of("no a"), ServiceUnavailableError.of("no b"), True),
        (InternalServerError.of("webhook of a"), InternalServerError.of("webhook of b"), False),
        (InternalServerError.of("no webhook"), InternalServerError.of("no webhook"), True),
        (DecodeError("a"), DecodeError("b"), False),
        (OSError("no disk"), OSError("no disk"), True),
        (OSError("no disk"), ValueError("no disk"), False),
        (KeyError("a"), KeyError("b"), False),
    ],
)
def test_what_is_alike(one: Exception, other: Exception, alike: bool) -> None:
    """OP-RTY-26"""
    shared = SharedFailures(FakeClock())
    shared.failed(A, one)
    assert (shared.failed(B, other) is None) is alike


def test_a_success_ends_all_that_an_object_was_reported_for() -> None:
    """OP-RTY-26"""
    shared = SharedFailures(FakeClock())
    for error in (refused("x"), OSError("no disk")):
        for key in (A, B, C):
            shared.failed(key, error)
    assert shared.succeeded(A) == 4
    assert shared.succeeded(A) == 0


def test_a_success_waits_while_another_thread_notes_a_failure() -> None:
    """OP-RTY-26: what is shared is read under the lock."""
    shared = SharedFailures(FakeClock())
    with shared._lock:
        success = Background(lambda: shared.succeeded(A))
        with pytest.raises(AssertionError, match="still blocks"):
            success.result(timeout=0.05)
    assert success.result() == 0


def test_few_ways_to_fail_are_remembered() -> None:
    """OP-RTY-26"""
    shared = SharedFailures(FakeClock())
    for number in range(1000):
        assert shared.failed(A, ValueError(str(number))) == 0
    assert len(shared._kinds) == 64
