"""What becomes of the events of a controller's primaries.

Promises that nothing is kept of a primary that is gone, that the framework's own writes do not
wake it, and that a reconciler which wakes itself again and again is slowed down and reported.
Everything else is routed as events of any other source are.

Source: controller-runtime pkg/handler, EnqueueRequestForObject; Java Operator SDK
ControllerEventSource.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from clientgo.meta import ObjectName, metadata_of
from clientgo.operator.change_events import ChangeEvent, DeleteEvent, UpdateEvent
from clientgo.operator.client.differences import changed_fields
from clientgo.operator.controller.event_router import EventRouter, OnEcho
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.runs import SELF_WAKES_WITHOUT_WAIT, RunQueue

_log = logging.getLogger("clientgo.operator.controller")


class PrimaryRouter:
    """The sink of the primaries: forgets what is gone, then routes as any other.

    ``new_router`` makes that other one, of a function that handles the events of own writes.
    """

    def __init__(
        self,
        queue: RunQueue,
        metrics: ControllerMetrics,
        new_router: Callable[[OnEcho], EventRouter],
        *,
        by_key: bool,
        on_deleted: bool,
    ) -> None:
        self._queue = queue
        self._metrics = metrics
        self._by_key = by_key
        self._on_deleted = on_deleted
        self._router = new_router(self.woke_itself)

    def emit(self, event: ChangeEvent) -> None:
        if not isinstance(event, DeleteEvent) or self._by_key:
            self._router.emit(event)
        elif self._on_deleted and self._router.passes(event):
            self._queue.deleted(ObjectName.of(event.obj), event.obj)
        else:
            self._queue.forget(ObjectName.of(event.obj))

    def woke_itself(self, key: ObjectName, event: ChangeEvent) -> None:
        """Handle an event that passed the predicates and that a run of the object caused."""
        runs, wait = self._queue.wrote_itself(key, metadata_of(event.obj).resource_version)
        if not wait:
            return
        self._metrics.woke_itself()
        if runs == SELF_WAKES_WITHOUT_WAIT:
            changed = (
                ", ".join(changed_fields(event.old, event.new))
                if isinstance(event, UpdateEvent)
                else "the object"
            )
            _log.warning(
                "%s: %s wakes itself: the last %d runs had no other cause than the write of the "
                "run before, which changed %s; the next runs wait %g s and longer. Write only "
                "what differs, or add a predicate that ignores the field",
                self._queue.name,
                key,
                runs,
                changed,
                wait,
            )

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        self._router.enqueue(key, after=after, priority=priority)

    def failed(self, error: Exception) -> None:
        self._router.failed(error)

    def stop(self) -> None:
        self._router.stop()
