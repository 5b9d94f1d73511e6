"""A work queue that spaces out retries.

`add_rate_limited` adds an item after the delay that the limiter gives it; `forget` resets the
limiter for an item. It does not remove the item from the queue, nor replace `done`.

Differs from client-go (util/workqueue, `rateLimitingType`): there is a default limiter, in which
one item that fails all the time does not use up the retries of the others.
"""

from __future__ import annotations

from dataclasses import replace

from clientgo.observe.metrics import MetricsProvider
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.workqueue.delaying import DelayingQueue
from clientgo.workqueue.explanation import ItemExplanation
from clientgo.workqueue.orderings.ordering import Ordering, T
from clientgo.workqueue.rate_limiters import RateLimiter, default_controller_rate_limiter


class RateLimitingQueue(DelayingQueue[T]):
    """A `DelayingQueue` with `add_rate_limited`: the queue of a controller::

        item, shutdown = queue.get()
        ...
        try:
            sync(item)
        except Exception:
            queue.add_rate_limited(item)     # again, later and later
        else:
            queue.forget(item)               # the next failure starts with a short delay
        finally:
            queue.done(item)

    Source: k8s.io/client-go/util/workqueue, TypedRateLimitingInterface.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter[T] | None = None,
        *,
        name: str = "",
        ordering: Ordering[T] | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        add_cancels_delay: bool = False,
    ) -> None:
        super().__init__(
            name=name,
            ordering=ordering,
            metrics=metrics,
            clock=clock,
            add_cancels_delay=add_cancels_delay,
        )
        self._rate_limiter: RateLimiter[T] = (
            default_controller_rate_limiter(reuse=True, clock=clock)
            if rate_limiter is None
            else rate_limiter
        )

    def add_rate_limited(self, item: T) -> None:
        """Add `item` after the limiter's delay. Never blocks.

        May be called while the item is processed: if the delay ends before `done`, it is listed
        again by `done`. The limiter counts a failure even if the queue is shutting down.
        """
        self.add_after(item, self._back_off(item))

    def forget(self, item: T) -> None:
        """Tell the limiter that `item` needs no retry, so that its failures are forgotten."""
        self._rate_limiter.forget(item)
        if self._observed:
            self._observer.forgotten(item)

    def explain(self, item: T) -> ItemExplanation:
        """Return what the queue and its limiter know of an item right now."""
        return replace(super().explain(item), requeues=self.num_requeues(item))

    def num_requeues(self, item: T) -> int:
        """Return how often `item` was added with a rate limit since it was last forgotten."""
        return self._rate_limiter.num_requeues(item)

    def _back_off(self, item: T) -> float:
        """Count a failure of `item`; return its delay."""
        delay = self._rate_limiter.when(item)
        if self._observed:
            self._observer.failed(item, delay, self._rate_limiter.num_requeues)
        return delay
