"""Loops that call a function again until it is done or they are stopped.

Promises: every loop sleeps on the injected clock and returns as soon as `stop` is set. After a stop
or timeout nothing is called, except the first call of an immediate poll.

Does not interrupt a running call: give it the same `stop`.

Differs from client-go (apimachinery pkg/util/wait): a condition fails by raising, and a poll that
ends early raises a `WaitInterruptedError`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import CopyableError
from clientgo.util.wait.backoff import jitter


class WaitInterruptedError(CopyableError):
    """A wait ended before its condition held."""


class WaitTimeoutError(WaitInterruptedError, TimeoutError):
    """The time for a condition, or the number of attempts, ran out."""


class WaitCancelledError(WaitInterruptedError):
    """The stop event was set before the condition held."""


def until(
    fn: Callable[[], object],
    period: float,
    stop: threading.Event,
    *,
    sliding: bool = True,
    jitter_factor: float = 0.0,
    clock: Clock = REAL_CLOCK,
) -> None:
    """Call `fn`, immediately and then every `period` seconds, until `stop` is set.

    A sliding period is measured from the end of a call, otherwise from its start. Each period is
    lengthened by up to `jitter_factor` times itself. Blocks; raises what `fn` raises.

    Source: k8s.io/apimachinery/pkg/util/wait, Until, NonSlidingUntil and JitterUntil.
    """
    while not stop.is_set():
        wait = jitter(period, jitter_factor)
        started = clock.monotonic()
        fn()
        if not sliding:
            wait -= clock.monotonic() - started
        clock.sleep(wait, stop)


def poll_until(
    condition: Callable[[], object],
    *,
    interval: float,
    timeout: float | None = None,
    stop: threading.Event | None = None,
    immediate: bool = True,
    clock: Clock = REAL_CLOCK,
) -> None:
    """Block until `condition()` is true, calling it every `interval` seconds.

    The interval is fixed: the next call follows immediately if one took too long, but missed calls
    are not repeated. With `immediate` the first call is made straight away, even
    if `stop` is set already.

    Raises WaitTimeoutError after `timeout` seconds, WaitCancelledError when `stop` is set, and
    what `condition` raises.

    Source: k8s.io/apimachinery/pkg/util/wait, PollUntilContextTimeout.
    """
    deadline = _Deadline(clock, stop, timeout)
    intervals = _FixedIntervals(interval, clock)
    if immediate and condition():
        return
    while True:
        deadline.sleep_until(intervals.next_ns)
        intervals.advance()
        if condition():
            return


class _Deadline:
    """How long a loop goes on: until a stop, and for so many seconds from now."""

    def __init__(self, clock: Clock, stop: threading.Event | None, timeout: float | None) -> None:
        self._clock = clock
        self._stop = stop
        self._timeout = math.inf if timeout is None else timeout
        self._deadline_ns = nanoseconds(clock.monotonic() + self._timeout)

    def sleep_until(self, instant_ns: int) -> None:
        """Sleep until an instant. Raises if a stop or the deadline comes first."""
        wake_ns = min(instant_ns, self._deadline_ns)
        if self._clock.sleep((wake_ns - self._now_ns()) / 1e9, self._stop):
            raise WaitCancelledError("stopped before the condition held")
        if self._now_ns() >= self._deadline_ns:
            raise WaitTimeoutError(f"the condition did not hold within {self._timeout} s")

    def _now_ns(self) -> int:
        return nanoseconds(self._clock.monotonic())


class _FixedIntervals:
    """Multiples of an interval; those that passed unused are dropped, as by a Go ticker."""

    def __init__(self, interval: float, clock: Clock) -> None:
        self._interval_ns = nanoseconds(interval)
        self._clock = clock
        self.next_ns = nanoseconds(clock.monotonic()) + self._interval_ns

    def advance(self) -> None:
        """Set the next instant; the last one has come."""
        now_ns = nanoseconds(self._clock.monotonic())
        if self._interval_ns <= 0:
            self.next_ns = now_ns
            return
        missed = max(now_ns - self.next_ns, 0) // self._interval_ns
        self.next_ns += (missed + 1) * self._interval_ns
