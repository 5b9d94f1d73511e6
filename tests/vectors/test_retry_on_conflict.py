"""Retries end as client-go's."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import AutoClock
from clientgo.util.wait import (
    WaitCancelledError,
    WaitInterruptedError,
    WaitTimeoutError,
    on_error,
    retry_on_conflict,
)
from tests.vectors.durations import all_same_ns, same_ns
from tests.vectors.loader import params
from tests.vectors.test_wait_backoff import backoff_of


class StatusError(Exception):
    """An API error, as far as a retry looks at it."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def make_error(kind: str) -> Exception:
    match kind:
        case "conflict":
            return StatusError(409, "Conflict")
        case "wrapped_conflict":
            error = RuntimeError("the update failed")
            error.__cause__ = StatusError(409, "Conflict")
            return error
        case "already_exists":
            return StatusError(409, "AlreadyExists")
        case "not_found":
            return StatusError(404, "NotFound")
        case "server_timeout":
            return StatusError(500, "ServerTimeout")
        case "too_many":
            return StatusError(429, "TooManyRequests")
        case "plain":
            return RuntimeError("plain")
        case "cancelled":
            return WaitCancelledError("cancelled")
        case "deadline" | "timeout":
            return WaitTimeoutError("too late")
        case unknown:
            raise AssertionError(f"unknown result {unknown}")


class ScriptedUpdate:
    """An update whose n-th call ends as the n-th result says; the last result repeats."""

    def __init__(self, results: list[str], clock: AutoClock) -> None:
        self._results = results
        self._clock = clock
        self.calls_at: list[float] = []
        self.errors: list[tuple[Exception, str]] = []

    def __call__(self) -> str:
        kind = self._results[min(len(self.calls_at), len(self._results) - 1)]
        self.calls_at.append(self._clock.monotonic())
        if kind == "ok":
            return kind
        error = make_error(kind)
        self.errors.append((error, kind))
        raise error

    def kind_of(self, error: Exception) -> str:
        """Return which result an error stands for; the very error that was raised."""
        for raised, kind in self.errors:
            if raised is error:
                return kind
        return "interrupted" if isinstance(error, WaitInterruptedError) else repr(error)


@pytest.mark.parametrize("case", params("retry_on_conflict"))
def test_retry_ends_as_recorded(case: dict[str, Any]) -> None:
    """RTY-01, RTY-02, RTY-03, RTY-05."""
    (step,) = case["steps"]
    args, expect = step["args"], step["expect"]
    backoff = backoff_of(case["config"])
    clock = AutoClock()
    update = ScriptedUpdate(args["results"], clock)

    def is_retriable(error: Exception) -> bool:
        return update.kind_of(error) in args["retriable"]

    try:
        if step["op"] == "on_error":
            outcome = on_error(backoff, is_retriable, update, clock=clock)
        else:
            outcome = retry_on_conflict(update, backoff, clock=clock)
    except Exception as error:
        outcome = update.kind_of(error)

    assert len(update.calls_at) == expect["attempts"]
    if backoff.jitter == 0:
        assert update.calls_at == all_same_ns(expect["calls_at_ns"])
        assert clock.monotonic() == same_ns(expect["end_ns"])
    if expect["error"] is not None:
        assert outcome == expect["error"]
    elif outcome != "ok":
        # See `differences`: nothing has succeeded, so ours does not return.
        assert outcome in INTERRUPTIONS


INTERRUPTIONS = ("interrupted", "cancelled", "deadline", "timeout")
