"""What the runs of one controller need, in one value that does not know the controller."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clientgo.meta import APIResource, metadata_of
from clientgo.meta.selectors import Selector
from clientgo.observe.metrics import MetricsProvider
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.cache.scope import NamespaceSet
from clientgo.operator.client.live_client import CachedClient
from clientgo.operator.context import RunScope
from clientgo.operator.controller.declaration import ControllerConfig
from clientgo.operator.metrics import ControllerMetrics, MetricsSink
from clientgo.operator.reconciler import Shape
from clientgo.operator.result import Result
from clientgo.operator.runs import RunDeadlines
from clientgo.operator.runs.steps import CoroutineLoop, no_event_loop
from clientgo.operator.status_report import Keeper, StatusNotes
from clientgo.record import SeriesRecorder
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable

if TYPE_CHECKING:
    from clientgo.meta import ObjectName
    from clientgo.sharding import Ownership


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerParts(RunScope):
    """Made once, by the controller; everything in it is thread-safe.

    ``finalizer`` is that of ``cleanup``, ``finalizers`` are all that an object must have before it
    is reconciled. ``cache`` has the primaries, perhaps beside objects that other sources want;
    ``selector`` tells which are this controller's. ``keeper`` keeps what runs compare, None if they
    compare nothing. ``stopping`` is set when the runs have to end. ``removed_finalizers()`` are
    those that any controller of the manager removes from these objects.
    """

    config: ControllerConfig
    shape: Shape
    finalizer: str | None
    finalizers: tuple[str, ...]
    cache: KindCache
    selector: Selector
    notes: StatusNotes
    keeper: Keeper | None
    metrics: ControllerMetrics
    deadlines: RunDeadlines
    stopping: threading.Event
    removed_finalizers: Callable[[], Collection[str]]

    @property
    def has_status(self) -> bool:
        return "status" in self.primary.subresources

    def read(self, key: ObjectName) -> Any | None:
        """Return the newest known state of a primary, shared and read-only."""
        obj = self.cache.get(key)
        return obj if obj is None or self.selects(obj) else None

    def selects(self, obj: Any) -> bool:
        """Return True if an object has the labels of the controller's primaries."""
        return self.selector.matches(metadata_of(obj).labels or {})

    def clean_up(self, finalizer: str, ctx: Any, obj: Any) -> Any:
        """Return what the clean-up of a finalizer returns."""
        if self.shape.cleanup is not None and finalizer == self.finalizer:
            return self.shape.cleanup(ctx, obj)
        return self.shape.finalizers.clean_up(finalizer, ctx, obj)

    def after_clean_up(self, finalizer: str, ctx: Any, obj: Any, result: Result) -> Result:
        """Return what the clean-up of a finalizer ends in, when user code is done with it."""
        after = self.shape.after_cleanup
        return result if after is None or finalizer != self.finalizer else after(ctx, obj, result)


@uncopyable("it has connections to a server; make one in each process")
@dataclass(frozen=True, slots=True)
class Services:
    """``recorder`` gives the event recorder of a controller by its name; ``crashed`` is
    called with what must stop the manager; ``standby`` says why this process does not lead;
    ``event_loop`` makes the loop when it is needed; ``finalizers`` returns those of all controllers
    of a kind."""

    client: CachedClient
    cache: ObjectCache
    namespaces: NamespaceSet
    clock: Clock
    metrics: MetricsProvider
    recorder: Callable[[str], SeriesRecorder]
    crashed: Callable[[BaseException], object]
    values: Mapping[str, Any] = field(default_factory=dict)
    metrics_per_namespace: bool = False
    sink: MetricsSink | None = None
    standby: Callable[[], str] = lambda: ""
    ownership: Ownership[ObjectName] | None = None
    event_loop: Callable[[], CoroutineLoop] = no_event_loop
    finalizers: Callable[[APIResource], Collection[str]] = lambda _primary: ()
