"""Names, labels and buckets of the metrics, as Kubernetes components export them.

Promises what component-base registers for client-go, so that dashboards and alerts work.

Differs from client-go: reflector metrics (removed there in 1.14) are labelled by resource and
removed with their reflector; `WORKQUEUE_DELAYED_ITEMS`, `WORKQUEUE_FLOW_DEPTH`,
`WORKQUEUE_FLOW_QUEUE_DURATION` and `THREAD_FAILURES` are ours.

Source: k8s.io/component-base/metrics/prometheus.
"""

from __future__ import annotations

from typing import Final

from clientgo.observe.metrics.provider import Metric


def _exponential(start: float, factor: float, count: int) -> tuple[float, ...]:
    """Multiply step by step, as Go does, so that `le` labels have the same text."""
    bounds = [start]
    while len(bounds) < count:
        bounds.append(bounds[-1] * factor)
    return tuple(bounds)


_QUEUE: Final = ("name",)
_QUEUE_SECONDS: Final = _exponential(10e-9, 10, 10)

WORKQUEUE_DEPTH: Final = Metric(
    "workqueue_depth",
    "Adds that no worker has taken yet, including those of items being processed",
    _QUEUE,
)
WORKQUEUE_ADDS: Final = Metric("workqueue_adds_total", "Adds that were accepted", _QUEUE)
WORKQUEUE_QUEUE_DURATION: Final = Metric(
    "workqueue_queue_duration_seconds",
    "How long an item waited from its add until a worker took it",
    _QUEUE,
    _QUEUE_SECONDS,
)
WORKQUEUE_WORK_DURATION: Final = Metric(
    "workqueue_work_duration_seconds",
    "How long a worker held an item",
    _QUEUE,
    _QUEUE_SECONDS,
)
WORKQUEUE_UNFINISHED_WORK: Final = Metric(
    "workqueue_unfinished_work_seconds",
    "Sum of the ages of all items being processed; steady growth means stuck workers",
    _QUEUE,
)
WORKQUEUE_LONGEST_RUNNING: Final = Metric(
    "workqueue_longest_running_processor_seconds",
    "Age of the item that has been processed for longest",
    _QUEUE,
)
WORKQUEUE_RETRIES: Final = Metric("workqueue_retries_total", "Adds with a delay", _QUEUE)
WORKQUEUE_DELAYED_ITEMS: Final = Metric(
    "workqueue_delayed_items", "Items whose delay has not passed yet", _QUEUE
)
WORKQUEUE_FLOW_DEPTH: Final = Metric(
    "workqueue_flow_depth", "Adds of a flow that no worker has taken yet", ("name", "flow")
)
WORKQUEUE_FLOW_QUEUE_DURATION: Final = Metric(
    "workqueue_flow_queue_duration_seconds",
    "How long an item of a flow waited from its add until a worker took it",
    ("name", "flow"),
    _QUEUE_SECONDS,
)

STALE_SYNC_SKIPS: Final = Metric(
    "stale_sync_skips_total",
    "Syncs that were put off because the cache of a resource was older than what was written",
    ("resource",),
)

THREAD_FAILURES: Final = Metric(
    "clientgo_thread_failures_total",
    "Threads of the library that ended by an exception",
    ("thread",),
)

LEADER_ELECTION_MASTER_STATUS: Final = Metric(
    "leader_election_master_status", "1 while this process leads, 0 while it stands by", ("name",)
)
LEADER_ELECTION_SLOWPATH: Final = Metric(
    "leader_election_slowpath_total", "Renewals that had to read the lease first", ("name",)
)

_HOST: Final = ("verb", "host")
_REST_SECONDS: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
_SIZES: Final = (
    64.0, 256.0, 512.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0, 16777216.0
)  # fmt: skip

REST_CLIENT_REQUESTS: Final = Metric(
    "rest_client_requests_total",
    "Requests by status code (or <error>), method and host",
    ("code", "method", "host"),
)
REST_CLIENT_REQUEST_DURATION: Final = Metric(
    "rest_client_request_duration_seconds", "Time until the answer", _HOST, _REST_SECONDS
)
REST_CLIENT_RATE_LIMITER_DURATION: Final = Metric(
    "rest_client_rate_limiter_duration_seconds",
    "Time that requests waited for the client's own rate limiter",
    _HOST,
    _REST_SECONDS,
)
REST_CLIENT_REQUEST_SIZE: Final = Metric(
    "rest_client_request_size_bytes", "Size of request bodies", _HOST, _SIZES
)
REST_CLIENT_RESPONSE_SIZE: Final = Metric(
    "rest_client_response_size_bytes", "Size of response bodies", _HOST, _SIZES
)
REST_CLIENT_REQUEST_RETRIES: Final = Metric(
    "rest_client_request_retries_total",
    "Retries by status code, verb and host",
    ("code", "verb", "host"),
)

_INFORMER: Final = ("name", "group", "version", "resource")

INFORMER_QUEUED_ITEMS: Final = Metric(
    "informer_queued_items", "Items in the informer's FIFO", _INFORMER
)
INFORMER_PROCESSING_LATENCY: Final = Metric(
    "informer_processing_latency_seconds",
    "Time from an item's entry into the FIFO until it was handled",
    _INFORMER,
    (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
INFORMER_STORE_RESOURCE_VERSION: Final = Metric(
    "informer_store_resource_version",
    "Last 15 digits of the resource version that the store has reached",
    _INFORMER,
)

_REFLECTOR: Final = ("name",)

REFLECTOR_LISTS: Final = Metric("reflector_lists_total", "Lists", _REFLECTOR)
REFLECTOR_LIST_DURATION: Final = Metric(
    "reflector_list_duration_seconds", "Time that a list took", _REFLECTOR
)
REFLECTOR_ITEMS_PER_LIST: Final = Metric(
    "reflector_items_per_list", "Items that a list returned", _REFLECTOR
)
REFLECTOR_WATCHES: Final = Metric("reflector_watches_total", "Watches", _REFLECTOR)
REFLECTOR_SHORT_WATCHES: Final = Metric(
    "reflector_short_watches_total", "Watches that ended immediately, without an event", _REFLECTOR
)
REFLECTOR_WATCH_DURATION: Final = Metric(
    "reflector_watch_duration_seconds", "Time that a watch lasted", _REFLECTOR
)
REFLECTOR_ITEMS_PER_WATCH: Final = Metric(
    "reflector_items_per_watch", "Events that a watch brought", _REFLECTOR
)
REFLECTOR_LAST_RESOURCE_VERSION: Final = Metric(
    "reflector_last_resource_version", "Last resource version that was seen", _REFLECTOR
)
