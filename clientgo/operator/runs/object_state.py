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

from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from clientgo.meta.resource_version import parse_resource_version
from clientgo.operator.errors import TerminalError
from clientgo.operator.retry import RetryPolicy, RetryState
from clientgo.operator.runs.past_failures import NO_FAILURE, FailedRun, PastFailures, RetryInfo
from clientgo.operator.runs.rate_limit import RateLimit
from clientgo.operator.runs.schedule import SAFETY, Schedule, Timer, TimerKind, timer_in
from clientgo.operator.runs.wakes import Wakes
from clientgo.operator.settings.durations import instant
from clientgo.util.clock import nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.workqueue import LOW_PRIORITY

SELF_WAKES_WITHOUT_WAIT: Final = 10
"""So many runs in a row may be caused by the object's own writes before the next has to wait."""

_LONGEST_SELF_WAIT: Final = 60.0


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What a controller decides about its runs. Durations are seconds; 0: no safety timer.

    ``rate_limit`` is a checked one, in plain seconds.
    """

    retry: RetryPolicy
    max_interval: float = 36000.0
    rate_limit: RateLimit | None = None


class SeenObject:
    """What runs noted about the object; another one of the same name starts from zero."""

    __slots__ = (
        "_settling",
        "abandoned_reported",
        "has_succeeded",
        "invalid_reported",
        "last_known",
        "uid",
        "version",
    )

    def __init__(self) -> None:
        self.uid = ""
        self.version = ""
        """The version that the current or last run began with."""
        self.has_succeeded = False
        """True if a run for the object has succeeded in this process."""
        self.last_known: Any = None
        """The last state of a deleted object, for controllers that reconcile it once more."""
        self.invalid_reported = 0
        """The generation that was reported to users as invalid."""
        self.abandoned_reported = False
        """True if it was reported that nothing removes a finalizer."""
        self._settling: tuple[int, int] = (0, 0)
        """A generation, and how often in a row it was initialised."""

    def initialised(self, generation: int) -> int:
        """Count an initialisation of a generation; return how many that makes in a row."""
        known, count = self._settling
        self._settling = (generation, count + 1 if known == generation else 1)
        return self._settling[1]

    def settled(self) -> None:
        """Note that the object needed no initialisation."""
        self._settling = (0, 0)


@uncopyable("it has locks; make one in each process")
class ObjectState:
    """One object of one controller. Not thread-safe: its run queue's lock guards it.

    ``wakes`` is what asks for the next run, ``schedule`` when it comes if nothing does, and
    ``failures`` what failed since the last success, None if nothing has.
    """

    __slots__ = (
        "_began",
        "_cause",
        "_settings",
        "began_at",
        "failures",
        "gone",
        "running",
        "schedule",
        "seen",
        "wakes",
    )

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self.wakes = Wakes()
        self.schedule = Schedule()
        self.failures: PastFailures | None = None
        self.seen = SeenObject()
        self.running = False
        self.began_at = 0.0
        """When the current or last run began."""
        self.gone = False
        """True if the run found that nothing has to be remembered."""
        self._cause: TimerKind | None = None
        """What started the current or last run; None for an event."""
        self._began: deque[float] | None = None
        """When the last runs began, as many as the rate limit counts."""

    @property
    def pending(self) -> bool:
        """True if something asked for a run since the current or last one began."""
        return self.wakes.pending

    @property
    def timer(self) -> Timer | None:
        return self.schedule.timer

    @property
    def last_error(self) -> Exception | None:
        failures = self.failures  # another thread may drop them
        return None if failures is None else failures.last_error

    @property
    def exhausted(self) -> bool:
        """True if the retries are used up."""
        return self.failures is not None and self.failures.exhausted

    @property
    def policy(self) -> RetryPolicy:
        """What decides when a failed run is tried again."""
        return self._settings.retry

    # What asks for runs

    def trigger(self, now: float, priority: int, *, by_own_write: bool = False) -> None:
        """Ask for a run because something happened."""
        limit = self._settings.rate_limit
        if not self.wakes.pending and limit is not None and limit.debounce:
            self.wakes.gathers_until = instant(now + float(limit.debounce))  # type: ignore[arg-type]  # checked() made it seconds
        self.wakes.ask(priority, by_own_write=by_own_write)

    def again(self, priority: int) -> None:
        """Ask for another pass, which does not wait to gather events."""
        self.wakes.gathers_until = None
        self.wakes.ask(priority)

    def trigger_at(self, due: float, priority: int) -> None:
        """Ask for a run at an instant, unless one is due before."""
        self.schedule.by(due, priority, running=self.running)

    def own_write(self, now: float, version: str) -> float | None:
        """Ask for a run because of the event of an own write; return how long it has to wait.

        None if the last run began with that version or a newer one. Ten such runs in a row do not
        wait, then they wait 1, 2, 4 ... seconds, up to a minute.
        """
        seen, written = map(parse_resource_version, (self.seen.version, version))
        if seen is not None and written is not None and written <= seen:
            return None
        over = self.wakes.own_in_a_row - SELF_WAKES_WITHOUT_WAIT
        if over < 0:
            self.trigger(now, 0, by_own_write=True)
            return 0.0
        self.wakes.wrote()
        wait = min(2.0 ** min(over, 10), _LONGEST_SELF_WAIT)
        self.trigger_at(instant(now + wait), 0)
        return wait

    def next_run(self, now: float) -> tuple[float, int] | None:
        """Return the instant of the next run, which may be past, and its priority; None if none."""
        if self.wakes.pending:
            due = max(self._guarded(now), self.wakes.gathers_until or now)
            return self._admitted(due), self.wakes.priority
        timer = self.schedule.timer
        if timer is None:
            return None
        due = timer.due if self._settings.rate_limit is None else self._admitted(timer.due)
        return due, self.schedule.priority

    def is_due(self, now: float) -> bool:
        """Return True if the object may run now."""
        if self.wakes.pending and self.failures is None and self._settings.rate_limit is None:
            return True  # nearly always
        following = self.next_run(now)
        return following is not None and nanoseconds(following[0]) <= nanoseconds(now)

    def holds(self, now: float) -> dict[str, float]:
        """Return what a run that is asked for waits for, each with the instant of its end."""
        if not self.wakes.pending:
            timer = self.schedule.timer
            due = now if timer is None else timer.due
            admitted = self._admitted(due)
            return {"rate limit": admitted} if admitted > due and timer is not None else {}
        instants = {
            "debounce": self.wakes.gathers_until or now,
            "failures": self._guarded(now),
            "rate limit": self._admitted(now),
        }
        return {why: until for why, until in instants.items() if until > now}

    def _guarded(self, now: float) -> float:
        failures = self.failures
        return now if failures is None else failures.held_until(now, self.schedule.timer)

    def _admitted(self, due: float) -> float:
        """Return the first instant from ``due`` on that the rate limit admits."""
        limit = self._settings.rate_limit
        if limit is None or self._began is None or len(self._began) < limit.runs:
            return due
        return max(due, instant(self._began[0] + float(limit.per)))  # type: ignore[arg-type]  # checked() made it seconds

    # A run

    def begin(self, now: float) -> int:
        """Begin a run; return its priority."""
        timer_priority = self.schedule.priority
        self._cause = self.schedule.take(now)
        if self._cause is TimerKind.RETRY and self.failures is not None:
            self.failures.attempt += 1
        priority = self.wakes.take()
        self.running, self.began_at, self.gone = True, now, False
        limit = self._settings.rate_limit
        if limit is not None:
            if self._began is None:
                self._began = deque(maxlen=limit.runs)
            self._began.append(now)
        return timer_priority if priority is None else priority

    def identify(self, uid: str, version: str) -> RetryInfo:
        """Note which object runs, in which version; return what failed before.

        The failures of another object of that name are forgotten.
        """
        if self.seen.uid and self.seen.uid != uid:
            self.start_over()
        self.seen.uid, self.seen.version = uid, version
        return self.retry_info()

    def start_over(self) -> None:
        """Forget the failures and timers: the object is gone. What is pending stays."""
        self.failures = None
        self.schedule.clear()
        self.seen = SeenObject()

    def retry_info(self) -> RetryInfo:
        if self.failures is not None:
            return self.failures.info(self.policy)
        return RetryInfo(is_last=True) if self.policy.max_attempts == 0 else NO_FAILURE

    def ended(self) -> None:
        """End the run; apply what was asked for during it."""
        self.running = False
        self.schedule.run_ended()

    # How it went

    def succeeded(self, now: float, delay: float | None, priority: int) -> None:
        """Rule 1. ``delay`` and ``priority`` are those of the requeue that the result asked for."""
        self.seen.has_succeeded = True
        if self.failures is not None:
            self.failures = None
            self.seen.invalid_reported = 0
        max_interval = self._settings.max_interval
        if delay is not None:
            length = min(delay, max_interval) if max_interval else delay
            self.schedule.requeue(now, length, priority)
            return
        self.schedule.no_requeue()
        timer = timer_in(SAFETY, now, max_interval) if max_interval else None
        self.schedule.set(timer, LOW_PRIORITY)

    def failing(
        self, run: FailedRun, *, now: float, wall: float, generation: int
    ) -> Timer | RetryState | None:
        """Note a failure; return the timer of the next try, None if there is none, or what the
        retry policy has to be asked. :meth:`failed` follows."""
        by_event = self._cause is None
        if self.failures is None:
            self.failures = PastFailures(run.error, wall, generation)
        self.failures.note(run.error, now, generation, self.policy, by_event=by_event)
        if isinstance(run.error, TerminalError) or not run.retries:
            self.schedule.clear()
            return None
        return self.failures.retry(run, now, wall, self.schedule.timer if by_event else None)

    def failed(self, retry: Timer | None, now: float, priority: int = 0) -> Timer | None:
        """Rules 2 to 5; return the timer of the next try, None if there is none.

        ``priority`` is that of the run, which its retry keeps.
        """
        timer = self.schedule.or_requeue(retry, now)
        self.schedule.set(timer, priority)
        if self.failures is not None:
            self.failures.exhausted = timer is None
        max_interval = self._settings.max_interval
        if timer is None and max_interval and self.policy.after_exhaustion == "max_interval":
            self.schedule.set(timer_in(SAFETY, now, max_interval), LOW_PRIORITY)
        return timer
