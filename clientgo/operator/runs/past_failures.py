"""The failures of an object since its last success."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from clientgo.operator.errors import Retry
from clientgo.operator.retry import RetryPolicy, RetryState
from clientgo.operator.runs.schedule import Timer, TimerKind, timer_in
from clientgo.operator.runs.transient import TRANSIENT_RETRY, is_transient
from clientgo.operator.settings.durations import instant

EVENT_FAILURES_WITHOUT_WAIT: Final = 10
"""So many event-caused runs may fail in a row before the next one has to wait."""

_SHORT_REMAINDER: Final = 5.0
"""Seconds: an event-caused failure this close to a retry starts the retry's delay again."""

_WAIT_WITHOUT_RETRY: Final = 2.0
"""Seconds: the wait after too many event-caused failures where no retry is pending."""


@dataclass(frozen=True, slots=True)
class RetryInfo:
    """What a run may know of the failures before it; ``ctx.retry``.

    ``attempt`` is 0 in the first run and k in retry k; runs caused by events keep the number.
    ``is_last``: if this run fails the policy has no further retry. ``first_failure`` is Unix
    seconds.
    """

    attempt: int = 0
    is_last: bool = False
    first_failure: float | None = None
    last_error: Exception | None = None


NO_FAILURE: Final = RetryInfo()
"""What nearly every run knows; made once."""


@dataclass(frozen=True, slots=True)
class FailedRun:
    """What decides about the next try of a failed run."""

    error: Exception
    retries: bool = True
    """False if ``on_error`` said that there is no point."""
    delay: float | None = None
    """What ``on_error`` asked for instead of the policy's delay."""
    at_least: float = 0.0
    """What the API server asked for."""
    obj: Any = None


class PastFailures:
    """Made by the first failure, dropped by a success. Not thread-safe."""

    __slots__ = (
        "_at",
        "_blocked_until",
        "_by_events",
        "_first",
        "_generation",
        "_transient",
        "attempt",
        "exhausted",
        "last_error",
    )

    def __init__(self, error: Exception, wall: float, generation: int) -> None:
        self.attempt = 0
        self.exhausted = False
        self.last_error = error
        self._first = wall
        self._generation = generation
        self._at = 0.0
        """When the last run failed."""
        self._by_events = 0
        self._transient = 0
        self._blocked_until: float | None = None
        """Until when a pending run waits because of too many event-caused failures."""

    def note(
        self, error: Exception, now: float, generation: int, policy: RetryPolicy, *, by_event: bool
    ) -> None:
        """One more; that of a newer generation starts over, if the policy wants it."""
        if generation > self._generation and policy.reset_on_generation:
            self.attempt, self.exhausted, self._generation = 0, False, generation
        self.last_error, self._at = error, now
        if by_event and self._blocked_until is None:
            self._by_events += 1
        else:
            self._by_events, self._blocked_until = 0, None

    def info(self, policy: RetryPolicy) -> RetryInfo:
        limit = policy.max_attempts
        is_last = limit is not None and self.attempt >= limit
        return RetryInfo(self.attempt, is_last, self._first, self.last_error)

    def held_until(self, now: float, timer: Timer | None) -> float:
        """Return the instant of a pending run, after too many event-caused failures in a row."""
        if self._by_events < EVENT_FAILURES_WITHOUT_WAIT:
            return now
        if self._blocked_until is None:
            self._blocked_until = instant(self._at + _WAIT_WITHOUT_RETRY)
            if timer is not None and timer.is_retry:
                self._blocked_until = timer.due
        return max(self._blocked_until, now)

    def retry(
        self, run: FailedRun, now: float, wall: float, pending: Timer | None
    ) -> Timer | RetryState:
        """Return the timer of the next try, or what the retry policy has to be asked.

        ``pending`` is the timer that a run which an event caused has left as it is.
        """
        asked = run.error.after if isinstance(run.error, Retry) else None
        asked = asked if run.delay is None else run.delay
        if asked is not None:
            return timer_in(TimerKind.ASKED, now, max(asked, run.at_least))
        since = wall - self._first
        if is_transient(run.error):
            state = RetryState(self._transient, since, run.obj, wall)
            self._transient += 1
            delay = TRANSIENT_RETRY.delay(state, run.error) or 0.0
            return timer_in(TimerKind.ASKED, now, max(delay, run.at_least))
        if pending is not None and pending.is_retry and pending.due - now > _SHORT_REMAINDER:
            return timer_in(pending.kind, now, max(pending.due - now, run.at_least))
        return RetryState(self.attempt, since, run.obj, wall)
