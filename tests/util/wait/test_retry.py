"""Trying again while an error is worth it."""

from __future__ import annotations

import threading

import pytest

from clientgo.testing import AutoClock
from clientgo.util.wait import (
    DEFAULT_BACKOFF,
    DEFAULT_RETRY,
    Backoff,
    WaitCancelledError,
    WaitTimeoutError,
    is_conflict,
    on_error,
    retry_on_conflict,
)


class ConflictError(Exception):
    code = 409
    reason = "Conflict"


class Update:
    """An update that raises what it is given, one error a call, and then succeeds."""

    def __init__(self, *errors: Exception) -> None:
        self._errors = list(errors)
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self._errors:
            raise self._errors.pop(0)
        return "updated"


def test_two_conflicts_and_then_a_success_is_a_success() -> None:
    """RTY-01, RTY-02."""
    update = Update(ConflictError(), ConflictError())

    assert retry_on_conflict(update, clock=AutoClock()) == "updated"
    assert update.calls == 3


def test_an_error_that_is_no_conflict_is_raised_at_once_and_unchanged() -> None:
    """RTY-01."""
    error = ValueError("no such field")

    with pytest.raises(ValueError, match="no such field") as caught:
        retry_on_conflict(Update(error), clock=AutoClock())
    assert caught.value is error


def test_when_the_attempts_run_out_the_last_conflict_is_raised() -> None:
    """RTY-01."""
    errors = [ConflictError(str(number)) for number in range(9)]

    with pytest.raises(ConflictError, match="4"):
        retry_on_conflict(Update(*errors), clock=AutoClock())


@pytest.mark.parametrize(
    ("backoff", "shortest", "longest"),
    [(DEFAULT_RETRY, 0.040, 0.044), (DEFAULT_BACKOFF, 0.310, 0.341)],
)
def test_the_presets_sleep_as_long_as_upstreams(
    backoff: Backoff, shortest: float, longest: float
) -> None:
    """RTY-04."""
    clock = AutoClock()
    update = Update(*[ConflictError()] * 9)

    with pytest.raises(ConflictError):
        retry_on_conflict(update, backoff, clock=clock)

    assert update.calls == backoff.steps
    assert shortest <= clock.monotonic() <= longest


def test_a_backoff_without_steps_never_calls_and_says_so() -> None:
    """RTY-03: client-go reports success here."""
    update = Update()

    with pytest.raises(WaitTimeoutError, match="no attempt"):
        retry_on_conflict(update, Backoff(duration=0.01, steps=0))
    assert update.calls == 0


def test_an_interruption_by_the_function_itself_is_passed_on() -> None:
    """RTY-05: client-go reports success here."""
    with pytest.raises(WaitCancelledError, match="by the function"):
        retry_on_conflict(Update(WaitCancelledError("by the function")), clock=AutoClock())


def test_after_a_conflict_an_interruption_raises_the_conflict() -> None:
    """RTY-05."""
    conflict = ConflictError()

    with pytest.raises(ConflictError) as caught:
        retry_on_conflict(Update(conflict, WaitCancelledError()), clock=AutoClock())
    assert caught.value is conflict


def test_a_stop_while_sleeping_raises_the_last_error() -> None:
    clock, stop = AutoClock(), threading.Event()
    clock.call_at(0.005, stop.set)
    update = Update(ConflictError("first"), ConflictError("second"))

    with pytest.raises(ConflictError, match="first"):
        retry_on_conflict(update, stop=stop, clock=clock)


def test_any_error_can_be_worth_a_retry() -> None:
    """RTY-01."""
    update = Update(KeyError("a"), KeyError("b"))

    assert (
        on_error(DEFAULT_RETRY, lambda e: isinstance(e, KeyError), update, clock=AutoClock())
        == "updated"
    )


def api_error(**fields: object) -> Exception:
    error = Exception("api error")
    for name, value in fields.items():
        setattr(error, name, value)
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (api_error(code=409, reason="Conflict"), True),
        (api_error(code=409), True),
        (api_error(status=409), True),
        (api_error(code=409, reason="AlreadyExists"), False),
        (api_error(code=404, reason="NotFound"), False),
        (api_error(), False),
    ],
)
def test_a_conflict_is_known_by_its_status_whatever_its_type(
    error: Exception, expected: bool
) -> None:
    """RTY-02."""
    assert is_conflict(error) is expected


def test_a_conflict_is_found_in_the_cause_of_an_error() -> None:
    """RTY-02."""
    error = RuntimeError("the update failed")
    error.__cause__ = ConflictError()

    assert is_conflict(error)
