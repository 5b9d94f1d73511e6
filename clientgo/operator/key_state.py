"""What a controller remembers of one object between runs, and what follows from a run.

Promises the three rules by which retries, timers and events meet, as plain functions of this
state, the time and the outcome; no thread, no clock, no queue:

1. A success ends every retry and every timer from before. What the run itself asks for is set.
2. An event runs a failed object immediately. That run is no retry: it uses up none.
3. Once the retries are used up an event still runs the object; another failure starts no retry.

To keep rule 2 from making a busy loop, ten event-caused failures in a row are followed by a wait
for the retry that is pending. Two more rules keep an object from being forgotten:

4. A transient failure (see ``transient.py``) uses up no attempt and is always retried.
5. A requeue that a result asked for survives failed runs: the object runs again by then at the
   latest, also when its retries are used up. Only an error that says that nothing but a change of
   the object can help (``TerminalError``, ``no_retry()``) ends it.

Nothing here survives the object: an object of the same name with another uid starts from zero.

Source: Java Operator SDK (EventProcessor, and its documentation of the rules). It differs where
that code uses up a retry for an event, and where it counts the delays.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, Final

from clientgo.operator.durations import instant
from clientgo.operator.errors import Retry, TerminalError
from clientgo.operator.rate_limit import RunWindow
from clientgo.operator.retry import (
    RetryPolicy,
    RetryState,
    resets_on_generation,
    retry_limit,
    safety_timer_after_exhaustion,
)
from clientgo.operator.transient import TRANSIENT_RETRY, is_transient

EVENT_FAILURES_WITHOUT_WAIT: Final = 10
"""So many event-caused runs may fail in a row before one has to wait."""

_SHORT_REMAINDER: Final = 5.0
"""Seconds: an event-caused failure this close to a retry starts the retry's delay again."""

_WAIT_WITHOUT_RETRY: Final = 2.0
"""Seconds: the wait after too many event-caused failures where no retry is pending."""

_MOST_ECHOES: Final = 8

SELF_WAKES_WITHOUT_WAIT: Final = 10
"""So many runs in a row may be caused by the object's own writes before the next has to wait."""

_LONGEST_SELF_WAIT: Final = 60.0


class TimerKind(enum.Enum):
    """Why an object has a timer."""

    RETRY = "retry"
    """A failed run is tried again, by the policy."""
    ASKED = "asked"
    """A failed run is tried again for another reason; this uses up no retry."""
    REQUEUE = "requeue"
    """A result asked to look again."""
    SAFETY = "safety"
    """Nothing asked; the object is looked at anyhow, once in a while."""


_RETRIES: Final = (TimerKind.RETRY, TimerKind.ASKED)


class Waker(enum.Enum):
    """What asked for a run."""

    OWN_WRITE = "the event of a write that the run before made itself"
    OTHER = "anything else"


@dataclass(frozen=True, slots=True)
class Timer:
    """An instant of the clock at which an object runs if nothing happens before."""

    kind: TimerKind
    due: float

    def by(self, due: float) -> Timer:
        """The same timer, at an instant at the latest."""
        return Timer(self.kind, min(self.due, due))


@dataclass(frozen=True, slots=True)
class RetryInfo:
    """What a run may know of the failures before it; ``ctx.retry``.

    ``attempt`` is 0 in the first run and k in retry k; runs that an event causes keep the number.
    ``is_last``: if this run fails nobody tries again. ``first_failure`` is Unix seconds.
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


def _timer(kind: TimerKind, now: float, length: float) -> Timer:
    return Timer(kind, instant(now + length))


class KeyState:
    """One object of one controller. Not thread-safe: its controller's lock guards it."""

    __slots__ = (
        "asked",
        "attempt",
        "blocked_until",
        "cause",
        "echo_versions",
        "event_failures",
        "exhausted",
        "failed_generation",
        "first_failure",
        "held_until",
        "invalid_told",
        "last_error",
        "last_failed",
        "last_known",
        "pending",
        "pending_priority",
        "requeue",
        "running",
        "self_wakes",
        "settling",
        "timer",
        "timer_priority",
        "transient_failures",
        "uid",
        "window",
        "woken_by",
    )

    def __init__(self) -> None:
        self.uid = ""
        self.attempt = 0
        self.exhausted = False
        self.event_failures = 0
        self.transient_failures = 0
        """Since the last success."""
        self.first_failure: float | None = None
        self.failed_generation = 0
        self.last_error: Exception | None = None
        self.last_failed = 0.0
        self.blocked_until: float | None = None
        """Set while an event-caused run has to wait, see `wait_until`."""
        self.held_until: float | None = None
        """Set while a run is put off: by the guard above, a rate limit, or to gather events."""
        self.timer: Timer | None = None
        self.timer_priority = 0
        self.requeue: tuple[float, float] | None = None
        """What the last success asked for: after how many seconds, and at which instant next."""
        self.cause: TimerKind | None = None
        """What the run in hand was started by; None for an event."""
        self.pending = False
        """Whether it was triggered since the run in hand began."""
        self.running = False
        self.asked: tuple[float, int] | None = None
        """An instant and a priority that somebody asked for while a run was in hand."""
        self.pending_priority: int | None = None
        self.echo_versions: tuple[str, ...] = ()
        """The versions of our own writes whose events are not worth a run: one follows anyhow."""
        self.settling: tuple[int, int] = (0, 0)
        """A generation, and how often it was initialised."""
        self.self_wakes = 0
        """How many runs in a row, this one included, were caused by own writes alone."""
        self.woken_by: set[Waker] = set()
        """What asked for the next run."""
        self.window: RunWindow | None = None
        self.invalid_told = 0
        """The generation of which users were told that it is invalid."""
        self.last_known: Any = None
        """The last state of an object that is gone, where somebody wants to hear of that."""

    def trigger(self, priority: int, waker: Waker = Waker.OTHER) -> None:
        """An event, or a caller, asks for a run."""
        self.pending = True
        self.woken_by.add(waker)
        known = self.pending_priority
        self.pending_priority = priority if known is None else max(known, priority)

    def own_write_wait(self) -> float:
        """Note that the object's own write asks for a run; return how long that has to wait.

        A run that writes something else each time would never end; its object runs ten times
        without a wait, then after 1, 2, 4 ... seconds, up to a minute.
        """
        self.woken_by.add(Waker.OWN_WRITE)
        over = self.self_wakes - SELF_WAKES_WITHOUT_WAIT
        return 0.0 if over < 0 else min(2.0**over, _LONGEST_SELF_WAIT)

    def expect_echo(self, version: str) -> None:
        """The event of this version will be that of our own write. Few are remembered: what never
        comes must not pile up."""
        self.echo_versions = (*self.echo_versions, version)[-_MOST_ECHOES:]

    def trigger_later(self, due: float, priority: int) -> None:
        """Somebody asks for a run at an instant, unless one is due before."""
        if self.timer is None or due < self.timer.due:
            self.timer, self.timer_priority = Timer(TimerKind.REQUEUE, due), priority

    def ask_for(self, due: float, priority: int) -> None:
        """Like :meth:`trigger_later`, while a run is in hand: its own timer is set first."""
        if self.asked is None or due < self.asked[0]:
            self.asked = due, priority

    def next_look(self) -> float | None:
        """The instant at which to look at this object if nothing happens before."""
        if self.held_until is not None:
            return self.held_until
        return None if self.timer is None else self.timer.due

    def next_priority(self) -> int:
        return self.timer_priority if self.pending_priority is None else self.pending_priority

    # Before a run

    def wait_until(self, now: float) -> float | None:
        """The instant until which the run that is about to begin has to wait, if it has to."""
        if self.event_failures < EVENT_FAILURES_WITHOUT_WAIT:
            return None
        if self.blocked_until is None:
            pending = self.timer is not None and self.timer.kind in _RETRIES
            self.blocked_until = (
                self.timer.due
                if self.timer is not None and pending
                else instant(self.last_failed + _WAIT_WITHOUT_RETRY)
            )
        return self.blocked_until if self.blocked_until > now else None

    def begin(self, now: float) -> int:
        """A run begins; its priority is returned."""
        timer, priority = self.timer, self.next_priority()
        self.cause = timer.kind if timer is not None and timer.due <= now else None
        if self.cause is TimerKind.RETRY:
            self.attempt += 1
        if self.cause is not None:
            self.timer = None
        self.self_wakes = self.self_wakes + 1 if self.woken_by == {Waker.OWN_WRITE} else 0
        self.woken_by = set()
        self.pending = False
        self.pending_priority = None
        self.held_until = None
        self.running = True
        return priority

    def identify(self, uid: str) -> None:
        """The object in hand: what failed before it under the same name is not its failure."""
        if self.uid and self.uid != uid:
            self._forget_failures()
            self.timer = None
            self.requeue = None
            self.settling = (0, 0)
            self.last_known = None
        self.uid = uid

    def retry_info(self, policy: RetryPolicy) -> RetryInfo:
        limit = retry_limit(policy)
        is_last = limit is not None and self.attempt >= limit
        if self.last_error is None and not is_last:
            return NO_FAILURE
        return RetryInfo(self.attempt, is_last, self.first_failure, self.last_error)

    # After a run

    def ended(self) -> None:
        """The run is over, however it ended; what was asked for meanwhile counts."""
        self.running = False
        if self.asked is not None:
            self.trigger_later(*self.asked)
            self.asked = None

    def succeeded(self, now: float, delay: float | None, max_interval: float | None) -> None:
        """Rule 1. ``delay`` is what the result asked for, ``max_interval`` the safety timer."""
        if self.last_error is not None:
            self._forget_failures()
        if delay is None:
            self.requeue = None
            self.timer = _timer(TimerKind.SAFETY, now, max_interval) if max_interval else None
        else:
            length = min(delay, max_interval) if max_interval else delay
            self.timer = _timer(TimerKind.REQUEUE, now, length)
            self.requeue = length, self.timer.due

    def failed(
        self,
        run: FailedRun,
        policy: RetryPolicy,
        *,
        now: float,
        wall: float,
        generation: int,
        max_interval: float | None,
    ) -> None:
        """Rules 2 to 5; sets the timer for what follows."""
        if self.last_error is None:
            self.first_failure, self.failed_generation = wall, generation
        elif generation > self.failed_generation and resets_on_generation(policy):
            self.attempt, self.exhausted, self.failed_generation = 0, False, generation
        self.last_error, self.last_failed = run.error, now
        if self.cause is None and self.blocked_until is None:
            self.event_failures += 1
        else:
            self.event_failures, self.blocked_until = 0, None
        final = isinstance(run.error, TerminalError) or not run.retries
        if final:
            self.requeue = self.timer = None
        else:
            self.timer = self._or_requeue(self._retry(run, policy, now, wall), now)
        self.exhausted = self.timer is None
        if self.timer is None and max_interval and safety_timer_after_exhaustion(policy):
            self.timer = _timer(TimerKind.SAFETY, now, max_interval)

    def _retry(self, run: FailedRun, policy: RetryPolicy, now: float, wall: float) -> Timer | None:
        """The timer of the next try; None if there is none."""
        if run.delay is not None:
            return _timer(TimerKind.ASKED, now, max(run.delay, run.at_least))
        if isinstance(run.error, Retry):
            return _timer(TimerKind.ASKED, now, max(run.error.after, run.at_least))
        since = 0.0 if self.first_failure is None else wall - self.first_failure
        if is_transient(run.error):
            state = RetryState(self.transient_failures, since, run.obj, wall)
            self.transient_failures += 1
            delay: float | None = TRANSIENT_RETRY.delay(state, run.error)
            assert delay is not None, "it has no limit"
            return _timer(TimerKind.ASKED, now, max(delay, run.at_least))
        pending = self.timer
        if (
            self.cause is None
            and pending is not None
            and pending.kind in _RETRIES
            and pending.due - now > _SHORT_REMAINDER
        ):
            return _timer(pending.kind, now, max(pending.due - now, run.at_least))
        delay = policy.delay(RetryState(self.attempt, since, run.obj, wall), run.error)
        return None if delay is None else _timer(TimerKind.RETRY, now, max(delay, run.at_least))

    def _or_requeue(self, retry: Timer | None, now: float) -> Timer | None:
        """The timer of a failed run: not later than a requeue, if the policy waits longer."""
        if retry is not None and retry.kind is TimerKind.ASKED:
            return retry
        due = self._requeue_due(now)
        if due is None:
            return retry
        return Timer(TimerKind.REQUEUE, due) if retry is None else retry.by(due)

    def _requeue_due(self, now: float) -> float | None:
        if self.requeue is not None and self.requeue[1] <= now:
            every = self.requeue[0]
            self.requeue = every, instant(now + every)
        if self.requeue is not None:
            return self.requeue[1]
        pending = self.timer
        return pending.due if pending is not None and pending.kind is TimerKind.REQUEUE else None

    def _forget_failures(self) -> None:
        self.attempt = 0
        self.exhausted = False
        self.event_failures = 0
        self.transient_failures = 0
        self.blocked_until = None
        self.first_failure = None
        self.last_error = None
        self.invalid_told = 0
