"""The work queue: from event handlers to workers, by key.

::

    event handler ──► key ──► [ Queue: ordered, no duplicates, one worker for each key ] ──► worker
                                 ▲                                                            │
                                 └──── add_rate_limited: later, and later each time ◄── failed ┘

Three layers, each adding one thing: `Queue` (add, get, done), `DelayingQueue` (add_after),
`RateLimitingQueue` (add_rate_limited, forget), which is the one that controllers use.
`PriorityQueue` is a RateLimitingQueue with another order. How long a failed key waits is decided
by a `RateLimiter`. `run_workers` is the loop of a worker, ready-made.

A handler only ever adds keys and a worker reads the state that a key names, so it does not matter
how many changes one hand-out stands for.
"""

from clientgo.workqueue.client_go.parallelize import parallelize_until
from clientgo.workqueue.delaying import DelayingQueue, DelayingQueueStatistics
from clientgo.workqueue.explanation import QueueStatistics
from clientgo.workqueue.orderings.due_heap import DueHeap
from clientgo.workqueue.orderings.ordering import FIFO, Ordering
from clientgo.workqueue.orderings.priority_ordering import DEFAULT_PRIORITY
from clientgo.workqueue.priority import LOW_PRIORITY, PriorityQueue
from clientgo.workqueue.queue import Queue
from clientgo.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from clientgo.workqueue.rate_limiting import RateLimitingQueue
from clientgo.workqueue.workers import run_workers

__all__ = [
    "Queue",
    "DelayingQueue",
    "RateLimitingQueue",
    "PriorityQueue",
    "DEFAULT_PRIORITY",
    "LOW_PRIORITY",
    "Ordering",
    "FIFO",
    "QueueStatistics",
    "DelayingQueueStatistics",
    "RateLimiter",
    "ItemExponentialFailureRateLimiter",
    "ItemFastSlowRateLimiter",
    "BucketRateLimiter",
    "MaxOfRateLimiter",
    "WithMaxWaitRateLimiter",
    "default_controller_rate_limiter",
    "default_item_based_rate_limiter",
    "DueHeap",
    "parallelize_until",
    "run_workers",
]
