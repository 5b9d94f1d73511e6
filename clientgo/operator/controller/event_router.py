"""From an event to the primaries that it concerns: predicate, mapper, queue.

Promises that a predicate that raises lets the event pass, and that a mapper that raises is called
again three times, a second apart; then the event is dropped with an error. After the stop of the
controller a mapper that raises is ignored: the caches that it reads end too.

Source: controller-runtime pkg/handler and pkg/predicate; Java Operator SDK ControllerEventSource.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from clientgo.meta import ObjectName, metadata_of
from clientgo.meta.patches import create_merge_patch
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import EVERYWHERE, NamespaceSet
from clientgo.operator.change_events import ChangeEvent, CreateEvent, DeleteEvent, UpdateEvent
from clientgo.operator.client.differences import as_wanted, changed_fields
from clientgo.operator.controller.shared_failures import SharedFailures
from clientgo.operator.finalizers import has_finalizer, way_out
from clientgo.operator.mappers import MapContext, Mapper, mapped_keys
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.predicates import Predicate
from clientgo.operator.runs import SELF_WAKES_WITHOUT_WAIT, RunQueue, Timers
from clientgo.operator.runs.run_fields import RunFields, logging_about
from clientgo.util.clock import Clock
from clientgo.workqueue import LOW_PRIORITY

MAPPER_RETRIES: Final = 3
MAPPER_RETRY_DELAY: Final = 1.0

_log = logging.getLogger("clientgo.operator.source")


@dataclass(frozen=True, slots=True, kw_only=True)
class Routing:
    """What the routers of one controller share. ``namespaces()`` are those of its primaries."""

    controller: str
    queue: RunQueue
    context: MapContext
    namespaces: Callable[[], NamespaceSet]
    metrics: ControllerMetrics
    timers: Timers
    clock: Clock


class EventRouter:
    """The sink of one source. Thread-safe; user code runs in the source's thread.

    ``own_writes`` are those to the objects of the source: their events do not wake the primary
    whose run has written.
    """

    def __init__(
        self,
        routing: Routing,
        source: str,
        *,
        mapper: Mapper | None = None,
        predicate: Predicate | None = None,
        own_writes: OwnWrites | None = None,
    ) -> None:
        self._routing = routing
        self._queue = routing.queue
        self._metrics = routing.metrics
        self._source = source
        self._mapper = mapper
        self._predicate = predicate
        self._own_writes = own_writes
        self._failures = SharedFailures(routing.clock)
        self._lock = threading.Lock()
        self._retried: set[object] = set()
        """A key for each event whose mapper is called again."""
        self._stopped = False

    def emit(self, event: ChangeEvent) -> None:
        self._metrics.event(self._source, event)
        primary = self._routing.context.primary
        log = RunFields(self._routing.controller, primary, None, obj=event.obj, prefix="event")
        with logging_about(log):
            if self._passes(event):
                self._route(event, 0)

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        if not isinstance(key, ObjectName) or not key.name:
            message = "%s: source %s: %r names no object; pass ObjectName(namespace, name)"
            _log.error(message, self._routing.controller, self._source, key)
            self._metrics.source_error(self._source)
        elif self._is_watched(key):
            if not self._queue.has_started:
                priority = priority or LOW_PRIORITY
            self._queue.trigger(key, priority, after=after)

    def failed(self, error: Exception) -> None:
        self._metrics.source_error(self._source)
        others = self._failures.failed(object(), error)  # what it is about is not known here
        level = logging.DEBUG if others is None else logging.WARNING
        also = f" (and {others} times more, like it)" if others else ""
        _log.log(level, "%s: source %s: %s%s", self._routing.controller, self._source, error, also)

    def stop(self) -> None:
        """Drop what waits for another try of its mapper, and what fails from now on. Idempotent."""
        with self._lock:
            self._stopped = True
            retried, self._retried = self._retried, set()
        for key in retried:
            self._routing.timers.cancel(key)

    def _passes(self, event: ChangeEvent) -> bool:
        if self._predicate is None:
            return True
        if isinstance(event, UpdateEvent) and event.resync:
            event = CreateEvent(event.obj)  # nothing changed, which is no reason not to look
        try:
            return self._predicate.passes(event)
        except Exception:  # noqa: BLE001 - a run too many does no harm
            message = "%s: a predicate of source %s failed; the event passes"
            _log.exception(message, self._routing.controller, self._source)
            self._metrics.source_error(self._source)
            return True

    def _route(self, event: ChangeEvent, attempt: int) -> None:
        if self._mapper is None:
            return
        try:
            keys = mapped_keys(self._mapper, self._routing.context, _states_of(event))
        except Exception as error:  # noqa: BLE001 - the event is kept and tried again
            self._keep(event, attempt, error)
            return
        usual = _priority_of(event, has_started=self._queue.has_started)
        for key, priority in keys.items():
            if not self._is_watched(key):
                continue
            trigger = partial(self._queue.trigger, key, priority or usual)
            if self._own_writes is None:
                trigger()
            else:
                writer, echoed = (self._routing.controller, key), partial(self._echoed, key, event)
                changes = partial(_changes_of, event)
                self._own_writes.unless_echo(event.obj, writer, trigger, echoed, changes)
            if not _is_repeated(event):
                self._queue.note_change(key)

    def _echoed(self, key: ObjectName, event: ChangeEvent) -> None:
        """Handle an event that passed, of a state that a run for that key has just written."""

    def _keep(self, event: ChangeEvent, attempt: int, error: Exception) -> None:
        controller, routing = self._routing.controller, self._routing
        with self._lock:
            if self._stopped:
                return
        self._metrics.source_error(self._source)
        if attempt >= MAPPER_RETRIES:
            _log.error(
                "%s: the mapper of source %s failed %d times; the event is dropped: %s",
                controller,
                self._source,
                attempt + 1,
                error,
                exc_info=error,
            )
            return
        _log.warning("%s: the mapper of source %s: %s", controller, self._source, error)
        key, due = object(), routing.clock.monotonic() + MAPPER_RETRY_DELAY
        with self._lock:
            if not self._stopped:
                self._retried.add(key)
                routing.timers.set(key, due, partial(self._retry, key, event, attempt + 1))

    def _retry(self, key: object, event: ChangeEvent, attempt: int) -> None:
        with self._lock:
            if key not in self._retried:
                return
            self._retried.remove(key)
        self._route(event, attempt)

    def _is_watched(self, key: ObjectName) -> bool:
        if not self._routing.context.primary.namespaced:
            return True
        namespaces = self._routing.namespaces()
        return namespaces == EVERYWHERE or key.namespace in namespaces


class PrimaryRouter(EventRouter):
    """The sink of the primaries themselves: what is gone is forgotten, unless the controller
    reconciles by key (``by_key``) or wants its last state (``on_deleted``). ``deleting`` is called
    for what is being deleted, or gone.

    A reconciler that wakes itself by its writes is slowed down and reported. So is an object that
    leaves the labels of the controller with one of its ``finalizers``: once it is deleted it stays.
    """

    def __init__(
        self,
        routing: Routing,
        source: str,
        *,
        by_key: bool,
        on_deleted: bool,
        deleting: Callable[[ObjectName], object],
        finalizers: tuple[str, ...] = (),
        **options: Any,
    ) -> None:
        super().__init__(routing, source, **options)
        self._finalizers = finalizers
        self._deleting = deleting
        self._by_key = by_key
        self._on_deleted = on_deleted

    def emit(self, event: ChangeEvent) -> None:
        if not isinstance(event, DeleteEvent):
            super().emit(event)
        elif self._by_key:
            self._queue.note_deleted(ObjectName.of(event.obj))
            super().emit(event)
        elif self._on_deleted and self._passes(event):
            self._queue.note_deleted(ObjectName.of(event.obj), event.obj)
            self._queue.deleted(ObjectName.of(event.obj), event.obj)
        else:
            self._queue.forget(ObjectName.of(event.obj))
        if isinstance(event, DeleteEvent):
            self._check_left(event)
        if isinstance(event, DeleteEvent) or metadata_of(event.obj).deletion_timestamp:
            # After the trigger, so that one run follows the one which this ends.
            self._deleting(ObjectName.of(event.obj))

    def _check_left(self, event: DeleteEvent) -> None:
        """Report an object that is gone here only: one with finalizers is not deleted at once."""
        obj = event.obj
        ours = [name for name in self._finalizers if has_finalizer(obj, name)]
        if ours and event.final_state_known and not metadata_of(obj).deletion_timestamp:
            _log.error(
                "%s: %s has no longer the labels that are watched, and has the finalizer %s: once "
                "it is deleted it stays, unless it gets the labels again, or you %s",
                self._routing.controller,
                ObjectName.of(obj),
                ", ".join(ours),
                way_out(self._routing.context.primary, obj, ours),
            )

    def _echoed(self, key: ObjectName, event: ChangeEvent) -> None:
        runs, wait = self._queue.wrote_itself(key, metadata_of(event.obj).resource_version)
        if not wait:
            return
        self._metrics.woke_itself()
        if runs == SELF_WAKES_WITHOUT_WAIT:
            changed = "the object"
            if isinstance(event, UpdateEvent):
                changed = ", ".join(changed_fields(event.old, event.new))
            _log.warning(
                "%s: %s wakes itself: the last %d runs had no other cause than the write of the "
                "run before, which changed %s; the next runs wait %g s and longer. Write only "
                "what differs, or add a predicate that ignores the field",
                self._routing.controller,
                key,
                runs,
                changed,
                wait,
            )


def _changes_of(event: ChangeEvent) -> Any:
    """Return the merge patch from the state before to the one after.

    Nothing but its creator has changed an object that has one field manager.
    """
    if isinstance(event, UpdateEvent):
        return create_merge_patch(as_wanted(event.old), as_wanted(event.obj))
    managers = {entry.manager for entry in metadata_of(event.obj).managed_fields}
    return {} if len(managers) == 1 else as_wanted(event.obj)


def _states_of(event: ChangeEvent) -> Iterable[Any]:
    """Return the states of the object that an event is about: on an update both."""
    if isinstance(event, UpdateEvent) and event.old is not event.new:
        return (event.old, event.new)
    return (event.obj,)


def _priority_of(event: ChangeEvent, *, has_started: bool) -> int:
    """Return the priority of a run: a repeated listing can wait, a deletion cannot.

    What happens before the workers start can wait too: a standby has seen everything that the
    leader did, and what is edited once this process leads must not come after all that.
    """
    if isinstance(event, UpdateEvent) and event.resync:
        return LOW_PRIORITY
    if has_started and not _is_repeated(event):
        return 0
    if isinstance(event, CreateEvent | UpdateEvent) and metadata_of(event.obj).deletion_timestamp:
        return 0
    return LOW_PRIORITY


def _is_repeated(event: ChangeEvent) -> bool:
    """Return True if an event says what is there, and not that something has changed."""
    if isinstance(event, CreateEvent):
        return event.initial
    return isinstance(event, UpdateEvent) and event.resync
