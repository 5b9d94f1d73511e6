"""Clocks that a test moves.

Promises: time stands still between steps; a step sets the new time first and then wakes, in
order of their deadlines, exactly the waits whose deadline has passed; `wait_for_waiters` and
`wait_for` block until a component has arrived at its wait, so that a test needs no sleep to
synchronise.

Does not promise: that woken threads have finished what they do when `step` returns. Wait for
what they do (an item, an event), for their next wait, or use `run_for`.

Differs from client-go (k8s.io/utils/clock/testing, `FakeClock`): instead of timers and tickers
it serves sleeps and condition waits, and it has a wall clock of its own.
"""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.util.clock import nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.util.wait import call_when_set

_YEAR_2000 = 946684800.0

_ASKED_AGAIN = 0.02
"""Real seconds."""


@uncopyable("it has locks; make one in each process")
class FakeClock:
    """A clock that moves only when a test steps it.

    `start` is the first reading of `monotonic()`, `wall` that of `time()`; both advance together.
    Time is kept in whole nanoseconds, so that many small steps add up exactly. Thread-safe.

    Source: k8s.io/utils/clock/testing, FakeClock.
    """

    def __init__(self, start: float = 0.0, wall: float = _YEAR_2000) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._now_ns = nanoseconds(start)
        self._wall_offset_ns = nanoseconds(wall) - self._now_ns
        self._waits: list[_Wait] = []
        self._changes = 0

    def monotonic(self) -> float:
        return self._now_ns / 1e9

    def time(self) -> float:
        return (self._now_ns + self._wall_offset_ns) / 1e9

    def step(self, seconds: float) -> None:
        """Advance time and wake, in order, every wait whose deadline has come.

        Do not call it while holding a condition that another thread waits on. Raises ValueError
        when `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a monotonic clock cannot go back: step({seconds!r})")
        self._step_to(self._now_ns + nanoseconds(seconds))

    def run_for(self, seconds: float, at_rest: Callable[[], bool]) -> None:
        """Advance time from deadline to deadline, and at each wait until everything is at rest.

        So every thread sees exactly the instants that it waited for, and what it does in turn
        happens at those. `at_rest()` tells whether nothing more will happen until time moves on;
        it is asked as `wait_for` does.
        """
        target_ns = self._now_ns + nanoseconds(seconds)
        self.wait_for(at_rest)
        while (deadline_ns := self._next_deadline_ns()) is not None and deadline_ns <= target_ns:
            self._step_to(deadline_ns)
            self.wait_for(at_rest)
        self._step_to(target_ns)

    def wait_for(self, predicate: Callable[[], bool], timeout: float = 60.0) -> None:
        """Block until `predicate()` is true; asked again whenever a thread begins or ends a wait.

        It is also asked again now and then: coroutines do their work without such a wait. Raises
        TimeoutError after `timeout` real seconds.
        """
        give_up = time.monotonic() + timeout
        while True:
            seen = self._changes
            if predicate():
                return
            with self._changed:
                if self._changes == seen:
                    self._changed.wait(_ASKED_AGAIN)
            if time.monotonic() >= give_up:
                raise TimeoutError(f"{predicate} was still false after {timeout} s")

    def has_waiters(self) -> bool:
        """Tell whether any thread waits for this clock to reach some instant."""
        return self.waiters() > 0

    def waiters(self) -> int:
        """Return how many threads wait for this clock to reach some instant."""
        with self._changed:
            return len(self._deadlines_locked())

    def wait_for_waiters(self, count: int = 1, timeout: float = 60.0) -> None:
        """Block until at least `count` threads wait for this clock to reach some instant.

        Waits without a deadline do not count. Raises TimeoutError after `timeout` real seconds.
        """
        try:
            self.wait_for(lambda: self.waiters() >= count, timeout)
        except TimeoutError:
            raise TimeoutError(
                f"expected {count} waits on the fake clock, found {self.waiters()} after "
                f"{timeout} s: a component never got to its sleep or wait, or has ended"
            ) from None

    def next_deadline(self) -> float | None:
        """Return the instant at which the next wait is due, or None if nothing waits for one."""
        deadline_ns = self._next_deadline_ns()
        return None if deadline_ns is None else deadline_ns / 1e9

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        if stop is not None and stop.is_set():
            return True
        woken = threading.Event()
        wait = self._begin(self._now_ns + nanoseconds(seconds), woken.set)
        if wait is not None:
            registration = None if stop is None else call_when_set(stop, woken.set)
            try:
                woken.wait()
            finally:
                if registration is not None:
                    registration.cancel()
                self._end(wait)
        return stop is not None and stop.is_set()

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        deadline_ns = None if timeout is None else self._now_ns + nanoseconds(timeout)
        return self._wait(condition, deadline_ns)

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        return self._wait(condition, None if deadline is None else nanoseconds(deadline))

    def _wait(self, condition: threading.Condition, deadline_ns: int | None) -> bool:
        def notify() -> None:
            # The waiter holds the condition from its registration until it really waits, so a
            # step in between is blocked until there is a waiter to notify.
            with condition:
                condition.notify_all()

        wait = self._begin(deadline_ns, notify)
        if wait is None:
            return False
        try:
            condition.wait()
        finally:
            self._end(wait)
        return not wait.is_due

    def _begin(self, deadline_ns: int | None, wake: Callable[[], None]) -> _Wait | None:
        """Register a wait; None if its deadline has come already."""
        with self._changed:
            if deadline_ns is not None and deadline_ns <= self._now_ns:
                return None
            wait = _Wait(deadline_ns, wake)
            self._waits.append(wait)
            self._changes += 1
            self._changed.notify_all()
            return wait

    def _end(self, wait: _Wait) -> None:
        with self._changed:
            if not wait.is_due:
                self._waits.remove(wait)
            self._changes += 1
            self._changed.notify_all()

    def _step_to(self, instant_ns: int) -> None:
        with self._changed:
            self._now_ns = instant_ns
            due = [
                wait
                for wait in self._waits
                if wait.deadline_ns is not None and wait.deadline_ns <= instant_ns
            ]
            for wait in due:
                wait.is_due = True
                self._waits.remove(wait)
        for wait in sorted(due, key=lambda wait: wait.deadline_ns or 0):
            wait.wake()

    def _next_deadline_ns(self) -> int | None:
        with self._changed:
            return min(self._deadlines_locked(), default=None)

    def _deadlines_locked(self) -> list[int]:
        return [wait.deadline_ns for wait in self._waits if wait.deadline_ns is not None]


@dataclass(eq=False, slots=True)
class _Wait:
    """One thread that waits, for an instant or only to be notified."""

    deadline_ns: int | None
    wake: Callable[[], None]
    is_due: bool = False


class AutoClock(FakeClock):
    """A fake clock whose sleeps and waits move it on, for code that runs in a single thread.

    A sleep returns immediately, with the time advanced by its length; what was planned with
    `call_at` happens before it returns, so a test can stop a loop at a given instant. Threads that
    share one, and plan nothing, never see time go back.
    """

    def __init__(self, start: float = 0.0, wall: float = _YEAR_2000) -> None:
        super().__init__(start, wall)
        self._plan: list[tuple[int, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def call_at(self, instant: float, callback: Callable[[], None]) -> None:
        """Run `callback` when time reaches `instant`."""
        heapq.heappush(self._plan, (nanoseconds(instant), next(self._numbers), callback))

    def step(self, seconds: float) -> None:
        self._advance(nanoseconds(seconds), stop=None)

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        return self._advance(nanoseconds(seconds), stop)

    def wait(
        self,
        condition: threading.Condition,
        timeout: float | None,
    ) -> bool:
        if timeout is None:
            raise RuntimeError("an AutoClock has one thread: no other thread can end this wait")
        self._advance(nanoseconds(timeout), stop=None)
        return False

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        return self.wait(condition, None if deadline is None else deadline - self.monotonic())

    def _advance(self, duration_ns: int, stop: threading.Event | None) -> bool:
        """Move time on unless `stop` is set, or gets set on the way; tell whether it is."""
        target_ns = self._now_ns + max(duration_ns, 0)
        while not (stopped := stop is not None and stop.is_set()):
            if not self._plan or self._plan[0][0] > target_ns:
                with self._changed:
                    self._now_ns = max(self._now_ns, target_ns)
                break
            instant_ns, _, callback = heapq.heappop(self._plan)
            self._now_ns = max(self._now_ns, instant_ns)
            callback()
        return stopped
