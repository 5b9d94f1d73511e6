"""What every controller on informers and a queue repeats: connect, start, wait, work, stop.

::

    informers ──► handlers ──► queue of keys ──► workers ──► sync(key)
        └── wait until all have their first list, wait to be elected ──┘

Promises: workers start when the caches are filled and, with a ``lease``, when this process leads;
:meth:`ControlLoop.run` returns when they have ended. A key whose ``sync`` raises is retried with a
growing delay.

Does not promise finalizers, a status or ownership: that is ``sync``, or ``clientgo.operator``.

client-go has no such helper; controller-runtime's builder covers the same ground.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, TypeVar

from clientgo.cache import (
    DELTA_FIFO,
    DeletedFinalStateUnknown,
    InformerName,
    Lister,
    QueueChoice,
)
from clientgo.client import Client
from clientgo.informers import SharedInformerFactory, check_alive, check_synced
from clientgo.leaderelection import (
    USUAL_TIMING,
    Ending,
    LeaderElectionConfig,
    LeaderHealth,
    Leadership,
    LeadershipLostError,
    Timing,
    lease_lock_from_config,
    run_or_raise,
    unique_identity,
)
from clientgo.meta import AlreadyExistsError, ConflictError, ObjectName, Resource
from clientgo.observe.logs import log_context
from clientgo.observe.metrics import set_default_provider
from clientgo.observe.serving import Handler, HealthChecks, Server
from clientgo.record import EventRecorder
from clientgo.sharding import (
    Deletions,
    Ownership,
    ShardMember,
    shard_member,
    work_in_shards,
)
from clientgo.workqueue import PriorityQueue, RateLimitingQueue, run_workers

R = TypeVar("R", bound=Resource)

_log = logging.getLogger("clientgo.control_loop")

Keys = Callable[[Any], Iterable[ObjectName]]
"""From an object that has changed to the keys that need a sync."""

Sync = Callable[[ObjectName], float | None]
"""Bring one object into its desired state; return after how many seconds to look again, or None.

Raise :class:`~clientgo.util.wait.NotReadyError` to be called again with back-off without a failure.
"""


class ControlLoop:
    """The parts of one controller::

        loop = ControlLoop(client, "greeter")
        config_maps = loop.watch(ConfigMap)
        loop.run(sync, stop)

    ``lease`` (``namespace/name``): work only while this process leads. With a number of ``shards``
    all processes that have the same lease and number work, and share the keys. ``health`` and
    ``metrics`` are addresses such as ``":8081"``: serve ``/healthz`` and ``/readyz``, and
    ``/metrics``.
    ``fair_by``, a function from a key to the name of its flow, keeps the keys of one flow from
    delaying those of others: ``fair_by=lambda key: key.namespace``.
    ``debug`` serves :mod:`clientgo.observe.debug` beside the metrics: it shows names of objects,
    errors and stacks. The parts are public and can be used beside this class: ``queue``,
    ``factory``.

    Lines that are logged during a sync have the fields ``controller`` and ``key``
    (:mod:`clientgo.observe.logs`). A ``recorder`` records an event when this process becomes or
    stops being the leader. The informers report metrics under ``informer_name``, and run on
    ``informer_queue``; a :class:`~clientgo.cache.ConsistencyStore` needs ``REAL_FIFO``. A client
    counts its requests if it is made after ``set_default_provider``.
    """

    def __init__(
        self,
        client: Client,
        name: str,
        *,
        namespace: str = "",
        resync: float = 0.0,
        lease: str = "",
        shards: int = 0,
        timing: Timing = USUAL_TIMING,
        health: str = "",
        metrics: str = "",
        debug: bool = False,
        fair_by: Callable[[ObjectName], str] | None = None,
        recorder: EventRecorder | None = None,
        informer_name: InformerName | None = None,
        informer_queue: QueueChoice = DELTA_FIFO,
    ) -> None:
        if debug and not metrics:
            raise ValueError("debug=True needs the address of the metrics server: metrics=':8080'")
        if metrics:
            from clientgo.observe.metrics.prometheus import PrometheusProvider

            set_default_provider(PrometheusProvider())  # before the parts that count are made
        self.name = name
        self.queue: RateLimitingQueue[ObjectName] = (
            RateLimitingQueue(name=name)
            if fair_by is None
            else PriorityQueue(name=name, fair_by=fair_by)
        )
        self.factory = SharedInformerFactory(
            client, resync, namespace=namespace, informer_name=informer_name, queue=informer_queue
        )
        self.serves: dict[str, tuple[str, int]] = {}
        """Host and port of ``health`` and ``metrics``, while they are served."""
        self._client = client
        self._lease = lease
        self._timing = timing
        self._health = health
        self._metrics = metrics
        self._debug = debug
        self._recorder = recorder
        self._at_work = False
        self._leading = LeaderHealth(tolerance=20.0)
        self._watched: dict[type[Resource], list[Keys]] = {}
        if shards and not lease:
            raise ValueError("shards need a lease, by which the processes find each other")
        if lease.count("/") > 1 or lease.endswith("/"):
            raise ValueError(f"{lease!r} is no lease; write namespace/name")
        self.ownership: Ownership[ObjectName] = Ownership(shards) if shards else Ownership.alone()
        """Which keys are this process's own."""
        self._shared = shards > 0
        self._deletions: Deletions[ObjectName] = Deletions()

    def watch(self, kind: type[R], keys: Keys | None = None) -> Lister[R]:
        """Queue keys when an object of a kind changes; return the reader of its cache.

        By default the key is the object's own. ``keys`` is also given the last known state of
        deleted objects. Call it before ``run``.
        """
        keys = keys or own_key

        def enqueue(obj: Any) -> None:
            for key in keys(obj):
                if self.ownership.owns(key):
                    self.queue.add(key)

        def on_delete(obj: Any) -> None:
            if isinstance(obj, DeletedFinalStateUnknown):
                obj = obj.obj
            if obj is None:
                return
            if self._shared:
                for key in keys(obj):
                    self._deletions.note(key)
            enqueue(obj)

        def on_update(old: Any, new: Any) -> None:
            enqueue(old)  # it may have led to other keys
            enqueue(new)

        self.factory.informer_for(kind).add_event_handler(
            on_add=enqueue, on_update=on_update, on_delete=on_delete
        )
        self._watched.setdefault(kind, []).append(keys)
        return self.factory.lister_for(kind)

    def run(self, sync: Sync, stop: threading.Event, *, workers: int = 2) -> None:
        """Work until ``stop`` is set. Blocks; returns when the workers have ended. Runs once.

        Raises RuntimeError when it is called again.
        Raises :class:`~clientgo.leaderelection.LeadershipLostError` if another process leads now:
        exit, to be restarted. Raises :class:`~clientgo.observe.serving.ServingError` for an
        address that is taken, and :class:`~clientgo.leaderelection.WorkStillRunningError` if a
        ``sync`` does not end though the lease is lost: then exit immediately, because another
        process may start.
        """

        if self.queue.shutting_down:
            raise RuntimeError(f"{self.name} has run already; make a new ControlLoop")
        if inspect.iscoroutinefunction(sync):
            raise TypeError(f"{sync!r} must be awaited; pass clientgo.aio.blocking of it")

        def handle(key: ObjectName) -> None:
            with log_context(controller=self.name, key=str(key)):
                delay = sync(key)
            if delay is not None:
                self.queue.add_after(key, delay)

        def work(stop: threading.Event, guard: Callable[[], object] | None = None) -> None:
            if all(self.factory.wait_for_cache_sync(stop).values()):
                _log.info("%s: starting %d workers", self.name, workers)
            self._at_work = True
            run_workers(
                stop,
                self.queue,
                self.ownership.guarded(handle),
                workers=workers,
                name=self.name,
                guard=guard,
                expected=(ConflictError, AlreadyExistsError),  # the cache was behind
            )

        with _shutting_down(self.queue), self.factory, self._serving():
            # A standby fills its caches too, so that it can work as soon as it leads.
            self.factory.start(stop)
            if self._shared:
                work_in_shards(self._member(), work, stop)
            elif not self._lease:
                work(stop)
            elif self._lead(lambda term: work(term.stop, term.check), stop) is Ending.LOST:
                raise LeadershipLostError(f"{self.name}: another process has taken {self._lease}")

    def _member(self) -> ShardMember[ObjectName]:
        namespace, _, name = self._lease.rpartition("/")
        return shard_member(
            self._client.config,
            namespace or "default",
            name,
            self.ownership,
            on_acquired=self._queue_all,
            timing=self._timing,
        )

    def _queue_all(self, shards: frozenset[int]) -> None:
        """Queue the keys of shards that are ours now: their events were dropped before."""
        for kind, all_keys in self._watched.items():
            for obj in self.factory.lister_for(kind).list():
                for keys in all_keys:
                    for key in keys(obj):
                        if self.ownership.shard_of(key) in shards:
                            self.queue.add(key)
        for key, _ in self._deletions.select(lambda key: self.ownership.shard_of(key) in shards):
            self.queue.add(key)

    def _lead(self, work: Callable[[Leadership], object], stop: threading.Event) -> Ending:
        namespace, _, name = self._lease.rpartition("/")
        lock = lease_lock_from_config(
            self._client.config,
            namespace or "default",
            name,
            unique_identity(),
            timing=self._timing,
            recorder=self._recorder,
        )
        config = LeaderElectionConfig(
            lock=lock,
            timing=self._timing,
            on_started_leading=work,
            on_stopped_leading=lambda _led: None,
            health=self._leading,
        )
        try:
            return run_or_raise(config, stop)
        finally:
            lock.close()

    @contextmanager
    def _serving(self) -> Iterator[None]:
        with ExitStack() as stack:
            if self._health:
                healthy, ready = HealthChecks("healthz"), HealthChecks("readyz")
                healthy.add(self._leading.name, self._leading.check)
                for kind in self._watched:
                    informer = self.factory.informer_for(kind)
                    healthy.add(f"informer-{informer.name}", partial(check_alive, informer))
                    ready.add(f"informer-sync-{informer.name}", partial(check_synced, informer))
                pages = {"/healthz": healthy.respond, "/readyz": ready.respond}
                server = stack.enter_context(Server(self._health, pages, name="health"))
                self.serves["health"] = server.bound
            if self._metrics:
                from clientgo.observe.serving.metrics import metrics_handler

                shown: dict[str, Handler] = {"/metrics": metrics_handler()}
                if self._debug:
                    shown |= self._debug_page()
                server = stack.enter_context(Server(self._metrics, shown, name="metrics"))
                self.serves["metrics"] = server.bound
            yield

    def _debug_page(self) -> dict[str, Handler]:
        from clientgo.observe.debug import DEBUG_PATH, DebugPage  # for those who ask for it

        def explain(key: str) -> Iterator[str]:
            name = ObjectName.parse(key) if key else None
            if name and not self.ownership.owns(name):
                shard = self.ownership.shard_of(name)
                yield f"{self.name}: shard {shard}, to which it belongs, is not this process's"
            if not self._at_work:
                lease = f", or another process leads: lease {self._lease}" if self._lease else ""
                yield f"{self.name}: no worker has been started: a cache is not synced{lease}"

        page = DebugPage()
        page.explain_with(explain)
        page.add_queue(self.queue)
        page.add_informers(lambda: self.factory.informers().values())
        return {DEBUG_PATH: page.respond}


@contextmanager
def _shutting_down(queue: RateLimitingQueue[ObjectName]) -> Iterator[None]:
    """Shut the queue down at the end of the block, also if no worker has been started."""
    try:
        yield
    finally:
        queue.shut_down()


def own_key(obj: Resource) -> Iterable[ObjectName]:
    """The key of the object itself."""
    return (ObjectName.of(obj),)
