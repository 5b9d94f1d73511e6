"""What a controller remembers of one object between runs, and when the object runs next.

A state machine of plain functions of time and outcome: no thread, no clock, no queue. An object

- is *pending* if something asked for a run, and may still have to wait: to gather events, for its
  rate limit, or because its last runs failed one after the other;
- has a *timer* if it runs at an instant unless something happens before;
- or waits for something to happen.

Five rules say how retries, timers and events meet:

1. A success ends every retry and every timer from before. What the run itself asks for is set.
2. An event runs a failed object immediately. That run is no retry: it uses up none.
3. Once the retries are used up an event still runs the object; another failure starts no retry.
4. A transient failure (see ``transient.py``) uses up no attempt and is always retried.
5. A requeue that a result asked for survives failed runs: the object runs again by then at the
   latest, also when its retries are used up. Only an error that says that nothing but a change of
   the object can help (``TerminalError``, ``no_retry()``) ends it.

To keep rule 2 from making a busy loop, ten event-caused failures in a row are followed by a wait
for the retry that is pending. Nothing here survives the object: an object of the same name with
another uid starts from zero.

Source: Java Operator SDK (EventProcessor, and its documentation of the rules), which uses up a
retry for an event and counts the delays one attempt late.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from clientgo.meta.resource_version import parse_resource_version
from clientgo.operator.errors import Retry, TerminalError
from clientgo.operator.retry import RetryPolicy, RetryState
from clientgo.operator.runs.rate_limit import RateLimit
from clientgo.operator.runs.transient import TRANSIENT_RETRY, is_transient
from clientgo.operator.settings.durations import instant
from clientgo.util.clock import nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.workqueue import LOW_PRIORITY

EVENT_FAILURES_WITHOUT_WAIT: Final = 10
"""So many event-caused runs may fail in a row before the next one has to wait."""

SELF_WAKES_WITHOUT_WAIT: Final = 10
"""So many runs in a row may be caused by the object's own writes before the next has to wait."""

_LONGEST_SELF_WAIT: Final = 60.0

_SHORT_REMAINDER: Final = 5.0
"""Seconds: an event-caused failure this close to a retry starts the retry's delay again."""

_WAIT_WITHOUT_RETRY: Final = 2.0
"""Seconds: the wait after too many event-caused failures where no retry is pending."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a controller decides about its runs. Durations are seconds; 0: no safety timer.

    ``rate_limit`` is a checked one, in plain seconds.
    """

    retry: RetryPolicy
    max_interval: float = 36000.0
    rate_limit: RateLimit | None = None


class TimerKind(enum.Enum):
    """Why an object has a timer."""

    RETRY = "retry"
    """A failed run is tried again, by the policy."""
    ASKED = "asked"
    """A failed run is tried again for another reason; this uses up no retry."""
    REQUEUE = "requeue"
    """A result or a source asked for another run."""
    SAFETY = "safety"
    """Every object runs once in a while."""


_SAFETY: Final = TimerKind.SAFETY
"""Reading it off the enum takes longer than the rest of the line that every success needs."""

_RETRIES: Final = (TimerKind.RETRY, TimerKind.ASKED)


class Timer(NamedTuple):
    """An instant of the clock at which an object runs if nothing happens before."""

    kind: TimerKind
    due: float

    def by(self, due: float) -> Timer:
        """Return the same timer, at an instant at the latest."""
        return Timer(self.kind, min(self.due, due))


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


def timer_in(kind: TimerKind, now: float, length: float) -> Timer:
    """Return the timer that is due so many seconds from now."""
    return Timer(kind, instant(now + length))


@uncopyable("it has locks; make one in each process")
class ObjectState:
    """One object of one controller. Not thread-safe: its run queue's lock guards it."""

    __slots__ = (
        "_asked",
        "_began",
        "_blocked_until",
        "_cause",
        "_event_failures",
        "_failed_generation",
        "_first_failure",
        "_gathers_until",
        "_last_failed",
        "_priority",
        "_requeue",
        "_seen_version",
        "_settings",
        "_settling",
        "_timer_priority",
        "_transient_failures",
        "_uid",
        "_woken_by_others",
        "_woken_by_own_write",
        "attempt",
        "began_at",
        "exhausted",
        "gone",
        "has_succeeded",
        "invalid_reported",
        "last_error",
        "last_known",
        "pending",
        "running",
        "self_wakes",
        "timer",
    )

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._uid = ""
        self.running = False
        self.began_at = 0.0
        """When the current or last run began."""
        # What asks for the next run
        self.pending = False
        """True if something asked for a run since the current or last one began."""
        self._priority: int | None = None
        self._woken_by_own_write = False
        """True if the event of a write that the last run made asked for the next one."""
        self._woken_by_others = False
        self._asked: tuple[float, int] | None = None
        """An instant and a priority that were asked for during the current run."""
        self._gathers_until: float | None = None
        """Until when a debounce holds a pending run."""
        self.timer: Timer | None = None
        self._timer_priority = 0
        self._requeue: tuple[float, float] | None = None
        """What the last success asked for: after how many seconds, and at which instant next."""
        self.self_wakes = 0
        """How many runs in a row, the current one included, were caused by own writes alone."""
        self._seen_version = ""
        """The version of the object that the current or last run began with."""
        self.last_known: Any = None
        """The last state of a deleted object, for controllers that reconcile it once more."""
        self.gone = False
        """True if the run found that nothing has to be remembered."""
        self.has_succeeded = False
        """True if a run for the object has succeeded in this process."""
        # The current or last run, and the failures before it
        self._cause: TimerKind | None = None
        """What started the run; None for an event."""
        self._began: deque[float] | None = None
        """When the last runs began, as many as the rate limit counts."""
        self.attempt = 0
        self.exhausted = False
        self.last_error: Exception | None = None
        self._event_failures = 0
        self._transient_failures = 0
        self._blocked_until: float | None = None
        """Until when a pending run waits because of too many event-caused failures."""
        self._first_failure: float | None = None
        self._failed_generation = 0
        self._last_failed = 0.0
        self._settling: tuple[int, int] = (0, 0)
        """A generation, and how often in a row it was initialised."""
        self.invalid_reported = 0
        """The generation that was reported to users as invalid."""

    # What asks for runs

    def trigger(self, now: float, priority: int, *, by_own_write: bool = False) -> None:
        """Ask for a run because something happened."""
        limit = self._settings.rate_limit
        if not self.pending and limit is not None and limit.debounce:
            self._gathers_until = instant(now + float(limit.debounce))  # type: ignore[arg-type]  # checked() made it seconds
        self._ask(priority, by_own_write=by_own_write)

    def again(self, priority: int) -> None:
        """Ask for another pass, which does not wait to gather events."""
        self._gathers_until = None
        self._ask(priority, by_own_write=False)

    def _ask(self, priority: int, *, by_own_write: bool) -> None:
        self.pending = True
        if by_own_write:
            self._woken_by_own_write = True
        else:
            self._woken_by_others = True
        known = self._priority
        self._priority = priority if known is None else max(known, priority)

    def trigger_at(self, due: float, priority: int) -> None:
        """Ask for a run at an instant, unless one is due before."""
        if self.running:  # whose own timer is set first
            if self._asked is None or due < self._asked[0]:
                self._asked = due, priority
        elif self.timer is None or due < self.timer.due:
            self.timer, self._timer_priority = Timer(TimerKind.REQUEUE, due), priority

    def own_write(self, now: float, version: str) -> float | None:
        """Ask for a run because of the event of an own write; return how long it has to wait.

        None if the last run began with that version or a newer one. Ten such runs in a row do not
        wait, then they wait 1, 2, 4 ... seconds, up to a minute.
        """
        seen, written = map(parse_resource_version, (self._seen_version, version))
        if seen is not None and written is not None and written <= seen:
            return None
        over = self.self_wakes - SELF_WAKES_WITHOUT_WAIT
        if over < 0:
            self.trigger(now, 0, by_own_write=True)
            return 0.0
        self._woken_by_own_write = True
        wait = min(2.0 ** min(over, 10), _LONGEST_SELF_WAIT)
        self.trigger_at(instant(now + wait), 0)
        return wait

    def next_run(self, now: float) -> tuple[float, int] | None:
        """Return the instant of the next run, which may be past, and its priority; None if none."""
        if self.pending:
            due = max(self._guarded(now), self._gathers_until or now)
            return self._admitted(due), self._priority or 0
        timer = self.timer
        if timer is None:
            return None
        due = timer.due if self._settings.rate_limit is None else self._admitted(timer.due)
        return due, self._timer_priority

    def is_due(self, now: float) -> bool:
        """Return True if the object may run now."""
        if (
            self.pending
            and self._event_failures < EVENT_FAILURES_WITHOUT_WAIT
            and self._settings.rate_limit is None
        ):
            return True  # nearly always
        following = self.next_run(now)
        return following is not None and nanoseconds(following[0]) <= nanoseconds(now)

    def holds(self, now: float) -> dict[str, float]:
        """Return what a run that is asked for waits for, each with the instant of its end."""
        if not self.pending:
            due = now if self.timer is None else self.timer.due
            admitted = self._admitted(due)
            return {"rate limit": admitted} if admitted > due and self.timer is not None else {}
        instants = {
            "debounce": self._gathers_until or now,
            "failures": self._guarded(now),
            "rate limit": self._admitted(now),
        }
        return {why: until for why, until in instants.items() if until > now}

    def _guarded(self, now: float) -> float:
        """Return the instant of a pending run, after too many event-caused failures in a row."""
        if self._event_failures < EVENT_FAILURES_WITHOUT_WAIT:
            return now
        if self._blocked_until is None:
            retry = self.timer if self.timer is not None and self.timer.kind in _RETRIES else None
            self._blocked_until = (
                instant(self._last_failed + _WAIT_WITHOUT_RETRY) if retry is None else retry.due
            )
        return max(self._blocked_until, now)

    def _admitted(self, due: float) -> float:
        """Return the first instant from ``due`` on that the rate limit admits."""
        limit = self._settings.rate_limit
        if limit is None or self._began is None or len(self._began) < limit.runs:
            return due
        return max(due, instant(self._began[0] + float(limit.per)))  # type: ignore[arg-type]  # checked() made it seconds

    # A run

    @property
    def policy(self) -> RetryPolicy:
        """What decides when a failed run is tried again."""
        return self._settings.retry

    def begin(self, now: float) -> int:
        """Begin a run; return its priority."""
        timer = self.timer
        due = timer is not None and nanoseconds(timer.due) <= nanoseconds(now)
        priority = self._timer_priority if self._priority is None else self._priority
        self._cause = timer.kind if timer is not None and due else None
        if self._cause is TimerKind.RETRY:
            self.attempt += 1
        if due:
            self.timer = None
        only_own = self._woken_by_own_write and not self._woken_by_others
        self.self_wakes = self.self_wakes + 1 if only_own else 0
        self._woken_by_own_write = self._woken_by_others = False
        self.pending = self.gone = False
        self._priority = self._gathers_until = None
        self.running, self.began_at = True, now
        limit = self._settings.rate_limit
        if limit is not None:
            if self._began is None:
                self._began = deque(maxlen=limit.runs)
            self._began.append(now)
        return priority

    def identify(self, uid: str, version: str) -> RetryInfo:
        """Note which object runs, in which version; return what failed before.

        The failures of another object of that name are forgotten.
        """
        if self._uid and self._uid != uid:
            self.start_over()
        self._uid, self._seen_version = uid, version
        return self.retry_info()

    def start_over(self) -> None:
        """Forget the failures and timers: the object is gone. What is pending stays."""
        self._forget_failures()
        self.timer = None
        self._requeue = None
        self._settling = (0, 0)
        self.last_known = None
        self.has_succeeded = False

    def retry_info(self) -> RetryInfo:
        limit = self.policy.max_attempts
        is_last = limit is not None and self.attempt >= limit
        if self.last_error is None and not is_last:
            return NO_FAILURE
        return RetryInfo(self.attempt, is_last, self._first_failure, self.last_error)

    def initialised(self, generation: int) -> int:
        """Count an initialisation of a generation; return how many that makes in a row."""
        known, count = self._settling
        self._settling = (generation, count + 1 if known == generation else 1)
        return self._settling[1]

    def settled(self) -> None:
        """Note that the object needed no initialisation."""
        self._settling = (0, 0)

    def ended(self) -> None:
        """End the run; apply what was asked for during it."""
        self.running = False
        if self._asked is not None:
            asked, self._asked = self._asked, None
            self.trigger_at(*asked)

    # How it went

    def succeeded(self, now: float, delay: float | None, priority: int) -> None:
        """Rule 1. ``delay`` and ``priority`` are those of the requeue that the result asked for."""
        self.has_succeeded = True
        if self.last_error is not None:
            self._forget_failures()
        max_interval = self._settings.max_interval
        if delay is None:
            self._requeue = None
            self.timer = timer_in(_SAFETY, now, max_interval) if max_interval else None
            self._timer_priority = LOW_PRIORITY
        else:
            length = min(delay, max_interval) if max_interval else delay
            self.timer = timer_in(TimerKind.REQUEUE, now, length)
            self._timer_priority = priority
            self._requeue = length, self.timer.due

    def failing(
        self, run: FailedRun, *, now: float, wall: float, generation: int
    ) -> Timer | RetryState | None:
        """Note a failure; return the timer of the next try, None if there is none, or what the
        retry policy has to be asked. :meth:`failed` follows."""
        if self.last_error is None:
            self._first_failure, self._failed_generation = wall, generation
        elif generation > self._failed_generation and self.policy.reset_on_generation:
            self.attempt, self.exhausted, self._failed_generation = 0, False, generation
        self.last_error, self._last_failed = run.error, now
        if self._cause is None and self._blocked_until is None:
            self._event_failures += 1
        else:
            self._event_failures, self._blocked_until = 0, None
        if isinstance(run.error, TerminalError) or not run.retries:
            self._requeue = self.timer = None
            return None
        return self._retry(run, now, wall)

    def failed(self, retry: Timer | None, now: float, priority: int = 0) -> Timer | None:
        """Rules 2 to 5; return the timer of the next try, None if there is none.

        ``priority`` is that of the run, which its retry keeps.
        """
        self.timer = self._or_requeue(retry, now)
        self._timer_priority = priority
        self.exhausted = self.timer is None
        if self.timer is not None:
            return self.timer
        max_interval = self._settings.max_interval
        if max_interval and self.policy.after_exhaustion == "max_interval":
            self.timer = timer_in(TimerKind.SAFETY, now, max_interval)
            self._timer_priority = LOW_PRIORITY
        return None

    def _retry(self, run: FailedRun, now: float, wall: float) -> Timer | RetryState:
        asked = run.error.after if isinstance(run.error, Retry) else None
        asked = asked if run.delay is None else run.delay
        if asked is not None:
            return timer_in(TimerKind.ASKED, now, max(asked, run.at_least))
        since = 0.0 if self._first_failure is None else wall - self._first_failure
        if is_transient(run.error):
            state = RetryState(self._transient_failures, since, run.obj, wall)
            self._transient_failures += 1
            delay = TRANSIENT_RETRY.delay(state, run.error) or 0.0
            return timer_in(TimerKind.ASKED, now, max(delay, run.at_least))
        pending = self.timer
        if (
            self._cause is None
            and pending is not None
            and pending.kind in _RETRIES
            and pending.due - now > _SHORT_REMAINDER
        ):
            return timer_in(pending.kind, now, max(pending.due - now, run.at_least))
        return RetryState(self.attempt, since, run.obj, wall)

    def _or_requeue(self, retry: Timer | None, now: float) -> Timer | None:
        """The timer of a failed run: not later than a requeue, if the policy waits longer."""
        if retry is not None and retry.kind is TimerKind.ASKED:
            return retry
        due = self._requeue_due(now)
        if due is None:
            return retry
        return Timer(TimerKind.REQUEUE, due) if retry is None else retry.by(due)

    def _requeue_due(self, now: float) -> float | None:
        if self._requeue is not None:
            every, due = self._requeue
            if due <= now:
                self._requeue = every, instant(now + every)
            return self._requeue[1]
        pending = self.timer
        return pending.due if pending is not None and pending.kind is TimerKind.REQUEUE else None

    def _forget_failures(self) -> None:
        self.attempt = 0
        self.exhausted = False
        self._event_failures = 0
        self._transient_failures = 0
        self._blocked_until = None
        self._first_failure = None
        self.last_error = None
        self.invalid_reported = 0
