"""Limiting the rate of requests.

`try_accept` never blocks; `accept` and `wait` block on the injected clock. Concurrent callers are
spaced in the order of their reservations.

Differs from client-go (util/flowcontrol): `wait` takes a timeout and a stop event instead of a
context.
"""

from __future__ import annotations

import math
import threading
from typing import Protocol

from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.flowcontrol.token_bucket import TokenBucket


class NotAcceptedError(CopyableError):
    """A rate limiter did not let the caller through: stopped, or too long a wait."""


class PassiveRateLimiter(Protocol):
    """A rate limiter that can be asked but not waited for.

    Source: k8s.io/client-go/util/flowcontrol, PassiveRateLimiter.
    """

    @property
    def qps(self) -> float:
        """The agreed rate, in requests a second."""

    def try_accept(self) -> bool:
        """Take a token if there is one. Never blocks."""

    def stop(self) -> None:
        """End the waits of callers, as far as this limiter can."""


class RateLimiter(PassiveRateLimiter, Protocol):
    """A rate limiter. Thread-safe.

    Source: k8s.io/client-go/util/flowcontrol, RateLimiter.
    """

    def accept(self) -> None:
        """Block until there is a token, and take it."""

    def wait(self, *, timeout: float | None = None, stop: threading.Event | None = None) -> None:
        """Block until there is a token, and take it, for at most `timeout` seconds.

        Raises NotAcceptedError immediately if the token comes after the timeout, and when `stop` is
        or gets set; the token is given back then.
        """


@uncopyable("it has locks; make one in each process")
class TokenBucketRateLimiter:
    """Lets `burst` requests through immediately and `qps` a second in the long run.

    Raises ValueError for numbers that would never let anything through.

    Source: k8s.io/client-go/util/flowcontrol, NewTokenBucketRateLimiter.
    """

    def __init__(self, qps: float, burst: int, *, clock: Clock = REAL_CLOCK) -> None:
        if not qps > 0 or burst < 1:
            raise ValueError(
                f"a limit of {qps} requests a second with a burst of {burst} lets nothing "
                "through: both must be positive"
            )
        self._qps = qps
        self._clock = clock
        self._bucket = TokenBucket(qps, burst)

    @property
    def qps(self) -> float:
        return self._qps

    def try_accept(self) -> bool:
        return self._bucket.take(self._clock.monotonic())

    def accept(self) -> None:
        now = self._clock.monotonic()
        self._clock.sleep(self._bucket.reserve(now).delay(now))

    def wait(self, *, timeout: float | None = None, stop: threading.Event | None = None) -> None:
        if stop is not None and stop.is_set():
            raise NotAcceptedError("stopped before asking the rate limiter")
        now = self._clock.monotonic()
        max_wait = math.inf if timeout is None else timeout
        reservation = self._bucket.reserve(now, max_wait=max_wait)
        if not reservation.ok:
            raise NotAcceptedError(
                f"the rate limiter ({self._qps} requests a second) would let this request "
                f"through only after its timeout of {timeout} s"
            )
        if self._clock.sleep(reservation.delay(now), stop):
            reservation.cancel(self._clock.monotonic())
            raise NotAcceptedError("stopped while waiting for the rate limiter")

    def stop(self) -> None:
        """Do nothing: waits end by themselves, or by their own stop event."""


class AlwaysRateLimiter:
    """Lets everything through immediately.

    Source: k8s.io/client-go/util/flowcontrol, NewFakeAlwaysRateLimiter.
    """

    @property
    def qps(self) -> float:
        return 1.0

    def try_accept(self) -> bool:
        return True

    def accept(self) -> None:
        """Return immediately."""

    def wait(self, *, timeout: float | None = None, stop: threading.Event | None = None) -> None:
        """Return immediately."""

    def stop(self) -> None:
        """Do nothing."""


@uncopyable("it has locks; make one in each process")
class NeverRateLimiter:
    """Lets nothing through; `accept` blocks until `stop` is called.

    Source: k8s.io/client-go/util/flowcontrol, NewFakeNeverRateLimiter.
    """

    def __init__(self) -> None:
        self._stopped = threading.Event()

    @property
    def qps(self) -> float:
        return 1.0

    def try_accept(self) -> bool:
        return False

    def accept(self) -> None:
        self._stopped.wait()

    def wait(
        self,
        *,
        timeout: float | None = None,
        stop: threading.Event | None = None,
    ) -> None:
        raise NotAcceptedError("this rate limiter lets nothing through")

    def stop(self) -> None:
        self._stopped.set()
