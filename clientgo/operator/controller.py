"""A controller: one primary kind, its sources, one queue, one reconciler.

Promises that nothing is reconciled before every source has told of what is there; that a stop
waits for the runs in hand; that nothing is written because of a start or stop.

Source: controller-runtime pkg/controller; Java Operator SDK Controller, RegisteredController.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from clientgo.meta import APIResource, ObjectName, deep_copy
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.cache.scope import (
    EVERYWHERE,
    Namespaces,
    NamespaceSet,
    namespace_set,
)
from clientgo.operator.controller_config import AUTOMATIC, ControllerConfig
from clientgo.operator.controller_metrics import ControllerMetrics, queue_metrics
from clientgo.operator.cycle import Cycle
from clientgo.operator.declaration import Declaration
from clientgo.operator.errors import (
    CacheSyncTimeoutError,
    CancelledError,
    ConfigError,
    DeclarationError,
)
from clientgo.operator.event_router import EventRouter, UnlessEcho
from clientgo.operator.finalizers import checked_finalizer, default_finalizer
from clientgo.operator.mappers import MapContext, by_name, mapped_keys
from clientgo.operator.namespace_changes import NamespaceChanges
from clientgo.operator.predicates import Predicate, all_of, label_selector, worth_a_reconcile
from clientgo.operator.primary_router import PrimaryRouter
from clientgo.operator.reconciler import Shape
from clientgo.operator.run_fields import current_run
from clientgo.operator.runs import (
    RunDeadlines,
    RunQueue,
    RunQueueStatistics,
    RunSettings,
    Timers,
)
from clientgo.operator.services import Services
from clientgo.operator.sources.kind_source import KindSource
from clientgo.operator.sources.source import Source, SourceContext
from clientgo.operator.status_notes import StatusNotes

P = TypeVar("P")

PRIMARY = "primary"
"""The name of the source of the primaries themselves."""

WAKE_DELAY: Final = 1.0
"""Seconds from the end of an outage until the objects run that failed: their caches need a moment
to take in what has changed."""

_TIMEOUTS_UNTIL_STUCK: Final = 10

_log = logging.getLogger("clientgo.operator.controller")


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """A source at one instant; ``trouble`` is what is wrong with it, None if nothing is.

    ``namespaces`` is where it looks, the set of ``""`` alone for everywhere, None for a source that
    knows none.
    """

    name: str
    synced: bool
    namespaces: NamespaceSet | None
    trouble: str | None


@dataclass(frozen=True, slots=True)
class ControllerHealth:
    """A controller at one instant; ``stuck`` if all its workers are in runs without an end."""

    name: str
    namespaces: NamespaceSet
    sources: tuple[SourceHealth, ...]
    queue: RunQueueStatistics
    workers_alive: bool
    stuck: bool


class Controller(Generic[P]):
    """One controller of one manager; ``manager.register`` and the builder make it. Thread-safe."""

    def __init__(
        self,
        services: Services,
        declaration: Declaration,
        shape: Shape,
        config: ControllerConfig,
    ) -> None:
        self.services = services
        self.config = config
        self.declaration = declaration
        self.shape = shape
        self.kind = declaration.primary
        self.primary: APIResource = api_resource(declaration.primary)
        self.name = config.name
        self.has_status = "status" in self.primary.subresources
        _check_deletion(shape, config)
        self.finalizer = None if shape.cleanup is None else _finalizer_of(self.primary, config)
        self.finalizers = _all_finalizers(shape, self.finalizer)
        """All that an object must have before it is reconciled."""
        self.notes = StatusNotes(self.kind, config)
        self.metrics = ControllerMetrics(
            self.name,
            services.metrics,
            per_namespace=services.metrics_per_namespace,
            sink=services.sink,
        )
        self.recorder = services.recorder(self.name)
        self.client = services.client.as_manager(self.name).written_by(current_run)
        self._timers = Timers(f"{self.name}-timers", services.clock)
        self.queue = RunQueue(
            self.name,
            lambda run: self._cycle(run),
            RunSettings(
                retry=config.retry,
                max_interval=_seconds(config.max_interval),
                rate_limit=config.rate_limit,
            ),
            on_crash=services.crashed,
            metrics=queue_metrics(self.name, services.metrics),
            clock=services.clock,
        )
        self.deadlines = RunDeadlines(
            self.name,
            config.reconcile_timeout,
            self.queue.cancelled,
            self._timers,
            services.clock,
        )
        self._cycle = Cycle(self)
        self._lock = threading.RLock()
        self._namespaces = _namespaces_of(self.primary, config, services.namespaces)
        self._namespace_changes = NamespaceChanges(self)
        self._context = MapContext(self.primary, services.client)
        self._sources: dict[str, tuple[Source, EventRouter]] = {}
        self.primary_cache: KindCache = services.cache.declare(self.kind, declaration.projection)
        self.primary_cache.on_recovery(lambda: self.queue.wake_failed(WAKE_DELAY))
        self.shares_cached = self.primary_cache.shares
        self._started = False
        self._stop = threading.Event()
        self._declare_sources()

    # Its sources

    @property
    def namespaces(self) -> NamespaceSet:
        """Where the primaries are; the set of ``""`` alone is everywhere."""
        return self._namespaces

    def sources(self) -> list[Source]:
        with self._lock:
            return [source for source, _ in self._sources.values()]

    def add_source(self, source: Source) -> None:
        """Watch something more, at once if the controller runs."""
        with self._lock:
            self._add_locked(source, self._router_of(source))
            if self._started:
                self._start_source(source)

    def remove_source(self, name: str) -> None:
        """Watch something no longer. Raises ``KeyError``, and ``ValueError`` for the primary."""
        if name == PRIMARY:
            raise ValueError(f"{self.name}: the source of the primaries cannot be removed")
        with self._lock:
            source, router = self._sources.pop(name)
        source.stop()
        router.stop()

    def start_sources(self, stop: threading.Event | None = None) -> None:
        """Start every source, those first that the others wait for.

        Blocks only for these, and not beyond ``stop``.
        """
        with self._lock:
            self._started = True
            sources = [source for source, _ in self._sources.values()]
        first = [source for source in sources if source.before_others]
        for source in first:
            self._start_source(source)
        for source in first:
            source.wait_synced(_seconds(self.config.cache_sync_timeout), stop)
        for source in sources:
            if source not in first:
                self._start_source(source)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> None:
        """Block until all sources have told of what is there, or ``stop`` is set.

        Raises :class:`~clientgo.operator.errors.CacheSyncTimeoutError` after so many seconds of
        real time, naming each that has not, and ``CancelledError`` at the stop.
        """
        deadline = time.monotonic() + timeout
        late = [
            source
            for source in self.sources()
            if not source.wait_synced(max(deadline - time.monotonic(), 0.0), stop)
        ]
        if stop is not None and stop.is_set():
            raise CancelledError(f"controller {self.name}: stopped before its sources were synced")
        if late:
            reasons = "; ".join(
                f"{source.name}: {source.healthy() or 'still waiting'}" for source in late
            )
            raise CacheSyncTimeoutError(
                f"controller {self.name}: not synced after {timeout:g} s: {reasons}"
            )

    # Running

    def start_workers(self) -> None:
        self.metrics.workers(self.config.workers)
        self.queue.start(self.config.workers)
        count = self.config.workers
        _log.info("%s: started %d worker%s", self.name, count, "s" * (count > 1))

    def stop_sources(self) -> None:
        """Stop what tells of events; blocks until nothing is told any more."""
        self._stop.set()
        with self._lock:
            sources = list(self._sources.values())
            self._started = False
        for source, router in sources:
            source.stop()
            router.stop()

    def begin_stop(self) -> None:
        """Tell the runs in hand to end; does not block."""
        self.queue.begin_stop()
        self.deadlines.cancel_all()

    def stop_workers(self, timeout: float | None = None) -> list[str]:
        """Wait for the runs in hand; returns the names of threads that did not end in time."""
        self.begin_stop()
        alive = self.queue.stop(timeout)
        self._timers.stop()
        return alive

    def trigger(self, key: ObjectName, *, priority: int = 0) -> None:
        """Run a primary, whatever its predicates say."""
        self.queue.trigger(key, priority)

    def pause(self) -> None:
        """Begin no run from now on; what happens meanwhile is not forgotten."""
        self.queue.pause()

    def resume(self) -> None:
        self.queue.resume()

    def change_namespaces(self, namespaces: Namespaces, *, drain: bool = False) -> None:
        """Look after the primaries of other namespaces from now on.

        Blocks until those of the new ones are known. Of the namespaces that are left nothing is
        kept: no timer, no failure, no cached object; no deletion is told and no clean-up run.
        With ``drain`` they are left only when no primary in them has this controller's finalizer,
        or after two minutes.

        Raises :class:`~clientgo.operator.errors.CacheSyncTimeoutError`, with the namespaces as
        before, and ``ConfigError`` for a kind that has no namespaces.
        """
        wanted = namespace_set(namespaces)
        if not self.primary.namespaced:
            raise ConfigError(f"{self.name}: {self.primary.kind} has no namespaces to choose from")
        if self._started:
            self._namespace_changes.change(wanted, drain=drain)
        else:
            self._namespaces = wanted

    def health(self) -> ControllerHealth:
        timeout = _seconds(self.config.reconcile_timeout)
        endless = self.deadlines.older_than(timeout * _TIMEOUTS_UNTIL_STUCK) if timeout else 0
        return ControllerHealth(
            self.name,
            self._namespaces,
            tuple(map(self._health_of, self.sources())),
            self.queue.statistics(),
            self.queue.threads_alive(),
            stuck=endless >= self.config.workers,
        )

    # For its runs

    def read_primary(self, key: ObjectName) -> Any | None:
        """The newest known state of a primary, shared with everybody."""
        return self.primary_cache.get(key)

    def secondaries(
        self, kind: Any, key: ObjectName, primary: Any, source_name: str | None
    ) -> list[Any]:
        """See :meth:`~clientgo.operator.context.Context.secondaries`."""
        source = self._source_of(kind, source_name)
        if not isinstance(source, KindSource):
            return list(source.secondaries(key))
        if source.cache is None:
            return []  # it begins later
        if source.locate is not None:
            located = sorted(set(source.locate(primary)))
            found = [source.cache.get(name) for name in located]
            return [deep_copy(obj) for obj in found if obj is not None and source.selects(obj)]
        index = f"primaries of {self.name} by {source.name}"
        source.cache.indexes.ensure(index, self._primaries_of(source))
        return [deep_copy(obj) for obj in source.cache.select("", (index, str(key)))]

    def clean_up(self, finalizer: str, ctx: Any, obj: Any) -> Any:
        """What the clean-up of a finalizer answers."""
        if self.shape.cleanup is not None and finalizer == self.finalizer:
            return self.shape.cleanup(ctx, obj)
        return self.shape.finalizers.clean_up(finalizer, ctx, obj)

    # Inside

    def _health_of(self, source: Source) -> SourceHealth:
        namespaces = None
        if isinstance(source, KindSource):
            namespaces = source.namespaces_within(self._namespaces)
        if not self._started:
            return SourceHealth(source.name, False, namespaces, None)
        return SourceHealth(source.name, source.wait_synced(0.0), namespaces, source.healthy())

    def _declare_sources(self) -> None:
        primary = KindSource(
            self.kind,
            mapper=by_name(),
            predicate=self._primary_predicate(),
            follow_namespaces=True,
            project=self.declaration.projection,
            name=PRIMARY,
        )
        self._add_locked(
            primary,
            PrimaryRouter(self, lambda echo: self._new_router(primary, by_name(), on_echo=echo)),
        )
        extra: Iterable[Source] = ()
        if self.shape.sources is not None:
            extra = self.shape.sources(self.services)
        reads = [
            KindSource(
                kind, mapper=None, follow_namespaces=True, name=f"reads-{api_resource(kind).plural}"
            )
            for kind in self.declaration.reads
        ]
        own = [s.unstarted() if isinstance(s, KindSource) else s for s in self.declaration.sources]
        for source in (*own, *reads, *extra):
            self._add_locked(source, self._router_of(source))

    def _add_locked(self, source: Source, router: Any) -> None:
        if source.name in self._sources:
            raise DeclarationError(
                f"controller {self.name} has two sources called {source.name!r}; name one of them"
            )
        if isinstance(source, KindSource):
            reader = source.reader(self.name, self.primary, self._namespaces)
            cache = self.services.cache.declare(source.kind, source.project, reader)
            cache.scope.within(reader.namespaces, cache.name)
        self._sources[source.name] = source, router

    def _router_of(self, source: object) -> EventRouter:
        if not isinstance(source, Source):
            raise DeclarationError(
                f"controller {self.name}: {source!r} is no source; subclass Source"
            )
        return self._new_router(source, source.mapper)

    def _new_router(self, source: Source, mapper: Any, on_echo: Any = None) -> EventRouter:
        predicate = source.predicate
        unless_echo = None
        if isinstance(source, KindSource):
            unless_echo = self._echoes_of(source)
            if source.name != PRIMARY:
                predicate = self.declaration.predicate_of(source)
        return EventRouter(
            source.name,
            self.name,
            self.queue,
            self._context,
            lambda: self._namespaces,
            self.metrics,
            self._timers,
            self.services.clock,
            mapper=mapper,
            predicate=predicate,
            unless_echo=unless_echo,
            on_echo=on_echo,
        )

    def _echoes_of(self, source: KindSource) -> UnlessEcho:
        own_writes = self.services.cache.declare(source.kind, source.project).own_writes
        return lambda obj, key, act, echoed: own_writes.unless_echo(
            obj, (self.name, key), act, echoed
        )

    def _primary_predicate(self) -> Predicate | None:
        parts: list[Predicate] = []
        if self.config.default_filter and self.config.generation_aware:
            parts.append(worth_a_reconcile(minds_finalizers=bool(self.finalizers)))
        if self.config.labels:
            parts.append(label_selector(self.config.labels))
        parts += self.declaration.primary_predicates
        parts += self.declaration.predicates
        return all_of(*parts) if parts else None

    def _start_source(self, source: Source) -> None:
        context = SourceContext(
            controller=self.name,
            primary=self.primary,
            namespaces=self._namespaces,
            cache=self.services.cache,
            client=self.client,
            clock=self.services.clock,
            stop=self._stop,
        )
        source.start(context, self._sources[source.name][1])

    def follow(self, namespaces: NamespaceSet) -> None:
        """Let every source that minds have these namespaces; does not wait for their objects."""
        self._namespaces = namespaces
        for source in self.sources():
            source.change_namespaces(namespaces)

    def _source_of(self, kind: Any, name: str | None) -> Source:
        if name is not None:
            return self._sources[name][0]
        found = [
            source
            for source in self.sources()
            if source.kind is kind and source.name != PRIMARY and not _only_reads(source)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(source.name for source in found)
            raise LookupError(f"{self.name} has several sources of {kind}: {names}; pass source=")
        raise LookupError(
            f"{self.name} has no source of {getattr(kind, '__name__', kind)}; declare it with "
            "owns(...) or watches(...)"
        )

    def _primaries_of(self, source: KindSource) -> Any:
        def primaries(obj: Any) -> list[str]:
            if source.mapper is None or not source.selects(obj):
                return []
            return [str(key) for key in mapped_keys(source.mapper, self._context, (obj,))]

        return primaries


def _check_deletion(shape: Shape, config: ControllerConfig) -> None:
    if config.on_deleted and (shape.cleanup is not None or shape.reconcile is None):
        raise DeclarationError(
            f"controller {config.name}: on_deleted calls reconcile(self, ctx, obj) with what is "
            "gone already; it goes together neither with cleanup nor with reconcile_key"
        )


def _all_finalizers(shape: Shape, own: str | None) -> tuple[str, ...]:
    named = shape.finalizers.names()
    if own is None:
        return named
    if own in named:
        raise DeclarationError(f"finalizer {own!r} is that of cleanup; register another name")
    return (*named, own)


def _finalizer_of(primary: APIResource, config: ControllerConfig) -> str:
    if config.finalizer is None:
        raise DeclarationError(
            f"controller {config.name}: without a finalizer the clean-up would never be called; "
            "leave finalizer=... out, or remove cleanup and the dependents that have to be deleted"
        )
    if config.finalizer == AUTOMATIC:
        return default_finalizer(primary)
    return checked_finalizer(config.finalizer, config.name)


def _namespaces_of(
    primary: APIResource, config: ControllerConfig, managers: NamespaceSet
) -> NamespaceSet:
    if config.namespaces is None:
        return managers if primary.namespaced else EVERYWHERE
    if not primary.namespaced:
        raise ConfigError(f"controller {config.name}: {primary.kind} has no namespaces")
    return namespace_set(config.namespaces)


def _seconds(duration: Any) -> float:
    """A length that ``checked`` made seconds; 0 for none."""
    return 0.0 if duration is None else float(duration)


def _only_reads(source: Source) -> bool:
    return isinstance(source, KindSource) and source.mapper is None
