"""A controller: one primary kind, its sources, one queue, one reconciler.

Promises that nothing is reconciled before every source has delivered what exists, that a stop waits
for the current runs, and that nothing is written because of a start or stop.

Source: controller-runtime pkg/controller; Java Operator SDK Controller, RegisteredController.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from clientgo.meta import APIResource, ObjectName
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.cache.scope import EVERYWHERE, Namespaces, NamespaceSet, namespace_set
from clientgo.operator.controller.cycle import Cycle
from clientgo.operator.controller.declaration import AUTOMATIC, ControllerConfig, Declaration
from clientgo.operator.controller.namespace_changes import NamespaceChanges
from clientgo.operator.controller.parts import ControllerParts, Services
from clientgo.operator.controller.sources import ControllerSources, SourceHealth
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.finalizers import checked_finalizer, default_finalizer
from clientgo.operator.metrics import ControllerMetrics, queue_metrics
from clientgo.operator.reconciler import Shape
from clientgo.operator.runs import (
    RunDeadlines,
    RunQueue,
    RunQueueStatistics,
    RunSettings,
    Timers,
)
from clientgo.operator.runs.run_fields import current_run
from clientgo.operator.settings.labels import selector_of
from clientgo.operator.sources.source import Source
from clientgo.operator.status_report import StateKeeper, StatusNotes
from clientgo.util.copies import uncopyable
from clientgo.util.wait import StopEvent

if TYPE_CHECKING:
    from clientgo.operator.controller.explanation import Explanation

P = TypeVar("P")

WAKE_DELAY: Final = 1.0
"""Seconds from the end of an outage until the objects run that failed: their caches need a moment
to take in what has changed."""

_TIMEOUTS_UNTIL_STUCK: Final = 10

ASYNC_THREADS: Final = 4
"""Threads that begin the runs of a controller with coroutines; few of them send a request."""

_log = logging.getLogger("clientgo.operator.controller")


@dataclass(frozen=True, slots=True)
class ControllerHealth:
    """A controller at one instant; ``stuck`` if all its workers are in runs without an end."""

    name: str
    namespaces: NamespaceSet
    sources: tuple[SourceHealth, ...]
    queue: RunQueueStatistics
    workers_alive: bool
    stuck: bool


@uncopyable("it has threads; make one in each process")
class Controller(Generic[P]):
    """One controller of one manager; ``manager.register`` and the builder make it. Thread-safe."""

    def __init__(
        self,
        services: Services,
        declaration: Declaration,
        shape: Shape,
        config: ControllerConfig,
        keeper: StateKeeper | None = None,
    ) -> None:
        _check_deletion(shape, config)
        self.services = services
        self.declaration = declaration
        self.config = config
        self.name = config.name
        self.primary: APIResource = api_resource(declaration.primary)
        self.metrics = ControllerMetrics(
            self.name,
            services.metrics,
            per_namespace=services.metrics_per_namespace,
            sink=services.sink,
        )
        client = services.client.as_manager(self.name).written_by(current_run)
        namespaces = _namespaces_of(self.primary, config, services.namespaces)
        self._sources = ControllerSources(config, declaration, services, client, namespaces)
        stopping = StopEvent()
        if shape.is_async:
            services.event_loop()  # it is made now, and not by the first run
        self._timers = Timers(f"{self.name}-timers", services.clock)
        finalizer = None if shape.cleanup is None else _finalizer_of(self.primary, config)
        self.parts = ControllerParts(
            controller=self.name,
            primary=self.primary,
            client=client,
            recorder=services.recorder(self.name),
            clock=services.clock,
            values=services.values,
            secondaries=self._sources.secondaries,
            event_loop=services.event_loop,
            config=config,
            shape=shape,
            finalizer=finalizer,
            finalizers=_all_finalizers(shape, finalizer),
            cache=services.cache.declare(declaration.primary, declaration.projection),
            selector=selector_of(config.labels),
            notes=StatusNotes(
                declaration.primary,
                config.name,
                config.reporter,
                generation_aware=config.generation_aware,
                keeper=keeper,
            ),
            keeper=keeper,
            metrics=self.metrics,
            deadlines=RunDeadlines(
                self.name,
                config.reconcile_timeout,
                stopping,
                self._timers,
                services.clock,
                until_deleted=config.cancel_on_deletion,
            ),
            stopping=stopping,
        )
        self.queue = RunQueue(
            self.name,
            Cycle(self.parts),
            RunSettings(
                retry=config.retry,
                max_interval=config.max_interval or 0.0,
                rate_limit=config.rate_limit,
            ),
            stopping=stopping,
            ownership=services.ownership,
            on_crash=services.crashed,
            metrics=queue_metrics(self.name, services.metrics),
            clock=services.clock,
        )
        self._sources.declare(
            shape,
            self.queue,
            self.metrics,
            self._timers,
            finalizers=bool(self.parts.finalizers),
            wakes=None if keeper is None else keeper.wakes(),
            deleting=self.parts.deadlines.deleted,
        )
        self._namespace_changes = NamespaceChanges(self.parts, self.queue, self._sources)
        self.primary_cache.on_recovery(lambda: self.queue.wake_failed(WAKE_DELAY))

    # What it is

    @property
    def finalizer(self) -> str | None:
        """The finalizer of ``cleanup``."""
        return self.parts.finalizer

    @property
    def finalizers(self) -> tuple[str, ...]:
        """All that an object must have before it is reconciled."""
        return self.parts.finalizers

    @property
    def primary_cache(self) -> KindCache:
        return self.parts.cache

    def read_primary(self, key: ObjectName) -> Any | None:
        """Return the newest known state of a primary, shared and read-only."""
        return self.parts.read(key)

    # Its sources

    @property
    def namespaces(self) -> NamespaceSet:
        """Where the primaries are; the set of ``""`` alone is everywhere."""
        return self._sources.namespaces

    def sources(self) -> list[Source]:
        return self._sources.all()

    def add_source(self, source: Source) -> None:
        """Watch one more source, immediately if the controller runs."""
        self._sources.add(source)

    def remove_source(self, name: str) -> None:
        """Watch a source no longer. Raises ``KeyError``, and ``ValueError`` for the primary."""
        self._sources.remove(name)

    def start_sources(self, stop: threading.Event | None = None) -> None:
        """Start every source, those first that the others wait for.

        Blocks only for these, and not beyond ``stop``.
        """
        self._sources.start(stop)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> None:
        """Block until all sources have delivered the objects that exist, or ``stop`` is set.

        Raises ``CacheSyncTimeoutError`` after ``timeout`` real seconds, ``CancelledError`` at the
        stop.
        """
        self._sources.wait_synced(timeout, stop)

    def stop_sources(self) -> None:
        """Stop all sources; blocks until no event is delivered any more."""
        self._sources.stop()

    def change_namespaces(self, namespaces: Namespaces, *, drain: bool = False) -> None:
        """Reconcile the primaries of other namespaces from now on.

        Blocks until those of the new ones are known. Everything of the namespaces that are left is
        forgotten; no deletion is reported and no clean-up run. With ``drain`` they are left only
        when no primary in them has this controller's finalizer, or after two minutes.

        A controller that is not started, or starts at the moment, starts with these.

        Raises ``CacheSyncTimeoutError`` or, at the stop, ``CancelledError``, with the namespaces as
        before, and ``ConfigError`` for a kind that has no namespaces. Where one of the two was
        everywhere it raises when the old ones, which are listed again, are known.
        """
        wanted = namespace_set(namespaces)
        if not self.primary.namespaced:
            raise ConfigError(f"{self.name}: {self.primary.kind} has no namespaces to choose from")
        if self._sources.running:
            self._namespace_changes.change(wanted, drain=drain)
        else:
            self._sources.follow(wanted)

    # Running

    def start_workers(self) -> None:
        count = self.config.workers
        self.metrics.workers(count)
        threads = min(count, ASYNC_THREADS) if self.parts.shape.is_async else None
        self.queue.start(count, threads=threads)
        _log.info("%s: started %d worker%s", self.name, count, "s" * (count > 1))

    def begin_stop(self) -> None:
        """Tell the current runs to end; does not block."""
        self._sources.begin_stop()
        self.queue.begin_stop()
        self.parts.deadlines.cancel_all()

    def stop_workers(self, timeout: float | None = None) -> list[str]:
        """Wait for the current runs; return the names of threads that did not end in time."""
        self.begin_stop()
        alive = self.queue.stop(timeout)
        self._timers.stop()
        return alive

    def trigger(self, key: ObjectName, *, priority: int = 0) -> None:
        """Run a primary, whatever its predicates say."""
        self.queue.trigger(key, priority)

    def replay(self, condition: Callable[[ObjectName], bool]) -> None:
        """Treat the primaries that a condition holds for as at the start."""
        self._sources.replay(condition)

    def take(self, condition: Callable[[ObjectName], bool]) -> None:
        """Run the primaries, now this process's, that a condition holds for."""
        self.replay(condition)
        self.queue.recall(condition)

    def release(self, condition: Callable[[ObjectName], bool]) -> None:
        """Leave the primaries that a condition holds for to another process."""
        self._sources.release(condition)
        self.queue.forget_if(condition)

    def pause(self) -> None:
        """Begin no run from now on; triggers are kept."""
        self.queue.pause()

    def resume(self) -> None:
        self.queue.resume()

    def refresh_metrics(self) -> None:
        """Update what is counted only at a scrape."""
        queue = self.queue.statistics()
        self.metrics.refresh(queue.known, queue.exhausted, self.queue.depths())

    def explain(self, key: ObjectName | str) -> Explanation:
        """Say why nothing happens for a primary, or what does: see :class:`Explanation`.

        A string is ``namespace/name``. Reads what is known, changes nothing.
        """
        from clientgo.operator.controller.explanation import explain  # for those who ask

        key = ObjectName.parse(key) if isinstance(key, str) else key
        standby = self.services.standby() if self.config.needs_leadership else ""
        ownership = self.services.ownership
        return explain(self.parts, self._sources, self.queue.explain(key), key, standby, ownership)

    def health(self) -> ControllerHealth:
        timeout = self.config.reconcile_timeout
        endless = self.parts.deadlines.older_than(timeout * _TIMEOUTS_UNTIL_STUCK) if timeout else 0
        return ControllerHealth(
            self.name,
            self.namespaces,
            self._sources.health(),
            self.queue.statistics(),
            self.queue.threads_alive(),
            stuck=endless >= self.config.workers,
        )


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
