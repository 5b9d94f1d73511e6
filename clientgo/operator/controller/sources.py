"""The sources of one controller: declared, started, followed to other namespaces, and read."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from clientgo.meta import APIResource, ObjectName, deep_copy
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.change_events import CreateEvent
from clientgo.operator.client.live_client import CachedClient
from clientgo.operator.controller.declaration import ControllerConfig, Declaration
from clientgo.operator.controller.event_router import EventRouter, PrimaryRouter, Routing
from clientgo.operator.controller.parts import Services
from clientgo.operator.errors import CacheSyncTimeoutError, CancelledError, DeclarationError
from clientgo.operator.mappers import MapContext, by_name, mapped_keys
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.predicates import Predicate, all_of
from clientgo.operator.reconciler import Shape
from clientgo.operator.runs import RunQueue, Timers
from clientgo.operator.sources.kind_source import KindSource
from clientgo.operator.sources.source import Source, SourceContext

PRIMARY: Final = "primary"
"""The name of the source of the primaries themselves."""


@dataclass(frozen=True, slots=True)
class SourceHealth:
    """A source at one instant; ``trouble`` is what is wrong with it, None if nothing is.

    ``namespaces`` is where it looks, the set of ``""`` alone for everywhere, None if it has none.
    """

    name: str
    synced: bool
    namespaces: NamespaceSet | None
    trouble: str | None


class ControllerSources:
    """What a declaration and a reconciler name, for one queue. Thread-safe.

    ``namespaces`` is where the primaries are; the set of ``""`` alone is everywhere.
    ``default_predicates`` are those of the primaries beside the declared ones; ``deleting`` is
    called for a primary that is being deleted, or gone; ``finalizers`` are the controller's. Raises
    ``DeclarationError`` for what cannot work.
    """

    def __init__(
        self,
        config: ControllerConfig,
        declaration: Declaration,
        shape: Shape,
        services: Services,
        *,
        client: CachedClient,
        namespaces: NamespaceSet,
        queue: RunQueue,
        metrics: ControllerMetrics,
        timers: Timers,
        default_predicates: list[Predicate],
        deleting: Callable[[ObjectName], object],
        finalizers: tuple[str, ...],
    ) -> None:
        self.namespaces = namespaces
        self.started = False
        self.running = False
        """True once every source has been started."""
        self._config = config
        self._name = config.name
        self._declaration = declaration
        self._primary: APIResource = api_resource(declaration.primary)
        self._services = services
        self._client = client
        self._context = MapContext(self._primary, services.client)
        self._lock = threading.RLock()
        self._sources: dict[str, tuple[Source, EventRouter]] = {}
        self._stop = threading.Event()
        self._routing = Routing(
            controller=config.name,
            queue=queue,
            context=self._context,
            namespaces=lambda: self.namespaces,
            metrics=metrics,
            timers=timers,
            clock=services.clock,
        )
        self._primary_predicates = [
            *default_predicates,
            *declaration.primary_predicates,
            *declaration.predicates,
        ]
        primary = self._primary_source()
        self._add_locked(primary, self._primary_router(primary, shape, deleting, finalizers))
        own = [self._checked(source).for_controller() for source in declaration.sources]
        extra: Iterable[Source] = () if shape.sources is None else shape.sources(services)
        for source in (*map(_reader_of, declaration.reads), *own, *extra):
            self._add_locked(source, self._router_of(source))

    def all(self) -> list[Source]:
        with self._lock:
            return [source for source, _ in self._sources.values()]

    def add(self, source: Source) -> None:
        """Watch one more source, immediately if the controller runs."""
        with self._lock:
            self._add_locked(source, self._router_of(source))
            if self.started:
                self._start(source)

    def remove(self, name: str) -> None:
        """Watch a source no longer. Raises ``KeyError``, and ``ValueError`` for the primary."""
        if name == PRIMARY:
            raise ValueError(f"{self._name}: the source of the primaries cannot be removed")
        with self._lock:
            source, router = self._sources.pop(name)
        source.stop()
        router.stop()

    # Running

    def start(self, stop: threading.Event | None = None) -> None:
        """Start every source, those first that the others wait for.

        Blocks only for these, and not beyond ``stop``.
        """
        with self._lock:
            self.started = True
            sources = [source for source, _ in self._sources.values()]
        first = [source for source in sources if source.before_others]
        for source in first:
            self._start(source)
        for source in first:
            source.wait_synced(self._config.cache_sync_timeout, stop)
        for source in sources:
            if source not in first:
                self._start(source)
        self.running = True

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> None:
        """See ``Controller.wait_synced``; without ``stop`` it ends with that of the sources.

        Primaries whose kind is not served are not waited for: there are none.
        """
        stop = stop or self._stop
        deadline = time.monotonic() + timeout
        late = [
            source
            for source in self.all()
            if not _wait(source, max(deadline - time.monotonic(), 0.0), stop)
        ]
        if stop.is_set():
            raise CancelledError(f"controller {self._name}: stopped before its sources were synced")
        if late := [source for source in late if source in self.all()]:  # others were removed
            reasons = "; ".join(f"{s.name}: {s.healthy() or 'still waiting'}" for s in late)
            raise CacheSyncTimeoutError(
                f"controller {self._name}: not synced after {timeout:g} s: {reasons}"
            )

    def begin_stop(self) -> None:
        """Ignore from now on that mappers fail: the caches of all controllers are about to end."""
        with self._lock:
            routers = [router for _, router in self._sources.values()]
        for router in routers:
            router.stop()

    def stop(self) -> None:
        """Stop all sources; blocks until no event is delivered any more."""
        self._stop.set()
        with self._lock:
            sources = list(self._sources.values())
            self.started = self.running = False
        for source, router in sources:
            source.stop()
            router.stop()

    def follow(self, namespaces: NamespaceSet) -> None:
        """Give the sources that follow the controller these namespaces; does not wait."""
        self.namespaces = namespaces
        for source in self.all():
            source.change_namespaces(namespaces)

    def replay(self, condition: Callable[[ObjectName], bool]) -> None:
        """Route the primaries that a condition holds for, as at the start."""
        primary, router = self._sources[PRIMARY]
        if isinstance(primary, KindSource) and primary.cache is not None:
            for obj in primary.cache.select():
                if condition(ObjectName.of(obj)) and primary.selects(obj):
                    router.emit(CreateEvent(obj, initial=True))

    def release(self, condition: Callable[[ObjectName], bool]) -> None:
        """Leave primaries to another process."""
        for source in self.all():
            source.release(condition)

    def written(self) -> set[KindCache]:
        """Return the caches of the primaries and of what the controller owns."""
        kinds = [source for source in self.all() if isinstance(source, KindSource)]
        written = [source for source in kinds if source.owned or source.name == PRIMARY]
        return {source.cache for source in written if source.cache is not None}

    def health(self) -> tuple[SourceHealth, ...]:
        return tuple(map(self._health_of, self.all()))

    def predicates(self) -> list[str]:
        """Return what the events of the primaries have to pass."""
        return [repr(each) for each in self._primary_predicates]

    def stopped_by(self, primary: Any) -> list[str]:
        """Return the predicates that stop the events of a primary as it is now."""
        event = CreateEvent(primary)
        return [repr(each) for each in self._primary_predicates if not _passes(each, event)]

    # Reading

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
        index = f"primaries of {self._name} by {source.name}"
        source.cache.indexes.ensure(index, self._primaries_of(source))
        return [deep_copy(obj) for obj in source.cache.select("", (index, str(key)))]

    def _source_of(self, kind: Any, name: str | None) -> Source:
        if name is not None:
            with self._lock:
                return self._sources[name][0]
        found = [
            source
            for source in self.all()
            if source.kind is kind and source.name != PRIMARY and not _only_reads(source)
        ]
        if len(found) == 1:
            return found[0]
        if found:
            names = ", ".join(source.name for source in found)
            raise LookupError(f"{self._name} has several sources of {kind}: {names}; pass source=")
        named = getattr(kind, "__name__", kind)
        raise LookupError(
            f"{self._name} has no source of {named}; declare it: owns=[{named}] for what it owns, "
            f"sources=[watch({named}, mapper=...)] for other objects, and kind={named} for a "
            "source of items"
        )

    def _primaries_of(self, source: KindSource) -> Any:
        def primaries(obj: Any) -> list[str]:
            if source.mapper is None or not source.selects(obj):
                return []
            return [str(key) for key in mapped_keys(source.mapper, self._context, (obj,))]

        return primaries

    # Inside

    def _add_locked(self, source: Source, router: EventRouter) -> None:
        if source.name in self._sources:
            raise DeclarationError(
                f"controller {self._name} has two sources called {source.name!r}; name one of them"
            )
        if isinstance(source, KindSource):
            reader = source.reader(self._name, self._primary, self.namespaces)
            cache = self._services.cache.declare(source.kind, source.project, reader)
            cache.scope.within(reader.namespaces, cache.name)
        self._sources[source.name] = source, router

    def _checked(self, source: object) -> Source:
        if not isinstance(source, Source):
            raise DeclarationError(
                f"controller {self._name}: {source!r} is no source; write "
                "sources=[watch(Kind, mapper=...)] for a kind, or subclass Source"
            )
        return source

    def _router_of(self, source: Source) -> EventRouter:
        self._checked(source)
        predicate, own_writes = source.predicate, None
        if isinstance(source, KindSource):
            parts = filter(None, (source.predicate, *self._declaration.predicates))
            predicate = all_of(*parts)
            own_writes = self._own_writes_of(source)
        return EventRouter(
            self._routing,
            source.name,
            mapper=source.mapper,
            predicate=predicate,
            own_writes=own_writes,
        )

    def _own_writes_of(self, source: KindSource) -> OwnWrites:
        return self._services.cache.declare(source.kind, source.project).own_writes

    def _primary_source(self) -> KindSource:
        return KindSource(
            self._declaration.primary,
            mapper=by_name(),
            follow_namespaces=True,
            labels=self._config.labels,
            project=self._declaration.projection,
            name=PRIMARY,
        )

    def _primary_router(
        self,
        primary: KindSource,
        shape: Shape,
        deleting: Callable[[ObjectName], object],
        finalizers: tuple[str, ...],
    ) -> PrimaryRouter:
        return PrimaryRouter(
            self._routing,
            PRIMARY,
            by_key=shape.reconcile_key is not None,
            on_deleted=self._config.on_deleted,
            deleting=deleting,
            finalizers=finalizers,
            mapper=primary.mapper,
            predicate=all_of(*self._primary_predicates) if self._primary_predicates else None,
            own_writes=self._own_writes_of(primary),
        )

    def _start(self, source: Source) -> None:
        context = SourceContext(
            controller=self._name,
            primary=self._primary,
            namespaces=self.namespaces,
            cache=self._services.cache,
            client=self._client,
            clock=self._services.clock,
            stop=self._stop,
            event_loop=self._services.event_loop,
        )
        source.start(context, self._sources[source.name][1])
        if self.namespaces != context.namespaces:  # they have changed meanwhile
            source.change_namespaces(self.namespaces)

    def _health_of(self, source: Source) -> SourceHealth:
        namespaces = None
        if isinstance(source, KindSource):
            namespaces = source.namespaces_within(self.namespaces)
        if not self.started:
            return SourceHealth(source.name, False, namespaces, None)
        return SourceHealth(source.name, source.wait_synced(0.0), namespaces, source.healthy())


def _reader_of(kind: Any) -> KindSource:
    """Return the source of a kind that is only read: mappers of the others may read it too."""
    name = f"reads-{api_resource(kind).plural}"
    return KindSource(kind, mapper=None, follow_namespaces=True, name=name)


def _wait(source: Source, timeout: float, stop: threading.Event) -> bool:
    if isinstance(source, KindSource) and source.name == PRIMARY:
        return source.wait_answered(timeout, stop)
    return source.wait_synced(timeout, stop)


def _passes(predicate: Predicate, event: CreateEvent) -> bool:
    try:
        return predicate.passes(event)
    except Exception:  # noqa: BLE001 - the router lets such an event pass, and says so
        return True


def _only_reads(source: Source) -> bool:
    return isinstance(source, KindSource) and source.mapper is None
