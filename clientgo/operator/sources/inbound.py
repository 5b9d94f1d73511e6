"""Sources that are told: by a webhook, a message broker, another thread.

Promises that what is told before the start is not lost, and that a primary nobody knows is
ignored, with a line at DEBUG.

Source: Java Operator SDK SimpleInboundEventSource, CachingInboundEventSource; controller-runtime
pkg/source Channel and Func.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Hashable
from typing import Any, Final

from clientgo.meta import ObjectName
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.change_events import GenericEvent
from clientgo.operator.errors import AlreadyStartedError, DeclarationError
from clientgo.operator.mappers import Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.sources.item_cache import ItemCache, ItemId
from clientgo.operator.sources.source import Sink, SourceContext

_log = logging.getLogger("clientgo.operator.source")

RESTART_DELAY: Final = 1.0
"""Seconds after which a function that raised is started again."""


class InboundSource:
    """Somebody says which primaries deserve a look; :func:`inbound` makes it. Thread-safe."""

    def __init__(self, *, cached: bool, item_id: ItemId | None, kind: Any, name: str) -> None:
        self.name = name
        self.kind = kind
        self._cached = cached
        self._cache = ItemCache(item_id)
        self._lock = threading.Lock()
        self._early: dict[ObjectName, None] = {}
        self._started: tuple[Sink, KindCache] | None = None

    # For whoever tells

    def notify(self, key: ObjectName) -> None:
        """Run a primary. Never blocks."""
        with self._lock:
            started = self._started
            if started is None:
                self._early[key] = None
                return
        _pass_on(self.name, key, *started)

    def put(self, key: ObjectName, item: Any) -> None:
        """Something belongs to a primary, which runs if that is news. Needs ``cached=True``."""
        self._check_cached()
        if self._cache.put(key, item):
            self.notify(key)

    def remove(self, key: ObjectName, item_id: Hashable) -> None:
        """Something does not belong to a primary any more. Needs ``cached=True``."""
        self._check_cached()
        if self._cache.remove(key, item_id):
            self.notify(key)

    # For the controller

    def start(self, context: SourceContext, sink: Sink) -> None:
        cache = context.cache.peek(context.primary)
        assert cache is not None, "a controller declares its primary first"
        with self._lock:
            if self._started is not None:
                raise AlreadyStartedError(f"source {self.name} runs already")
            self._started = sink, cache
            early, self._early = list(self._early), {}
        for key in early:
            # The primary may not be cached yet; a key too many does no harm.
            sink.enqueue(key)

    def wait_synced(self, _timeout: float) -> bool:
        return True

    def stop(self) -> None:
        with self._lock:
            self._started = None

    def secondaries(self, key: ObjectName) -> list[Any]:
        """What was said to belong to a primary."""
        return self._cache.items(key)

    def _check_cached(self) -> None:
        if not self._cached:
            raise DeclarationError(f"source {self.name} keeps no items; make it with cached=True")


def inbound(
    *,
    cached: bool = False,
    item_id: ItemId | None = None,
    kind: Any = None,
    name: str = "inbound",
) -> InboundSource:
    """A source that is told with ``notify(key)`` or, ``cached``, ``put`` and ``remove``."""
    return InboundSource(cached=cached, item_id=item_id, kind=kind, name=name)


def _pass_on(source: str, key: ObjectName, sink: Sink, primaries: KindCache) -> None:
    if primaries.get(key) is None:
        _log.debug("source %s: there is no primary %s; ignored", source, key)
        return
    sink.enqueue(key)


class ChannelSource:
    """Events of any kind from other threads, in order; :func:`channel` makes it. Thread-safe."""

    def __init__(self, mapper: Mapper, predicate: Predicate | None, buffer: int, name: str) -> None:
        self.name = name
        self.mapper = mapper
        self.predicate = predicate
        self._events: queue.Queue[Any] = queue.Queue(buffer)
        self._thread: threading.Thread | None = None

    def put(self, obj: Any, *, timeout: float | None = None) -> None:
        """Tell of an object. Blocks while the buffer is full; raises ``queue.Full`` after
        ``timeout`` seconds."""
        self._events.put(GenericEvent(obj), timeout=timeout)

    def start(self, _context: SourceContext, sink: Sink) -> None:
        if self._thread is not None:
            raise AlreadyStartedError(f"source {self.name} runs already")
        self._thread = threading.Thread(
            target=self._run, args=(sink,), name=f"channel-{self.name}", daemon=True
        )
        self._thread.start()

    def wait_synced(self, _timeout: float) -> bool:
        return True

    def stop(self) -> None:
        thread, self._thread = self._thread, None
        if thread is not None:
            self._events.put(None)
            thread.join()

    def healthy(self) -> str | None:
        thread = self._thread
        return None if thread is not None and thread.is_alive() else "its thread does not run"

    def _run(self, sink: Sink) -> None:
        while (event := self._events.get()) is not None:
            sink.emit(event)


def channel(
    mapper: Mapper, *, predicate: Predicate | None = None, buffer: int = 1024, name: str = "channel"
) -> ChannelSource:
    """A source that other threads put objects into; ``mapper`` says whom they concern."""
    if buffer < 1:
        raise DeclarationError(f"source {name}: buffer must be at least 1, not {buffer}")
    return ChannelSource(mapper, predicate, buffer, name)


class FunctionSource:
    """User code that enqueues keys as it likes; :func:`func` makes it."""

    def __init__(self, function: Callable[[SourceContext, Sink], object], name: str) -> None:
        self.name = name
        self._function = function
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, context: SourceContext, sink: Sink) -> None:
        if self._thread is not None:
            raise AlreadyStartedError(f"source {self.name} runs already")
        self._stop = threading.Event()
        own = SourceContext(
            context.controller,
            context.primary,
            context.namespaces,
            context.cache,
            context.client,
            context.clock,
            self._stop,
        )
        self._thread = threading.Thread(
            target=self._run, args=(own, sink), name=f"source-{self.name}", daemon=True
        )
        self._thread.start()

    def wait_synced(self, _timeout: float) -> bool:
        return True

    def stop(self) -> None:
        self._stop.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join()

    def _run(self, context: SourceContext, sink: Sink) -> None:
        while not context.stop.is_set():
            try:
                self._function(context, sink)
            except Exception as error:  # noqa: BLE001 - started again, like every loop
                sink.failed(error)
            else:
                return
            context.clock.sleep(RESTART_DELAY, context.stop)


def func(
    function: Callable[[SourceContext, Sink], object], *, name: str = "func"
) -> FunctionSource:
    """A source whose ``function(context, sink)`` runs in a thread until ``context.stop`` is set,
    and calls ``sink.enqueue(key)``. If it raises it is started again after a second."""
    return FunctionSource(function, name)
