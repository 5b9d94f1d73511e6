"""The arithmetic of a token bucket.

Promises: a bucket starts full, refills continuously and never holds more than its burst; a refusal
changes nothing; reservations may take future tokens, which spaces callers evenly. Thread-safe.

Every call says when it happens, in seconds of one clock; a time before that of an earlier call
counts as the earlier one's. Source: golang.org/x/time/rate, `Limiter`, which also sleeps.
"""

from __future__ import annotations

import math
import threading

from clientgo.util.clock import nanoseconds
from clientgo.util.copies import uncopyable
from clientgo.util.process import renew_in_child

_NEVER_NS = nanoseconds(math.inf)


@uncopyable("it has locks; make one in each process")
class TokenBucket:
    """`burst` tokens, refilled at `qps` tokens a second (infinity: no limit).

    Source: golang.org/x/time/rate, Limiter.
    """

    __slots__ = ("__weakref__", "_burst", "_last_due_ns", "_last_ns", "_lock", "_qps", "_tokens")

    def __init__(self, qps: float, burst: int) -> None:
        self._renew()
        renew_in_child(self, renew=TokenBucket._renew)
        self._qps = qps
        self._burst = burst
        self._tokens = float(burst)
        self._last_ns = -_NEVER_NS
        self._last_due_ns = -_NEVER_NS

    def _renew(self) -> None:
        self._lock = threading.RLock()  # a signal handler may ask while it interrupts a call

    def take(self, at: float, count: int = 1) -> bool:
        """Take `count` tokens if they are there at the instant `at`; else leave all as it is."""
        return self.reserve(at, count, max_wait=0.0).ok

    def reserve(self, at: float, count: int = 1, *, max_wait: float = math.inf) -> Reservation:
        """Take `count` tokens, of the future if need be.

        The reservation is not ok, and nothing is taken, if there can never be so many together or
        if they are more than `max_wait` seconds away.
        """
        at_ns = nanoseconds(at)
        with self._lock:
            if self._qps == math.inf:
                return Reservation(self, self._qps, count, at_ns)
            tokens = self._tokens_locked(at_ns) - count
            wait_ns = _refill_ns(-tokens, self._qps) if tokens < 0 else 0
            if count > self._burst or wait_ns > nanoseconds(max_wait):
                return Reservation(self, self._qps, count, None)
            self._last_ns = at_ns
            self._tokens = tokens
            self._last_due_ns = at_ns + wait_ns
            return Reservation(self, self._qps, count, self._last_due_ns)

    def tokens(self, at: float) -> float:
        """Return how many tokens there are at the instant `at`; a debt is negative."""
        with self._lock:
            return self._tokens_locked(nanoseconds(at))

    def set_qps(self, at: float, qps: float) -> None:
        """Refill at another rate from the instant `at` on."""
        with self._lock:
            self._settle_locked(nanoseconds(at))
            self._qps = qps

    def set_burst(self, at: float, burst: int) -> None:
        """Hold at most `burst` tokens from the instant `at` on."""
        with self._lock:
            self._settle_locked(nanoseconds(at))
            self._burst = burst

    def _tokens_locked(self, at_ns: int) -> float:
        elapsed_ns = max(at_ns - self._last_ns, 0)
        refill = elapsed_ns / 1e9 * self._qps if self._qps > 0 else 0.0
        return min(self._tokens + refill, float(self._burst))

    def _settle_locked(self, at_ns: int) -> None:
        self._tokens = self._tokens_locked(at_ns)
        self._last_ns = at_ns

    def _give_back(self, reservation: Reservation, at_ns: int) -> None:
        """Undo a reservation, except for what later ones have already built upon."""
        with self._lock:
            due_ns, count = reservation._due_ns, reservation._count
            if due_ns is None or due_ns < at_ns or count == 0 or self._qps == math.inf:
                return
            built_upon = (self._last_due_ns - due_ns) / 1e9 * reservation._qps
            restored = count - built_upon
            if restored <= 0:
                return
            self._tokens = min(self._tokens_locked(at_ns) + restored, float(self._burst))
            self._last_ns = at_ns
            if due_ns == self._last_due_ns:
                previous_ns = due_ns - _refill_ns(count, reservation._qps)
                if previous_ns >= at_ns:
                    self._last_due_ns = previous_ns


@uncopyable("it has locks; make one in each process")
class Reservation:
    """Tokens that were taken for an instant that may still come; made by `TokenBucket.reserve`.

    Source: golang.org/x/time/rate, Reservation.
    """

    __slots__ = ("_bucket", "_count", "_due_ns", "_qps")

    def __init__(self, bucket: TokenBucket, qps: float, count: int, due_ns: int | None) -> None:
        self._bucket = bucket
        self._qps = qps
        self._count = count
        self._due_ns = due_ns

    @property
    def ok(self) -> bool:
        """Return True if the tokens were granted at all."""
        return self._due_ns is not None

    def delay(self, at: float) -> float:
        """Return how long to wait from the instant `at` before acting; infinity if not ok."""
        if self._due_ns is None:
            return math.inf
        return max(self._due_ns - nanoseconds(at), 0) / 1e9

    def cancel(self, at: float) -> None:
        """Give back, at the instant `at`, the tokens that no later reservation relies on."""
        self._bucket._give_back(self, nanoseconds(at))


def _refill_ns(tokens: float, qps: float) -> int:
    if qps <= 0:
        return _NEVER_NS
    return int(min(tokens / qps * 1e9, _NEVER_NS))
