"""What the runs of one controller need, in one value that does not know the controller."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.context import RunScope
from clientgo.operator.controller.config import ControllerConfig
from clientgo.operator.controller.status_notes import StatusNotes
from clientgo.operator.metrics import ControllerMetrics
from clientgo.operator.reconciler import Shape
from clientgo.operator.runs import RunDeadlines


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts(RunScope):
    """Made once, by the controller; everything in it is thread-safe.

    ``finalizer`` is that of ``cleanup``, ``finalizers`` are all that an object must have before it
    is reconciled. ``cache`` has the primaries. ``stopping`` is set when the runs have to end.
    """

    config: ControllerConfig
    shape: Shape
    finalizer: str | None
    finalizers: tuple[str, ...]
    cache: KindCache
    notes: StatusNotes
    metrics: ControllerMetrics
    deadlines: RunDeadlines
    stopping: threading.Event

    @property
    def has_status(self) -> bool:
        return "status" in self.primary.subresources

    def clean_up(self, finalizer: str, ctx: Any, obj: Any) -> Any:
        """Return what the clean-up of a finalizer returns."""
        if self.shape.cleanup is not None and finalizer == self.finalizer:
            return self.shape.cleanup(ctx, obj)
        return self.shape.finalizers.clean_up(finalizer, ctx, obj)
