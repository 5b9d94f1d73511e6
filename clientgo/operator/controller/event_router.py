"""From an event to the primaries that it concerns: predicate, mapper, queue.

Promises that no event is lost to a bug in a predicate or mapper: a predicate that raises lets it
pass, a mapper that raises is asked again three times, a second apart, and then there is an error
in the log and in the metrics.

Source: controller-runtime pkg/handler and pkg/predicate.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final, TypeAlias

from clientgo.clock import Clock
from clientgo.meta import ObjectName, metadata_of
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet
from clientgo.operator.change_events import (
    ChangeEvent,
    CreateEvent,
    UpdateEvent,
)
from clientgo.operator.mappers import MapContext, Mapper, mapped_keys
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.predicates import Predicate
from clientgo.operator.runs import RunQueue, Timers
from clientgo.operator.runs.run_fields import RunFields, logging_about
from clientgo.workqueue import LOW_PRIORITY

MAPPER_RETRIES: Final = 3
MAPPER_RETRY_DELAY: Final = 1.0

UnlessEcho: TypeAlias = Callable[
    [Any, ObjectName, Callable[[], object], Callable[[], object]], object
]
"""Calls the first function unless a run for that key has just written this state of an object, and
then the second."""

OnEcho: TypeAlias = Callable[[ObjectName, ChangeEvent], object]
"""Handles an event that passed, of a state that a run for that key has just written."""

_log = logging.getLogger("clientgo.operator.source")


class EventRouter:
    """The sink of one source. Thread-safe; user code runs in the source's thread."""

    def __init__(
        self,
        source: str,
        controller: str,
        queue: RunQueue,
        context: MapContext,
        namespaces: Callable[[], NamespaceSet],
        metrics: ControllerMetrics,
        timers: Timers,
        clock: Clock,
        *,
        mapper: Mapper | None = None,
        predicate: Predicate | None = None,
        unless_echo: UnlessEcho | None = None,
        on_echo: OnEcho | None = None,
    ) -> None:
        self._source = source
        self._controller = controller
        self._queue = queue
        self._context = context
        self._namespaces = namespaces
        self._metrics = metrics
        self._clock = clock
        self._mapper = mapper
        self._predicate = predicate
        self._unless_echo = unless_echo
        self._on_echo = on_echo
        self._timers = timers
        self._lock = threading.Lock()
        self._retried: set[object] = set()
        """A key for each event whose mapper is asked again."""
        self._stopped = False

    def emit(self, event: ChangeEvent) -> None:
        self._metrics.event(self._source, event)
        log = RunFields(
            self._controller, self._context.primary, None, obj=event.obj, prefix="event"
        )
        with logging_about(log):
            if self.passes(event):
                self._route(event, 0)

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        if not isinstance(key, ObjectName) or not key.name:
            _log.error(
                "%s: source %s: %r names no object; pass ObjectName(namespace, name)",
                self._controller,
                self._source,
                key,
            )
            self._metrics.source_error(self._source)
            return
        if self._is_watched(key):
            self._queue.trigger(key, priority, after=after)

    def failed(self, error: Exception) -> None:
        _log.warning("%s: source %s: %s", self._controller, self._source, error)
        self._metrics.source_error(self._source)

    def stop(self) -> None:
        """Drop what waits for another try of its mapper."""
        with self._lock:
            self._stopped = True
            retried, self._retried = self._retried, set()
        for key in retried:
            self._timers.cancel(key)

    def passes(self, event: ChangeEvent) -> bool:
        """Return True if the predicate lets an event through."""
        if self._predicate is None:
            return True
        if isinstance(event, UpdateEvent) and event.resync:
            event = CreateEvent(event.obj)  # nothing changed, which is no reason not to look
        try:
            return self._predicate.passes(event)
        except Exception:  # noqa: BLE001 - a look too many does no harm
            _log.exception(
                "%s: a predicate of source %s failed; the event passes",
                self._controller,
                self._source,
            )
            self._metrics.source_error(self._source)
            return True

    def _route(self, event: ChangeEvent, attempt: int) -> None:
        if self._mapper is None:
            return
        try:
            keys = mapped_keys(self._mapper, self._context, states_of(event))
        except Exception as error:  # noqa: BLE001 - the event is kept and tried again
            self._keep(event, attempt, error)
            return
        for key, priority in keys.items():
            if not self._is_watched(key):
                continue
            trigger = partial(self._queue.trigger, key, priority or priority_of(event))
            if self._unless_echo is None:
                trigger()
            else:
                self._unless_echo(event.obj, key, trigger, partial(self._echoed, key, event))

    def _echoed(self, key: ObjectName, event: ChangeEvent) -> None:
        if self._on_echo is not None:
            self._on_echo(key, event)

    def _keep(self, event: ChangeEvent, attempt: int, error: Exception) -> None:
        self._metrics.source_error(self._source)
        if attempt >= MAPPER_RETRIES:
            _log.error(
                "%s: the mapper of source %s failed %d times; the event is dropped: %s",
                self._controller,
                self._source,
                attempt + 1,
                error,
                exc_info=error,
            )
            return
        _log.warning("%s: the mapper of source %s: %s", self._controller, self._source, error)
        key, due = object(), self._clock.monotonic() + MAPPER_RETRY_DELAY
        with self._lock:
            if not self._stopped:
                self._retried.add(key)
                self._timers.set(key, due, partial(self._retry, key, event, attempt + 1))

    def _retry(self, key: object, event: ChangeEvent, attempt: int) -> None:
        with self._lock:
            if key not in self._retried:
                return
            self._retried.remove(key)
        self._route(event, attempt)

    def _is_watched(self, key: ObjectName) -> bool:
        if not self._context.primary.namespaced:
            return True
        namespaces = self._namespaces()
        return namespaces == EVERYWHERE or key.namespace in namespaces


def states_of(event: ChangeEvent) -> Iterable[Any]:
    """The states of the object that an event is about: on an update both."""
    if isinstance(event, UpdateEvent) and event.old is not event.new:
        return (event.old, event.new)
    return (event.obj,)


def priority_of(event: ChangeEvent) -> int:
    """What is only listed once more can wait; what is being deleted cannot."""
    if isinstance(event, CreateEvent) and event.initial:
        return 0 if metadata_of(event.obj).deletion_timestamp else LOW_PRIORITY
    if isinstance(event, UpdateEvent) and event.resync:
        return LOW_PRIORITY
    return 0
