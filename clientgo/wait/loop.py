"""Loops that call something again until it is done or they are stopped.

Promises: every loop sleeps on the injected clock and returns as soon as `stop` is set; nothing
is called once `stop` is set or the time is up, except the first call of an immediate poll.

Does not promise: to interrupt a call that is running. Give it the same `stop`.

Differs from client-go (apimachinery pkg/util/wait): a condition answers with its truth and
fails by raising; what ends a poll early is a `WaitInterruptedError`. Exceptions pass through:
there is no process-wide crash handler.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from clientgo.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.wait.backoff import Backoff, BackoffSteps, jitter


class WaitInterruptedError(Exception):
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
    """Call `fn`, at once and then every `period` seconds, until `stop` is set.

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
    """Block until `condition()` is true, asking every `interval` seconds.

    The calls keep to a fixed beat: one that took too long is followed at once by the next, but
    missed beats are not made up for. With `immediate` the first call is made straight away, even
    if `stop` is set already.

    Raises WaitTimeoutError after `timeout` seconds, WaitCancelledError when `stop` is set, and
    what `condition` raises.

    Source: k8s.io/apimachinery/pkg/util/wait, PollUntilContextTimeout.
    """
    _call_until_true(condition, _Beat(interval, clock), immediate, False, timeout, stop, clock)


def delay_until(
    condition: Callable[[], object],
    delay: Callable[[], float],
    *,
    stop: threading.Event | None = None,
    immediate: bool = True,
    sliding: bool = True,
    clock: Clock = REAL_CLOCK,
) -> None:
    """Block until `condition()` is true, asking again after `delay()` seconds each time.

    `delay` is usually the `step` of a `BackoffManager`. A sliding delay starts when the condition
    has answered, otherwise when it is asked. Raises WaitCancelledError when `stop` is set, and
    what `condition` raises.

    Source: k8s.io/apimachinery/pkg/util/wait, DelayFunc.Until.
    """
    _call_until_true(condition, _Delays(delay, clock), immediate, sliding, None, stop, clock)


def exponential_backoff(
    backoff: Backoff,
    condition: Callable[[], object],
    *,
    stop: threading.Event | None = None,
    clock: Clock = REAL_CLOCK,
) -> None:
    """Block until `condition()` is true, asking at most `backoff.steps` times.

    Raises WaitTimeoutError when the attempts ran out, WaitCancelledError when `stop` is set
    while sleeping, and what `condition` raises.

    Source: k8s.io/apimachinery/pkg/util/wait, ExponentialBackoff.
    """
    steps = BackoffSteps(backoff)
    while steps.remaining > 0:
        if condition():
            return
        if steps.remaining == 1:
            break
        if clock.sleep(steps.step(), stop):
            raise WaitCancelledError("stopped while waiting to try again")
    raise WaitTimeoutError(f"the condition did not hold in {backoff.steps} attempts")


def _call_until_true(
    condition: Callable[[], object],
    schedule: _Schedule,
    immediate: bool,
    sliding: bool,
    timeout: float | None,
    stop: threading.Event | None,
    clock: Clock,
) -> None:
    deadline_ns = None if timeout is None else nanoseconds(clock.monotonic() + timeout)
    if not sliding:
        schedule.start()
    if immediate and condition():
        return
    if sliding:
        schedule.start()
    while True:
        _sleep_until(schedule.next_ns, deadline_ns, timeout, stop, clock)
        if not sliding:
            schedule.advance()
        if condition():
            return
        if sliding:
            schedule.advance()


def _sleep_until(
    instant_ns: int,
    deadline_ns: int | None,
    timeout: float | None,
    stop: threading.Event | None,
    clock: Clock,
) -> None:
    """Sleep until `instant_ns`; raise if the deadline or a stop comes first or at once."""
    expires = deadline_ns is not None and deadline_ns <= instant_ns
    wake_ns = deadline_ns if expires and deadline_ns is not None else instant_ns
    if clock.sleep((wake_ns - nanoseconds(clock.monotonic())) / 1e9, stop):
        raise WaitCancelledError("stopped before the condition held")
    if deadline_ns is not None and nanoseconds(clock.monotonic()) >= deadline_ns:
        raise WaitTimeoutError(f"the condition did not hold within {timeout} s")


class _Schedule(Protocol):
    """When the next call is due."""

    next_ns: int

    def start(self) -> None:
        """Set the first instant."""

    def advance(self) -> None:
        """Set the next instant; the last one has come."""


class _Beat:
    """Multiples of an interval; those that passed unused are dropped, as by a Go ticker."""

    def __init__(self, interval: float, clock: Clock) -> None:
        self._interval_ns = nanoseconds(interval)
        self._clock = clock
        self.next_ns = 0

    def start(self) -> None:
        self.next_ns = nanoseconds(self._clock.monotonic()) + self._interval_ns

    def advance(self) -> None:
        now_ns = nanoseconds(self._clock.monotonic())
        if self._interval_ns <= 0:
            self.next_ns = now_ns
            return
        missed = max(now_ns - self.next_ns, 0) // self._interval_ns
        self.next_ns += (missed + 1) * self._interval_ns


class _Delays:
    """Instants at the distances that a delay function gives."""

    def __init__(self, delay: Callable[[], float], clock: Clock) -> None:
        self._delay = delay
        self._clock = clock
        self.next_ns = 0

    def start(self) -> None:
        self.next_ns = nanoseconds(self._clock.monotonic()) + nanoseconds(self._delay())

    advance = start
