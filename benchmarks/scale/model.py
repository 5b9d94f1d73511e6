"""The cost of an informer, its handlers and its workers, from measured constants.

All is added up: what an object costs once, what an event costs, what time costs. A process of a
sharded controller pays for all objects and events, and for the syncs of its own part.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

WATCH_SECONDS = 450.0
"""A watch is opened again after 5 to 10 minutes."""

PAGE = 500
LEASE_REQUESTS = 1 / 2 + 1 / 5
"""A second, for each process: Leases are read every 2 s, its own is renewed every 5 s."""

LEASE_BYTES = 600
"""Of one Lease, as JSON."""


@dataclass(frozen=True)
class Constants:
    """Seconds of processor time and bytes, as measured on one machine.

    ``_kb``: for each 1,000 bytes of an object's JSON, beyond what any object costs.
    """

    list: float
    list_kb: float
    event: float
    event_kb: float
    wakeup: float
    """More for an event that arrives alone: threads wake up for it."""
    index: float
    """Of one index, for one write."""
    handler: float
    """One call of a handler that does nothing."""
    queue: float
    """A key through the queue to one of four workers, which looks its object up."""
    body: float
    """The first read of a body."""
    body_kb: float
    relist: float
    relist_kb: float
    resync: float
    heap: float
    """Bytes that are kept of an object, beyond its JSON."""
    heap_kb: float
    heap_body: float
    """More when the body was read."""
    heap_body_kb: float
    heap_index: float
    event_tenfold: float = 0.0
    """More for an event when there are ten times as many objects: less of what it touches is in
    the processor's caches. A relist touches the objects in the order of their memory."""
    index_tenfold: float = 0.0
    """The same, of one index."""
    objects: int = 10_000
    """With so many objects all else was measured."""


@dataclass(frozen=True)
class Load:
    """What an informer has to do. ``size`` is the JSON of one object in bytes."""

    objects: int
    size: float = 850
    events_per_second: float = 0.0
    handlers: int = 1
    indexes: int = 1
    workers: int = 1
    processes: int = 1
    """Those that share the objects by shards."""
    resync: float = 0.0
    """Seconds between two resyncs; 0 for none."""
    relists_per_day: float = 0.0
    sync_cpu: float = 0.0
    """Seconds of processor time that your code takes for one sync."""
    sync_wait: float = 0.0
    """Seconds that it waits for requests."""


@dataclass(frozen=True)
class Cost:
    """What one process costs, unless it says all."""

    memory: float
    """Bytes of the cache, without the process itself."""
    first_list: float
    """Seconds of processor time until every object has been synced once."""
    cpu: float
    """Share of a core, from then on."""
    syncs_per_second: float
    """What the process can do at most, of the processor time that is left and of its workers."""
    requests_per_second: float
    """Of all processes, without those of your syncs."""
    bytes_per_second: float
    """That the API server sends to all processes."""
    first_list_requests: int
    first_list_bytes: float


def cost(load: Load, constants: Constants) -> Cost:
    """Return what ``load`` costs, with objects that change one at a time."""
    sync = sync_seconds(load, constants)
    changes = event_seconds(load, constants) + sync / load.processes
    alone = min(load.events_per_second, 1_000.0) * constants.wakeup
    cpu = load.events_per_second * changes + alone
    if load.resync:
        again = constants.resync + load.handlers * constants.handler + sync / load.processes
        cpu += load.objects * again / load.resync
    relist = relist_seconds(load, constants) + sync / load.processes
    cpu += load.relists_per_day / 86_400 * load.objects * relist
    left = max(1.0 - (cpu - load.events_per_second * sync / load.processes), 0.0)
    by_workers = load.workers / max(sync + load.sync_wait, 1e-9)
    leases = LEASE_REQUESTS if load.processes > 1 else 0.0
    lists = load.relists_per_day / 86_400
    pages = -(-load.objects // PAGE)
    lease_bytes = leases and (load.processes + 1) * LEASE_BYTES / 2
    sent = load.events_per_second * load.size + lists * load.objects * load.size + lease_bytes
    return Cost(
        memory=load.objects * bytes_per_object(load, constants),
        first_list=load.objects * (list_seconds(load, constants) + sync / load.processes),
        cpu=cpu,
        syncs_per_second=min(left / max(sync, 1e-9), by_workers),
        requests_per_second=load.processes * (1 / WATCH_SECONDS + leases + lists * pages),
        bytes_per_second=load.processes * sent,
        first_list_requests=load.processes * pages,
        first_list_bytes=load.processes * load.objects * load.size,
    )


def list_seconds(load: Load, constants: Constants) -> float:
    """Return what an object of the first list costs, until the handlers have returned."""
    read = constants.list + constants.list_kb * load.size / 1e3
    return read + load.indexes * constants.index + load.handlers * constants.handler


def event_seconds(load: Load, constants: Constants) -> float:
    """Return what one of many events costs, until the handlers have returned."""
    read = constants.event + constants.event_kb * load.size / 1e3 + _missed(load, constants)
    return read + load.indexes * constants.index + load.handlers * constants.handler


def relist_seconds(load: Load, constants: Constants) -> float:
    """Return what an object costs when the informer lists again."""
    read = constants.relist + constants.relist_kb * load.size / 1e3
    return read + load.indexes * constants.index + load.handlers * constants.handler


def _missed(load: Load, constants: Constants) -> float:
    """Return what replacing one of many objects costs more, because caches miss."""
    tenfolds = math.log10(max(load.objects / constants.objects, 1.0))
    return tenfolds * (constants.event_tenfold + load.indexes * constants.index_tenfold)


def sync_seconds(load: Load, constants: Constants) -> float:
    """Return what a key costs in the queue and in a worker that reads the body."""
    if not load.workers:
        return 0.0
    body = constants.body + constants.body_kb * load.size / 1e3
    return constants.queue + body + load.sync_cpu


def bytes_per_object(load: Load, constants: Constants) -> float:
    """Return what is kept of an object; workers read its body."""
    own = constants.heap + constants.heap_kb * load.size / 1e3
    if load.workers:
        own += constants.heap_body + constants.heap_body_kb * load.size / 1e3
    return own + load.indexes * constants.heap_index
