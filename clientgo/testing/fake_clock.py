"""Clocks that only the test moves.

Promises: time stands still between steps; a step sets the new time first and then wakes, in
order of their deadlines, exactly the waits whose deadline has passed; `wait_for_waiters` blocks
until a component has arrived at its wait, so that a test needs no sleep to synchronise.

Does not promise: that woken threads have finished what they do when `step` returns. Wait for
what they do (an item, an event), or for their next wait.

Differs from client-go (k8s.io/utils/clock/testing, `FakeClock`): instead of timers and tickers
it serves sleeps and condition waits, and it has a wall clock of its own.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable

from clientgo.clock import nanoseconds
from clientgo.wait import call_when_set

_YEAR_2000 = 946684800.0


class FakeClock:
    """A clock that moves only when it is told to.

    `start` is the first reading of `monotonic()`, `wall` that of `time()`; both advance together.
    Time is kept in whole nanoseconds, so that many small steps add up exactly. Thread-safe.

    Source: k8s.io/utils/clock/testing, FakeClock.
    """

    def __init__(self, start: float = 0.0, wall: float = _YEAR_2000) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._now_ns = nanoseconds(start)
        self._wall_offset_ns = nanoseconds(wall) - self._now_ns
        self._waits: list[_Wait] = []
        self._numbers = itertools.count()

    def monotonic(self) -> float:
        return self._now_ns / 1e9

    def time(self) -> float:
        return (self._now_ns + self._wall_offset_ns) / 1e9

    def step(self, seconds: float) -> None:
        """Advance time and wake, in order, every wait whose deadline has come.

        Must not be called with a condition held that somebody waits on. Raises ValueError when
        `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a monotonic clock cannot go back: step({seconds!r})")
        with self._changed:
            self._now_ns += nanoseconds(seconds)
            due = self._take_due_locked()
        for wait in due:
            wait.wake()

    def has_waiters(self) -> bool:
        """Tell whether any thread waits for this clock to reach some instant."""
        return self.waiters() > 0

    def waiters(self) -> int:
        """Return how many threads wait for this clock to reach some instant."""
        with self._changed:
            return len(self._waits)

    def wait_for_waiters(self, count: int = 1, timeout: float = 5.0) -> None:
        """Block until at least `count` threads wait for this clock to reach some instant.

        Waits without a deadline do not count. Raises TimeoutError after `timeout` real seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._waits) >= count, timeout):
                raise TimeoutError(
                    f"expected {count} waits on the fake clock, found {len(self._waits)} after "
                    f"{timeout} s: the component never got to its sleep or wait, or ended"
                )

    def next_deadline(self) -> float | None:
        """Return the instant at which the next wait is due, or None if nothing waits."""
        with self._changed:
            return self._waits[0].deadline_ns / 1e9 if self._waits else None

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        if seconds > 0 and not (stop is not None and stop.is_set()):
            woken = threading.Event()
            wait = self._begin(self._now_ns + nanoseconds(seconds), woken.set)
            registration = None if stop is None else call_when_set(stop, woken.set)
            try:
                if not wait.due:
                    woken.wait()
            finally:
                if registration is not None:
                    registration.cancel()
                self._end(wait)
        return stop is not None and stop.is_set()

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        if timeout is None:
            return condition.wait()
        return self._wait(condition, self._now_ns + nanoseconds(timeout))

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        if deadline is None:
            return condition.wait()
        return self._wait(condition, nanoseconds(deadline))

    def _wait(self, condition: threading.Condition, deadline_ns: int) -> bool:
        def notify() -> None:
            # The waiter holds the condition from registering until it really waits, so a step in
            # between is blocked here until there is somebody to notify.
            with condition:
                condition.notify_all()

        wait = self._begin(deadline_ns, notify)
        try:
            if not wait.due:
                condition.wait()
        finally:
            self._end(wait)
        return not wait.due

    def _begin(self, deadline_ns: int, wake: Callable[[], None]) -> _Wait:
        wait = _Wait(deadline_ns, next(self._numbers), wake)
        with self._changed:
            if deadline_ns <= self._now_ns:
                wait.due = True
            else:
                heapq.heappush(self._waits, wait)
                self._changed.notify_all()
        return wait

    def _end(self, wait: _Wait) -> None:
        with self._changed:
            if not wait.due:
                self._waits.remove(wait)
                heapq.heapify(self._waits)

    def _take_due_locked(self) -> list[_Wait]:
        due = []
        while self._waits and self._waits[0].deadline_ns <= self._now_ns:
            wait = heapq.heappop(self._waits)
            wait.due = True
            due.append(wait)
        return due


class AutoClock(FakeClock):
    """A fake clock whose sleeps and waits move it on, for code that runs in a single thread.

    A sleep returns at once with time advanced by its length; what was planned with `call_at`
    happens on the way, which is how a test stops a loop at a given instant.
    """

    def __init__(self, start: float = 0.0, wall: float = _YEAR_2000) -> None:
        super().__init__(start, wall)
        self._plan: list[tuple[int, int, Callable[[], None]]] = []

    def call_at(self, instant: float, callback: Callable[[], None]) -> None:
        """Run `callback` when time reaches `instant`."""
        heapq.heappush(self._plan, (nanoseconds(instant), next(self._numbers), callback))

    def step(self, seconds: float) -> None:
        self._advance(nanoseconds(seconds), lambda: False)

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        def stopped() -> bool:
            return stop is not None and stop.is_set()

        if not stopped():
            self._advance(nanoseconds(seconds), stopped)
        return stopped()

    def wait(
        self,
        condition: threading.Condition,  # noqa: ARG002 - nobody else could notify it
        timeout: float | None,
    ) -> bool:
        if timeout is None:
            raise RuntimeError("an AutoClock has one thread: nobody could end this wait")
        self._advance(nanoseconds(timeout), lambda: False)
        return False

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        return self.wait(condition, None if deadline is None else deadline - self.monotonic())

    def _advance(self, duration_ns: int, stopped: Callable[[], bool]) -> None:
        target_ns = self._now_ns + max(duration_ns, 0)
        while self._plan and self._plan[0][0] <= target_ns:
            instant_ns, _, callback = heapq.heappop(self._plan)
            self._now_ns = max(self._now_ns, instant_ns)
            callback()
            if stopped():
                return
        self._now_ns = target_ns


class _Wait:
    """One thread waiting for an instant."""

    __slots__ = ("deadline_ns", "due", "number", "wake")

    def __init__(self, deadline_ns: int, number: int, wake: Callable[[], None]) -> None:
        self.deadline_ns = deadline_ns
        self.number = number
        self.wake = wake
        self.due = False

    def __lt__(self, other: _Wait) -> bool:
        return (self.deadline_ns, self.number) < (other.deadline_ns, other.number)
