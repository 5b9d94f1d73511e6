"""When to try an item again.

Promises the delays of client-go's limiters for the same numbers. Every limiter is thread-safe and
never blocks.

Differs from client-go (util/workqueue, default_rate_limiters.go): failures are forgotten
`forget_after` seconds after the last one, so that deleted items do not accumulate; with `reuse`, a
`BucketRateLimiter` gives an item its pending reservation again.
"""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Hashable
from typing import Any, Final, Generic, Protocol, TypeVar

from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.flowcontrol import TokenBucket

T_contra = TypeVar("T_contra", bound=Hashable, contravariant=True)
T = TypeVar("T", bound=Hashable)

_HOUR: Final = 3600.0


class RateLimiter(Protocol[T_contra]):
    """Decides how long an item that failed has to wait.

    Source: k8s.io/client-go/util/workqueue, TypedRateLimiter.
    """

    def when(self, item: T_contra, /) -> float:
        """Count a failure of `item` and return how many seconds it should wait."""

    def forget(self, item: T_contra, /) -> None:
        """Forget the failures of `item`: it succeeded, or will not be tried again."""

    def num_requeues(self, item: T_contra, /) -> int:
        """Return how many failures of `item` are counted."""


@uncopyable("it has locks; make one in each process")
class ItemExponentialFailureRateLimiter(Generic[T]):
    """Waits `base_delay` after the first failure of an item and twice as long after each further
    one, up to `max_delay`.

    Failures are forgotten `forget_after` seconds after the last one; by default twice the maximum
    delay, but at least an hour. Infinity keeps them until `forget`. Raises ValueError for a
    negative delay.

    Source: k8s.io/client-go/util/workqueue, TypedItemExponentialFailureRateLimiter.
    """

    def __init__(
        self,
        base_delay: float,
        max_delay: float,
        *,
        forget_after: float | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        _check_delays(base_delay=base_delay, max_delay=max_delay)
        self._base_delay = base_delay
        self._max_delay = max_delay
        self._failures = _Failures[T](
            max(2 * max_delay, _HOUR) if forget_after is None else forget_after, clock
        )

    def when(self, item: T) -> float:
        earlier = self._failures.count(item) - 1
        if earlier >= _MAX_DOUBLINGS:
            return self._max_delay
        delay = self._base_delay * 2.0**earlier
        return delay if delay < self._max_delay else self._max_delay

    def forget(self, item: T) -> None:
        self._failures.forget(item)

    def num_requeues(self, item: T) -> int:
        return self._failures.of(item)

    def __len__(self) -> int:
        """Return how many items have failures."""
        return len(self._failures)


_MAX_DOUBLINGS: Final = 1000
"""Enough to take the shortest delay past any maximum; 2.0**1024 would overflow."""


@uncopyable("it has locks; make one in each process")
class ItemFastSlowRateLimiter(Generic[T]):
    """Waits `fast_delay` after each of the first failures of an item, then `slow_delay`.

    Failures are forgotten `forget_after` seconds after the last one; by default twice the slow
    delay, but at least an hour. Raises ValueError for a negative delay.

    Source: k8s.io/client-go/util/workqueue, TypedItemFastSlowRateLimiter.
    """

    def __init__(
        self,
        fast_delay: float,
        slow_delay: float,
        max_fast_attempts: int,
        *,
        forget_after: float | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        _check_delays(fast_delay=fast_delay, slow_delay=slow_delay)
        self._fast_delay = fast_delay
        self._slow_delay = slow_delay
        self._max_fast_attempts = max_fast_attempts
        self._failures = _Failures[T](
            max(2 * slow_delay, _HOUR) if forget_after is None else forget_after, clock
        )

    def when(self, item: T) -> float:
        if self._failures.count(item) <= self._max_fast_attempts:
            return self._fast_delay
        return self._slow_delay

    def forget(self, item: T) -> None:
        self._failures.forget(item)

    def num_requeues(self, item: T) -> int:
        return self._failures.of(item)

    def __len__(self) -> int:
        """Return how many items have failures."""
        return len(self._failures)


@uncopyable("it has locks; make one in each process")
class BucketRateLimiter(Generic[T]):
    """Let `burst` items through immediately, and `qps` a second in the long run.

    Items are not told apart: each call takes a token, if need be a future one, and waits for it.

    With `reuse`, an item whose token lies in the future gets that one again instead of a further
    one. Raises ValueError for numbers that would never let anything through.

    Source: k8s.io/client-go/util/workqueue, TypedBucketRateLimiter.
    """

    def __init__(
        self, qps: float, burst: int, *, reuse: bool = False, clock: Clock = REAL_CLOCK
    ) -> None:
        if not qps > 0 or burst < 1:
            raise ValueError(
                f"a bucket of {burst} tokens, refilled at {qps} a second, never grants any: "
                "both must be positive"
            )
        self._bucket = TokenBucket(qps, burst)
        self._clock = clock
        self._lock = threading.RLock()  # a signal handler may add what fails
        self._reserved: OrderedDict[T, float] | None = OrderedDict() if reuse else None

    def when(self, item: T) -> float:
        now = self._clock.monotonic()
        if self._reserved is None:
            return self._bucket.reserve(now).delay(now)
        with self._lock:
            return self._reuse_locked(self._reserved, item, now)

    def forget(self, item: T) -> None:
        """Do nothing: tokens are not counted by item."""

    def num_requeues(self, item: T) -> int:
        """Return 0: tokens are not counted by item."""
        return 0

    def _reuse_locked(self, reserved: OrderedDict[T, float], item: T, now: float) -> float:
        # Tokens are granted in order of time, so those that have come are at the front.
        while reserved and next(iter(reserved.values())) <= now:
            reserved.popitem(last=False)
        if not reserved:
            reserved.clear()  # an emptied dict keeps the table of its largest size
        if item not in reserved:
            delay = self._bucket.reserve(now).delay(now)
            if delay <= 0:
                return delay
            reserved[item] = now + delay
        return reserved[item] - now


@uncopyable("it has locks; make one in each process")
class MaxOfRateLimiter(Generic[T]):
    """Asks every one of its limiters and takes the longest delay; 0 if it has none.

    Source: k8s.io/client-go/util/workqueue, TypedMaxOfRateLimiter.
    """

    def __init__(self, *limiters: RateLimiter[T]) -> None:
        self._limiters = limiters

    def when(self, item: T) -> float:
        return max([limiter.when(item) for limiter in self._limiters], default=0.0)

    def forget(self, item: T) -> None:
        for limiter in self._limiters:
            limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return max((limiter.num_requeues(item) for limiter in self._limiters), default=0)


@uncopyable("it has locks; make one in each process")
class WithMaxWaitRateLimiter(Generic[T]):
    """Asks another limiter, but never waits longer than `max_delay`.

    Source: k8s.io/client-go/util/workqueue, TypedWithMaxWaitRateLimiter.
    """

    def __init__(self, limiter: RateLimiter[T], max_delay: float) -> None:
        self._limiter = limiter
        self._max_delay = max_delay

    def when(self, item: T) -> float:
        return min(self._limiter.when(item), self._max_delay)

    def forget(self, item: T) -> None:
        self._limiter.forget(item)

    def num_requeues(self, item: T) -> int:
        return self._limiter.num_requeues(item)


def default_item_based_rate_limiter(*, clock: Clock = REAL_CLOCK) -> RateLimiter[Any]:
    """Return a limiter that only looks at the item: 1 ms, doubling up to 1000 s.

    Source: k8s.io/client-go/util/workqueue, DefaultTypedItemBasedRateLimiter.
    """
    return ItemExponentialFailureRateLimiter(0.001, 1000.0, clock=clock)


def default_controller_rate_limiter(
    *,
    max_delay: float = 1000.0,
    qps: float = 10.0,
    burst: int = 100,
    reuse: bool = False,
    clock: Clock = REAL_CLOCK,
) -> RateLimiter[Any]:
    """Return the usual limiter of a controller: 5 ms, doubling up to `max_delay`, and no more
    than `qps` retries a second over all items, with a burst.

    The overall bucket keeps a controller whose every item fails from overloading the server. As in
    client-go each failure takes one of its tokens, so that a single item which is added and fails
    again and again delays all others; with `reuse`, as a `RateLimitingQueue` has it by default, an
    item that waits for its token takes no further one.

    Source: k8s.io/client-go/util/workqueue, DefaultTypedControllerRateLimiter.
    """
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(0.005, max_delay, clock=clock),
        BucketRateLimiter(qps, burst, reuse=reuse, clock=clock),
    )


def _check_delays(**delays: float) -> None:
    """A negative delay, or NaN, would try again at once and for ever."""
    for name, delay in delays.items():
        if not delay >= 0:
            raise ValueError(f"{name} is {delay}: a delay is a number of seconds, 0 or more")


class _Failures(Generic[T]):
    """Failure counts that expire."""

    __slots__ = ("_clock", "_counts", "_expiry", "_expiry_begins", "_lock")

    def __init__(self, expiry: float, clock: Clock) -> None:
        self._lock = threading.RLock()  # a signal handler may add what fails
        self._clock = clock
        self._expiry = expiry
        self._expiry_begins = -math.inf
        """No count expires before this instant."""
        self._counts: OrderedDict[T, tuple[int, float]] = OrderedDict()
        """How many failures, and when the last one was; the items that failed last at the end."""

    def count(self, item: T) -> int:
        """Count a failure and return how many there are now."""
        now = self._clock.monotonic()
        with self._lock:
            if now >= self._expiry_begins:
                self._expire_locked(now)
            count = self._counts.get(item, _NO_FAILURES)[0] + 1
            self._counts[item] = (count, now)
            self._counts.move_to_end(item)
            return count

    def forget(self, item: T) -> None:
        if item not in self._counts:  # most had not failed; a lookup in a dict needs no lock
            return
        with self._lock:
            if self._counts.pop(item, None) is not None and not self._counts:
                self._counts.clear()  # an emptied dict keeps the table of its largest size

    def of(self, item: T) -> int:
        """Return how many failures of `item` are counted."""
        return self._counts.get(item, _NO_FAILURES)[0]

    def __len__(self) -> int:
        return len(self._counts)

    def _expire_locked(self, now: float) -> None:
        while self._counts and now - next(iter(self._counts.values()))[1] > self._expiry:
            self._counts.popitem(last=False)
        if not self._counts:
            self._counts.clear()
        oldest = next(iter(self._counts.values()))[1] if self._counts else now
        self._expiry_begins = oldest + self._expiry


_NO_FAILURES: Final = (0, 0.0)
