"""Growing delays.

Promises the delays of client-go for the same numbers, to the nanosecond if there is no jitter.
`BackoffSteps` and `BackoffManager` are not thread-safe.

Differs from client-go (apimachinery pkg/util/wait, `Backoff`): a `Backoff` is an immutable value
and `BackoffSteps` walks along it. By default `BackoffManager` starts again after a quiet interval
(`Reset.WHEN_IDLE`); client-go measures from the last start, so a long outage drops back to short
delays (`Reset.AFTER_INTERVAL`).
"""

from __future__ import annotations

import enum
import random
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import uncopyable


@dataclass(frozen=True, slots=True)
class Backoff:
    """How delays grow: the numbers, without a position.

    The first delay is `duration` seconds, each further one `factor` times the one before (0
    leaves it constant), for `steps` delays, after which the last value repeats. A value beyond
    `cap` seconds (0: no cap) becomes `cap` and ends the growth. Every delay is lengthened by up
    to `jitter` times itself, at random; the growth does not see the jitter.

    Source: k8s.io/apimachinery/pkg/util/wait, Backoff.
    """

    duration: float
    factor: float = 0.0
    jitter: float = 0.0
    steps: int = 0
    cap: float = 0.0


class BackoffSteps:
    """A walk along a `Backoff`: each `step()` returns the next delay.

    `duration` and `remaining` are the next delay (before jitter) and how many growing steps are
    left. `random` draws from [0, 1).

    Source: k8s.io/apimachinery/pkg/util/wait, Backoff.Step and Backoff.DelayFunc.
    """

    __slots__ = ("_backoff", "_duration_ns", "_random", "remaining")

    def __init__(self, backoff: Backoff, *, random: Callable[[], float] = random.random) -> None:
        self._backoff = backoff
        self._random = random
        self._duration_ns = nanoseconds(backoff.duration)
        self.remaining = max(backoff.steps, 0)

    @property
    def duration(self) -> float:
        return self._duration_ns / 1e9

    def step(self) -> float:
        """Return the delay to wait now, in seconds, and move on."""
        delay = self.duration
        if self.remaining > 0:
            self.remaining -= 1
            self._grow()
        return jitter(delay, self._backoff.jitter, random=self._random)

    def _grow(self) -> None:
        backoff = self._backoff
        if backoff.factor == 0:
            return
        # Whole nanoseconds, rounded down, as a Go duration is: or the sequences drift apart.
        self._duration_ns = int(self._duration_ns * backoff.factor)
        cap_ns = nanoseconds(backoff.cap)
        if 0 < cap_ns < self._duration_ns:
            self._duration_ns = cap_ns
            self.remaining = 0


class Reset(enum.Enum):
    """When a `BackoffManager` starts over."""

    WHEN_IDLE = "when idle"
    """When no delay was asked for during the reset interval: nothing failed."""

    AFTER_INTERVAL = "after interval"
    """When the reset interval has passed since the last start, as in client-go, even if
    everything failed in the meantime."""


@uncopyable("it has locks; make one in each process")
class BackoffManager:
    """A `Backoff` that starts over by itself after a time without failures.

    A `reset_interval` of 0 never starts over. One manager may be shared by everything that
    sends to the same server, as the reflector's lists and watches do.

    Source: k8s.io/apimachinery/pkg/util/wait, Backoff.DelayWithReset.
    """

    def __init__(
        self,
        backoff: Backoff,
        reset_interval: float = 0.0,
        *,
        clock: Clock = REAL_CLOCK,
        reset: Reset = Reset.WHEN_IDLE,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._backoff = backoff
        self._reset_interval_ns = nanoseconds(reset_interval)
        self._clock = clock
        self._reset = reset
        self._random = random
        self._steps = BackoffSteps(backoff, random=random)
        self._since_ns = nanoseconds(clock.monotonic())

    def step(self) -> float:
        """Return the delay to wait now, in seconds."""
        now_ns = nanoseconds(self._clock.monotonic())
        if 0 < self._reset_interval_ns < now_ns - self._since_ns:
            self._steps = BackoffSteps(self._backoff, random=self._random)
            self._since_ns = now_ns
        elif self._reset is Reset.WHEN_IDLE:
            self._since_ns = now_ns
        return self._steps.step()


def jitter(duration: float, factor: float, *, random: Callable[[], float] = random.random) -> float:
    """Return `duration` lengthened by up to `factor` times itself; 0 leaves it as it is.

    Source: k8s.io/apimachinery/pkg/util/wait, Jitter (where a factor of 0 or less means 1).
    """
    return duration + random() * factor * duration if factor > 0 else duration
