"""A work queue whose items have priorities.

Promises: the ready item with the highest priority comes out first. Waiting counts as priority
(`ageing`), so every item comes out in the end. Negative priorities are background work: however
long and however much of it has waited, only one turn in ten is given to it while other items are
ready. Items of one priority are first in, first out. An item keeps its priority while the queue
knows it, also when it is retried. With `fair_by` the items of one namespace, tenant or owner do not
delay those of another: `orderings/fair_ordering.py`.

client-go has no such queue; controller-runtime's (pkg/controller/priorityqueue) has no ageing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from clientgo.observe.metrics import MetricsProvider
from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.workqueue.delaying import check_delay
from clientgo.workqueue.orderings.fair_ordering import FairOrdering
from clientgo.workqueue.orderings.ordering import NOTHING, T
from clientgo.workqueue.orderings.priority_ordering import DEFAULT_PRIORITY, PriorityOrdering
from clientgo.workqueue.queue import Queue
from clientgo.workqueue.rate_limiters import RateLimiter
from clientgo.workqueue.rate_limiting import RateLimitingQueue

LOW_PRIORITY: Final = -100
"""For work that can wait, such as adds from an initial list or a resync: with the default ageing,
live changes overtake it for five minutes, and nine times in ten after that."""

_DEFAULT_AGEING: Final = 3.0


class PriorityQueue(RateLimitingQueue[T]):
    """A `RateLimitingQueue` that hands out items of higher priority first.

    `ageing` is how many seconds of waiting count as much as one level of priority. Priorities are
    any integers. Raises ValueError unless `ageing` is positive.

    With `fair_by`, a function from an item to the name of its flow, flows take turns::

        PriorityQueue(fair_by=lambda key: key.namespace)

    10,000 items of one namespace then delay an item of another by one. The function is called
    without the queue's lock, by whatever adds an item; an item keeps its flow while the queue knows
    it. What the function raises, and TypeError for a flow that is no text, is raised to the caller,
    and nothing is added.
    """

    def __init__(
        self,
        rate_limiter: RateLimiter[T] | None = None,
        *,
        ageing: float = _DEFAULT_AGEING,
        fair_by: Callable[[T], str] | None = None,
        name: str = "",
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        add_cancels_delay: bool = False,
    ) -> None:
        if not ageing > 0:
            raise ValueError(
                f"ageing of {ageing} s: without a positive value items of low priority would starve"
            )
        self._fair_by = fair_by
        self._by_flow = None if fair_by is None else FairOrdering[T](ageing, clock)
        self._by_priority = (
            PriorityOrdering[T](ageing, clock) if self._by_flow is None else self._by_flow
        )
        super().__init__(
            rate_limiter,
            name=name,
            ordering=self._by_priority,
            metrics=metrics,
            clock=clock,
            add_cancels_delay=add_cancels_delay,
        )
        if self._by_flow is not None:
            self._is_plain = False
            self._observer.show_flows(self._by_flow.flow)

    def add(self, item: T, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Note that `item` needs work, with at least this priority. Never blocks."""
        if priority == DEFAULT_PRIORITY and self._fair_by is None:
            Queue.add(self, item)
        else:
            self._add_by(partial(self._add_at_priority_locked, priority), item)

    def add_after(self, item: T, delay: float, *, priority: int | None = None) -> None:
        """Add `item` when `delay` seconds have passed, with at least this priority, or its own.

        Never blocks. Raises ValueError for NaN.
        """
        check_delay(item, delay)
        self._add_by(partial(self._add_after_at_priority_locked, delay, priority), item)

    def add_rate_limited(self, item: T, *, priority: int | None = None) -> None:
        """Add `item` after the limiter's delay, with at least this priority, or its own."""
        self.add_after(item, self._back_off(item), priority=priority)

    def schedule(self, item: T, due: float, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Add `item` at an instant of the clock's `monotonic()`, in place of the delay that it has.

        The priority replaces the item's own. An item that is ready, or that was added since it was
        taken, needs no instant: it stays so, and its priority can only rise. Not counted as a
        retry. Never blocks.
        """
        self._add_by(partial(self._schedule_locked, due, nanoseconds(due), priority), item)

    def unschedule(self, item: T) -> None:
        """Drop the delay of `item`, if it has one; what is ready stays ready. Never blocks."""
        self._do_locked(self._unschedule_locked, item, or_leave=True)

    def depths(self) -> dict[int, int]:
        """Return how many items are ready, by priority."""
        return self._read(self._by_priority.depths)

    def flow_depths(self) -> dict[str, int]:
        """Return how many items are ready, by flow; nothing unless the queue has `fair_by`."""
        return {} if self._by_flow is None else self._read(self._by_flow.flow_depths)

    def _explained_locked(self, item: T) -> dict[str, Any]:
        explained = super()._explained_locked(item)
        if self._by_flow is not None and item in self._by_flow.flows:
            flow = self._by_flow.flow(item)
            ready_in_flow = self._by_flow.flow_depths().get(flow, 0)
            explained |= {"flow": flow, "ready_in_flow": ready_in_flow}
        return explained

    def _add_by(self, operation: Callable[[T], None], item: T) -> None:
        """Add an item by an operation, after its flow was found."""
        if self._fair_by is not None:
            flow = self._fair_by(item)
            if not isinstance(flow, str):
                raise TypeError(
                    f"the flow of {item!r} is {flow!r}; fair_by must return a name, as a namespace"
                )
            operation = partial(self._add_in_flow_locked, flow, operation)
        self._do_locked(operation, item, or_leave=True)

    def _add_in_flow_locked(self, flow: str, operation: Callable[[T], None], item: T) -> None:
        if self._by_flow is not None and not (self._shutting_down or self._knows_locked(item)):
            self._by_flow.flows[item] = flow
        operation(item)

    def _add_locked(self, item: T) -> None:
        if self._is_plain:
            self._note_locked(item)
        else:
            self._add_at_priority_locked(DEFAULT_PRIORITY, item)

    def _add_at_priority_locked(self, priority: int, item: T) -> None:
        self._raise_priority_locked(item, priority)
        self._note_locked(item)

    def _add_after_at_priority_locked(self, delay: float, priority: int | None, item: T) -> None:
        if priority is not None:
            self._raise_priority_locked(item, priority)
        self._add_after_locked(delay, item)

    def _schedule_locked(self, due: float, due_ns: int, priority: int, item: T) -> None:
        if self._shutting_down:
            return
        if (
            due_ns <= self._now_ns()
            or self._needs_work_locked(item)
            or (self._waiter is None and not self._start_waiter_locked(item))
        ):
            self._cancel_delay_locked(item)
            self._add_at_priority_locked(priority, item)
            return
        self._cancel_delay_locked(item)
        self._set_priority_locked(item, priority)
        self._observer.note("queue.add_after", item, delay=due - self._clock.monotonic())
        self._delay_locked(item, due_ns)

    def _unschedule_locked(self, item: T) -> None:
        self._cancel_delay_locked(item)
        self._forget_unknown_locked(item)

    def _done_locked(self, item: T) -> None:
        super()._done_locked(item)
        self._forget_unknown_locked(item)

    def _rest_locked(self) -> None:
        if not self._by_priority:
            self._by_priority.release()
        super()._rest_locked()

    def _repair_locked(self, taken: Any = NOTHING) -> None:
        self._by_priority.repair()
        super()._repair_locked(taken)

    def _raise_priority_locked(self, item: T, priority: int) -> None:
        if self._shutting_down:
            return
        before = self._by_priority.priorities.of(item)
        if priority > before or (priority < before and not self._knows_locked(item)):
            self._set_priority_locked(item, priority)

    def _set_priority_locked(self, item: T, priority: int) -> None:
        self._is_plain = False
        self._by_priority.set_priority(item, priority)

    def _forget_unknown_locked(self, item: T) -> None:
        """Forget the priority of an item that the queue does not know any more."""
        if not self._knows_locked(item):
            self._by_priority.forget(item)
            self._is_plain = not (
                self._by_priority.priorities
                or self._by_flow is not None
                or self._observed
                or self._shutting_down
            )

    def _knows_locked(self, item: T) -> bool:
        return item in self._states or item in self._delays
