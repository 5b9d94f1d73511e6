"""When an object runs if nothing happens before."""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

from clientgo.operator.settings.durations import instant
from clientgo.util.clock import nanoseconds


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


SAFETY: Final = TimerKind.SAFETY
"""Reading it off the enum takes longer than the rest of the line that every success needs."""

_RETRIES: Final = (TimerKind.RETRY, TimerKind.ASKED)


class Timer(NamedTuple):
    """An instant of the clock at which an object runs if nothing happens before."""

    kind: TimerKind
    due: float

    def by(self, due: float) -> Timer:
        """Return the same timer, at an instant at the latest."""
        return Timer(self.kind, min(self.due, due))

    @property
    def is_retry(self) -> bool:
        return self.kind in _RETRIES


def timer_in(kind: TimerKind, now: float, length: float) -> Timer:
    """Return the timer that is due so many seconds from now."""
    return Timer(kind, instant(now + length))


class Schedule:
    """The timer of one object, and what a requeue asks for. Not thread-safe."""

    __slots__ = ("_later", "_requeue", "priority", "timer")

    def __init__(self) -> None:
        self.timer: Timer | None = None
        self.priority = 0
        self._requeue: tuple[float, float] | None = None
        """What the last success asked for: after how many seconds, and at which instant next."""
        self._later: tuple[float, int] | None = None
        """An instant and a priority that were asked for during the current run."""

    def set(self, timer: Timer | None, priority: int) -> None:
        self.timer, self.priority = timer, priority

    def requeue(self, now: float, length: float, priority: int) -> None:
        """Set a timer that survives failed runs."""
        self.set(timer_in(TimerKind.REQUEUE, now, length), priority)
        self._requeue = length, instant(now + length)

    def no_requeue(self) -> None:
        self._requeue = None

    def clear(self) -> None:
        self.timer = self._requeue = None

    def by(self, due: float, priority: int, *, running: bool) -> None:
        """Run at an instant, unless a run is due before. A run sets its own timer first."""
        if running:
            if self._later is None or due < self._later[0]:
                self._later = due, priority
        elif self.timer is None or due < self.timer.due:
            self.set(Timer(TimerKind.REQUEUE, due), priority)

    def run_ended(self) -> None:
        """Apply what was asked for during the run."""
        if self._later is not None:
            later, self._later = self._later, None
            self.by(*later, running=False)

    def take(self, now: float) -> TimerKind | None:
        """Begin a run; return what kind of timer is due, None if none is."""
        timer = self.timer
        if timer is None or nanoseconds(timer.due) > nanoseconds(now):
            return None
        self.timer = None
        return timer.kind

    def or_requeue(self, retry: Timer | None, now: float) -> Timer | None:
        """Return the timer of a failed run, which is not later than a requeue."""
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
