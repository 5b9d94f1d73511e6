"""What becomes of the events of a controller's primaries.

Promises that nothing is kept of a primary that is gone, and that what the controller itself wrote
does not wake it; everything else is routed as events of any other source are.

Source: controller-runtime pkg/handler, EnqueueRequestForObject; Java Operator SDK
ControllerEventSource.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clientgo.meta import ObjectName, metadata_of
from clientgo.operator.change_events import ChangeEvent, DeleteEvent, UpdateEvent
from clientgo.operator.event_router import EventRouter

if TYPE_CHECKING:
    from clientgo.operator.controller import Controller


class PrimaryRouter:
    """The sink of the primaries: keeps the books of what is gone, then routes as any other."""

    def __init__(self, controller: Controller[Any], router: EventRouter) -> None:
        self._controller = controller
        self._router = router

    def emit(self, event: ChangeEvent) -> None:
        controller, key = self._controller, ObjectName.of(event.obj)
        if isinstance(event, DeleteEvent):
            if controller.shape.reconcile_key is not None:
                self._router.emit(event)
            elif controller.config.on_deleted and self._router.passes(event):
                controller.queue.deleted(key, event.obj)
            else:
                controller.queue.forget(key)
            return
        if isinstance(event, UpdateEvent) and controller.queue.is_echo(
            key, metadata_of(event.new).resource_version
        ):
            return
        self._router.emit(event)

    def enqueue(self, key: ObjectName, *, after: float = 0.0, priority: int = 0) -> None:
        self._router.enqueue(key, after=after, priority=priority)

    def failed(self, error: Exception) -> None:
        self._router.failed(error)

    def stop(self) -> None:
        self._router.stop()
