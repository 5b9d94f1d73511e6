"""The clock interface and the machine's own clock.

Promises: `monotonic` never goes back and is used for all intervals; `time` is the wall clock, for
timestamps; a fake clock can end every wait.

Durations are float seconds. Compare instants as whole `nanoseconds`, so that 0.1 + 0.2 is 0.3.

Differs from client-go (k8s.io/utils/clock): no timers or tickers. A clock waits for what threads
wait for: conditions and stop events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, Protocol

_NEVER_NS: Final = 2**63 - 1


def nanoseconds(seconds: float) -> int:
    """Return `seconds` as whole nanoseconds, at most the largest Go duration (292 years).

    Raises ValueError for NaN.
    """
    ns = seconds * 1e9
    if -_NEVER_NS < ns < _NEVER_NS:
        return round(ns)
    if ns != ns:
        raise ValueError("a time in seconds must not be NaN")
    return _NEVER_NS if ns > 0 else -_NEVER_NS


class Clock(Protocol):
    """What clientgo needs from a clock. Implementations are thread-safe.

    To make a component deterministic in a test, give it a `clientgo.testing.FakeClock`: its
    `sleep`, `wait` and `wait_until` return when the test has stepped the clock far enough, and
    `wait_for_waiters` tells the test that the component has arrived there.
    """

    def monotonic(self) -> float:
        """Return the seconds since some fixed point; never goes back."""

    def time(self) -> float:
        """Return the wall clock as Unix seconds."""

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        """Block for `seconds`, or until `stop` is set. Return True if `stop` is set.

        Returns immediately when `stop` is already set or `seconds` is not positive.
        """

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        """Wait on `condition`, whose lock the caller holds, for at most `timeout` seconds.

        Like `threading.Condition.wait`: None waits for ever, the result is False after a
        timeout, and wake-ups may be spurious, so callers test their predicate in a loop.
        """

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        """Like `wait`, up to the instant `deadline` of `monotonic()`.

        A loop that waits for an instant prefers this: a timeout that it computed itself would be
        off by whatever a fake clock was stepped between the computation and the wait.
        """


class RealClock:
    """The machine's clock: `time.monotonic` and `time.time`."""

    __slots__ = ()

    def monotonic(self) -> float:
        return time.monotonic()

    def time(self) -> float:
        return time.time()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        if stop is not None:
            return stop.wait(max(seconds, 0.0))
        if seconds > 0:
            time.sleep(seconds)
        return False

    def wait(self, condition: threading.Condition, timeout: float | None) -> bool:
        return condition.wait(_bounded(timeout))

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        if deadline is None:
            return condition.wait()
        return condition.wait(_bounded(max(deadline - time.monotonic(), 0.0)))

    def __reduce__(self) -> tuple[Callable[[], Clock], tuple[()]]:
        return _real_clock, ()  # others ask whether a clock is REAL_CLOCK


def _bounded(timeout: float | None) -> float | None:
    """Keep within what a lock can wait for; longer waits just wake up early, as waits may."""
    return None if timeout is None else min(timeout, threading.TIMEOUT_MAX)


REAL_CLOCK: Final[Clock] = RealClock()
"""The clock that every component uses unless it is given another."""


def monotonic_ns(clock: Clock) -> Callable[[], int]:
    """Return what reads `clock.monotonic()` as `nanoseconds`; of `REAL_CLOCK` in one C call."""
    if clock is REAL_CLOCK:
        return time.monotonic_ns
    return lambda: nanoseconds(clock.monotonic())


def _real_clock() -> Clock:
    return REAL_CLOCK
