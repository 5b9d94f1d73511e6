"""A second cluster, for operators that watch one and work in another.

    remote = Cluster("https://remote:6443", name="remote")
    manager.add_cluster(remote)
    manager.controller(Foo).source(remote.watch(Bar, mapper=by_name())).build(FooReconciler())

Promises a client and caches of its own, started and stopped with the manager's. ``ctx.secondaries``
does not find its objects: read them with ``remote.client``. Leadership does not guard its writes.

Source: controller-runtime pkg/cluster; Java Operator SDK, informers with clients of their own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Unpack

from clientgo.observe.metrics import NO_METRICS
from clientgo.operator.cache.object_cache import Kind, ObjectCache
from clientgo.operator.cache.scope import CacheScope
from clientgo.operator.client.configured_client import ClientOptions, client_of
from clientgo.operator.client.events import EventPublisher
from clientgo.operator.client.live_client import CachedClient
from clientgo.operator.errors import DeclarationError
from clientgo.operator.mappers import Mapper
from clientgo.operator.sources.kind_source import KindSource, WatchOptions, watch
from clientgo.operator.sources.source import Sink, Source, SourceContext
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable


@uncopyable("it has threads; make one in each process")
class Cluster:
    """An API server in addition to the manager's own. Thread-safe.

    ``config`` is what ``Manager`` takes for its own.
    """

    def __init__(
        self,
        config: Any,
        *,
        name: str,
        cache: CacheScope | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name = name
        self.base = client_of(config, name, NO_METRICS)
        self.cache = ObjectCache(self.base, default=cache, on_crash=self._crashed, clock=clock)
        self.client = CachedClient(self.base, self.cache, ClientOptions(field_manager=name))
        self.events = EventPublisher(self.base, clock)
        self.is_started = False
        self._fail: Callable[[BaseException], object] | None = None

    def watch(
        self, kind: Kind, *, mapper: Mapper | None = None, **options: Unpack[WatchOptions]
    ) -> ClusterSource:
        """A source for objects of a kind in this cluster; ``options`` are those of ``watch``."""
        return ClusterSource(self, watch(kind, mapper=mapper, **options))

    def start(self, fail: Callable[[BaseException], object] | None = None) -> None:
        """Start the caches; the manager does. ``fail`` is called with what ends an informer."""
        self._fail = fail
        self.cache.start()
        self.is_started = True

    def _crashed(self, error: BaseException) -> None:
        if self._fail is not None:
            self._fail(error)

    def stop(self) -> None:
        """Stop the caches, write the Events that wait, and close the client; the manager does."""
        self.cache.stop()
        self.events.shutdown()
        self.base.close()


class ClusterSource(Source):
    """A :class:`KindSource` in another cluster; :meth:`Cluster.watch` makes it."""

    def __init__(self, cluster: Cluster, source: KindSource) -> None:
        self.name = f"{cluster.name}-{source.name}"
        self.mapper = source.mapper
        self.predicate = source.predicate
        self._cluster = cluster
        self._source = source

    def start(self, context: SourceContext, sink: Sink) -> None:
        """Raises ``DeclarationError`` if the manager does not have the cluster."""
        if not self._cluster.is_started:
            name = self._cluster.name
            raise DeclarationError(
                f"source {self.name} watches cluster {name!r}, which is not started: add it with "
                "manager.add_cluster(...)"
            )
        there = replace(context, cache=self._cluster.cache, client=self._cluster.client)
        self._source.start(there, sink)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        return self._source.wait_synced(timeout, stop)

    def stop(self) -> None:
        self._source.stop()

    def healthy(self) -> str | None:
        return self._source.healthy()
