"""Sources that other code calls: a webhook, a message broker, another thread.

Promises that calls before the start are not lost, that a primary that does not exist is ignored,
and that nothing is kept of a primary that is gone.

Source: Java Operator SDK SimpleInboundEventSource, CachingInboundEventSource; controller-runtime
pkg/source Channel and Func.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Final

from clientgo.meta import ObjectName
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.change_events import GenericEvent
from clientgo.operator.errors import AlreadyStartedError, DeclarationError
from clientgo.operator.mappers import Mapper
from clientgo.operator.predicates import Predicate
from clientgo.operator.sources.primaries import ItemCache, ItemId, PrimaryWatch
from clientgo.operator.sources.source import Sink, Source, SourceContext, ThreadSource
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.operator.source")

RESTART_DELAY: Final = 1.0
"""Seconds after which a function that raised is started again."""


@uncopyable("it has threads; make one in each process")
class InboundSource(Source):
    """Other code calls ``notify(key)`` and, if ``cached``, ``put`` and ``remove``. Thread-safe."""

    def __init__(
        self,
        *,
        cached: bool = False,
        item_id: ItemId | None = None,
        kind: Any = None,
        name: str = "inbound",
    ) -> None:
        self.name = name
        self.kind = kind
        self._cached = cached
        self._cache = ItemCache(item_id)
        self._lock = threading.Lock()
        self._early: dict[ObjectName, None] = {}
        self._started: tuple[Sink, PrimaryWatch] | None = None

    # For other code

    def notify(self, key: ObjectName) -> None:
        """Run a primary. Never blocks."""
        if self._is_known(key):
            self._wake(key)

    def put(self, key: ObjectName, item: Any) -> None:
        """Add an item of a primary, which runs if that is a change. Needs ``cached=True``."""
        self._check_cached()
        if self._is_known(key) and self._cache.put(key, item):
            self._wake(key)

    def remove(self, key: ObjectName, item_id: Hashable) -> None:
        """Remove an item of a primary. Needs ``cached=True``."""
        self._check_cached()
        if self._cache.remove(key, item_id):
            self._wake(key)

    # For the controller

    def start(self, context: SourceContext, sink: Sink) -> None:
        with self._lock:
            if self._started is not None:
                raise AlreadyStartedError(f"source {self.name} runs already")
            self._started = sink, PrimaryWatch(context, self._cache.forget)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        """Wait for the primaries; then queue those that were named before the start."""
        started = self._started
        if started is None or not started[1].wait_synced(timeout, stop):
            return False
        with self._lock:
            early, self._early = self._early, {}
        self._cache.forget_if(lambda key: not self._is_known(key))
        for key in early:
            self.notify(key)
        return True

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        started = self._started
        if started is not None:
            started[1].change_namespaces(namespaces)
            self._cache.keep_only(namespaces)

    def stop(self) -> None:
        with self._lock:
            started, self._started = self._started, None
        if started is not None:
            started[1].stop()

    def secondaries(self, key: ObjectName) -> list[Any]:
        """Return the items of a primary."""
        return self._cache.items(key)

    def read_once(
        self, context: SourceContext, key: ObjectName, primary: Any | None
    ) -> list[Any] | None:
        return self._cache.items(key) if self._cached else None

    def _wake(self, key: ObjectName) -> None:
        with self._lock:
            started = self._started
            if started is None:
                self._early[key] = None
                return
        started[0].enqueue(key)

    def _is_known(self, key: ObjectName) -> bool:
        """Return True if there is such a primary; before the start every primary may exist."""
        started = self._started
        if started is None or started[1].get(key) is not None:
            return True
        _log.debug("source %s: there is no primary %s; ignored", self.name, key)
        return False

    def _check_cached(self) -> None:
        if not self._cached:
            raise DeclarationError(f"source {self.name} keeps no items; make it with cached=True")


@uncopyable("it has threads; make one in each process")
class ChannelSource(ThreadSource):
    """Other threads put objects in; ``mapper`` says which primaries they concern. Thread-safe.

    What is put before the start, or is left when it stops, waits for the next start.
    """

    def __init__(
        self,
        mapper: Mapper,
        *,
        predicate: Predicate | None = None,
        buffer: int = 1024,
        name: str = "channel",
    ) -> None:
        if buffer < 1:
            raise DeclarationError(f"source {name}: buffer must be at least 1, not {buffer}")
        super().__init__(name)
        self.mapper = mapper
        self.predicate = predicate
        self._buffer = buffer
        self._events: deque[GenericEvent] = deque()
        self._changed = threading.Condition()
        self._stopped = False

    def put(self, obj: Any, *, timeout: float | None = None) -> None:
        """Add an event about an object. Blocks while the buffer is full; raises ``queue.Full``
        after ``timeout`` seconds, and after a stop, which leaves no thread to make room."""
        with self._changed:
            self._changed.wait_for(lambda: self._stopped or self._has_room_locked(), timeout)
            if not self._has_room_locked():
                raise queue.Full(f"source {self.name} holds {self._buffer} events already")
            self._events.append(GenericEvent(obj))
            self._changed.notify_all()

    def start(self, context: SourceContext, sink: Sink) -> None:
        with self._changed:
            self._stopped = False
        super().start(context, sink)

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        super().stop()

    def work(self, context: SourceContext, sink: Sink) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._events)
                if context.stop.is_set() or self._stopped:
                    return
                event = self._events.popleft()
                self._changed.notify_all()
            sink.emit(event)

    def _has_room_locked(self) -> bool:
        return len(self._events) < self._buffer


@uncopyable("it has threads; make one in each process")
class FunctionSource(ThreadSource):
    """Runs ``function(context, sink)`` in a thread until ``context.stop`` is set.

    A coroutine runs on the event loop, and is cancelled then. The function calls
    ``sink.enqueue(key)``. If it raises it is started again after a second.
    """

    def __init__(
        self, function: Callable[[SourceContext, Sink], object], *, name: str = "func"
    ) -> None:
        super().__init__(name)
        self.again = partial(FunctionSource, function, name=name)
        self._function = function

    def work(self, context: SourceContext, sink: Sink) -> None:
        while not context.stop.is_set():
            try:
                context.result_of(self.name, self._function(context, sink))
            except Exception as error:  # noqa: BLE001 - started again, like every loop
                if not context.stop.is_set():
                    sink.failed(error)
            else:
                return
            context.clock.sleep(RESTART_DELAY, context.stop)

    def healthy(self) -> str | None:
        return None  # the function may have finished


inbound = InboundSource
channel = ChannelSource
func = FunctionSource
