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
from clientgo.operator.cache.scope import Namespaces, NamespaceSet, namespace_set
from clientgo.operator.controller.cycle import Cycle
from clientgo.operator.controller.declaration import Declaration
from clientgo.operator.controller.namespace_changes import NamespaceChanges
from clientgo.operator.controller.parts import ControllerParts, Services
from clientgo.operator.controller.sources import ControllerSources, SourceHealth
from clientgo.operator.errors import ConfigError
from clientgo.operator.runs import (
    RunQueue,
    RunQueueStatistics,
    Timers,
)
from clientgo.operator.sources.source import Source
from clientgo.util.copies import uncopyable

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
        parts: ControllerParts,
        sources: ControllerSources,
        queue: RunQueue,
        timers: Timers,
    ) -> None:
        self.services = services
        self.declaration = declaration
        self.parts = parts
        self.config = parts.config
        self.name = parts.controller
        self.primary: APIResource = parts.primary
        self.metrics = parts.metrics
        self.queue = queue
        self._sources = sources
        self._timers = timers
        self._cycle = Cycle(parts)
        self._namespace_changes = NamespaceChanges(parts, queue, sources)
        self.primary_cache.on_recovery(lambda: queue.wake_failed(WAKE_DELAY))

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

    def written_caches(self) -> set[KindCache]:
        """Return the caches of the kinds that the controller writes by its declaration."""
        return self._sources.written()

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
        self.metrics.started(count)
        threads = min(count, ASYNC_THREADS) if self.parts.shape.is_async else None
        self.queue.start(self._cycle, count, threads=threads)
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
