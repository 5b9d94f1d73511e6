"""The source for objects in the cluster.

Promises that the first events are what is there already, and that a source whose controller
changes its namespaces follows if it was told to.

Source: controller-runtime pkg/source Kind; Java Operator SDK InformerEventSource.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from copy import copy
from typing import Any

from clientgo.cache import DeletedFinalStateUnknown, FilteringHandler, ResourceEventHandler
from clientgo.meta import APIResource, metadata_of
from clientgo.meta.label_selectors import parse_label_selector, selector_from_labels
from clientgo.operator.cache.kind_cache import KindCache, Subscription
from clientgo.operator.cache.object_cache import Kind, Projection, api_resource
from clientgo.operator.cache.scope import (
    EVERYWHERE,
    Namespaces,
    NamespaceSet,
    Reader,
    namespace_set,
)
from clientgo.operator.change_events import CreateEvent, DeleteEvent, UpdateEvent
from clientgo.operator.errors import AlreadyStartedError
from clientgo.operator.mappers import Locator, Mapper, by_owner
from clientgo.operator.predicates import Predicate
from clientgo.operator.sources.source import Sink, SourceContext


class KindSource:
    """Objects of one kind; :func:`watch` makes one. Thread-safe."""

    def __init__(
        self,
        kind: Kind,
        *,
        mapper: Mapper | None,
        predicate: Predicate | None = None,
        locate: Locator | None = None,
        namespaces: Namespaces | None = None,
        labels: str | Mapping[str, str] = "",
        follow_namespaces: bool = False,
        project: Projection = "full",
        name: str = "",
        owned: bool = False,
        optional: bool = False,
        before_others: bool = False,
    ) -> None:
        self.kind = kind
        self.mapper = mapper
        self.predicate = predicate
        self.locate = locate
        self.follow_namespaces = follow_namespaces
        self.project = project
        self.owned = owned
        self.optional = optional
        self.before_others = before_others
        self.name = name or api_resource(kind).kind.lower() or api_resource(kind).plural
        self._namespaces = None if namespaces is None else namespace_set(namespaces)
        self._selector = (
            parse_label_selector(labels)
            if isinstance(labels, str)
            else selector_from_labels(labels)
        )
        self.cache: KindCache | None = None
        self._subscription: Subscription | None = None

    def unstarted(self) -> KindSource:
        """The same for another controller: a class that declares sources may be used by several."""
        other = copy(self)
        other.cache = other._subscription = None
        return other

    def as_owned(self) -> KindSource:
        """The same for objects that the controller owns, in the controller's namespaces."""
        other = self.unstarted()
        other.owned = other.follow_namespaces = True
        return other

    def start(self, context: SourceContext, sink: Sink) -> None:
        if self._subscription is not None:
            raise AlreadyStartedError(f"source {self.name} runs already")
        reader = self.reader(context.controller, context.primary, context.namespaces)
        self.cache = context.cache.declare(self.kind, self.project, reader)
        handler: ResourceEventHandler[Any] = _Telling(sink)
        if self.labels:
            handler = FilteringHandler(self.selects, handler)
        self._subscription = self.cache.subscribe(handler, reader.namespaces)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        cache, subscription = self._started()
        return cache.wait_synced(subscription, timeout, stop, optional=self.optional)

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        """The controller's namespaces are others now."""
        if self._subscription is not None:
            cache, subscription = self._started()
            cache.change(subscription, self.namespaces_within(namespaces))

    def stop(self) -> None:
        if self._subscription is not None:
            cache, subscription = self._started()
            cache.unsubscribe(subscription)
            self._subscription = None

    def healthy(self) -> str | None:
        """Why not all objects are known, or None."""
        if self._subscription is None:
            return "not started"
        cache, subscription = self._started()
        return cache.trouble(subscription, optional=self.optional)

    @property
    def labels(self) -> str:
        """The label selector of the source; empty for all objects."""
        return str(self._selector)

    def selects(self, obj: Any) -> bool:
        """Return True if the source is about this object."""
        return self._selector.matches(metadata_of(obj).labels or {})

    def reader(self, controller: str, primary: APIResource, namespaces: NamespaceSet) -> Reader:
        """Return what a cache has to know of this source of a controller."""
        return Reader(
            f"{controller}/{self.name}",
            self.labels,
            self.namespaces_within(namespaces),
            is_primary=api_resource(self.kind).gvk == primary.gvk,
        )

    def namespaces_within(self, controllers: NamespaceSet) -> NamespaceSet:
        """Where the objects are, for a controller that is limited to those namespaces."""
        if not api_resource(self.kind).namespaced:
            return EVERYWHERE
        if self._namespaces is not None:
            return self._namespaces
        return controllers if self.follow_namespaces else EVERYWHERE

    def _started(self) -> tuple[KindCache, Subscription]:
        assert self.cache is not None, "start comes first"
        assert self._subscription is not None, "start comes first"
        return self.cache, self._subscription


def watch(
    kind: Kind,
    *,
    mapper: Mapper | None = None,
    predicate: Predicate | None = None,
    locate: Locator | None = None,
    namespaces: Namespaces | None = None,
    labels: str | Mapping[str, str] = "",
    follow_namespaces: bool = False,
    project: Projection = "full",
    optional: bool = False,
    before_others: bool = False,
    name: str = "",
) -> KindSource:
    """A source for objects of a kind, which by default wake their controllers' primaries.

    ``locate`` tells which objects belong to a primary where owners do not; ``namespaces`` limits
    the source, ``follow_namespaces`` gives it those of the controller. ``labels`` (a selector or a
    mapping) limits it too; if all sources of the kind have the same labels, only these objects are
    cached, and the client does not find others. ``project="metadata"``
    caches names, labels and owners only. ``optional``: the API server need not have the kind; once
    it does its objects are told of. ``before_others``: the controller's other sources start when
    these objects are known.
    """
    return KindSource(
        kind,
        mapper=mapper or by_owner(),
        predicate=predicate,
        locate=locate,
        namespaces=namespaces,
        labels=labels,
        follow_namespaces=follow_namespaces,
        project=project,
        optional=optional,
        before_others=before_others,
        name=name,
    )


class _Telling(ResourceEventHandler[Any]):
    """From what an informer tells to what a controller understands."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._sink.emit(CreateEvent(obj, is_in_initial_list))

    def on_update(self, old: Any, new: Any) -> None:
        same = metadata_of(old).resource_version == metadata_of(new).resource_version
        self._sink.emit(UpdateEvent(old, new, resync=same))

    def on_delete(self, obj: Any) -> None:
        if not isinstance(obj, DeletedFinalStateUnknown):
            self._sink.emit(DeleteEvent(obj))
        elif obj.obj is not None:
            self._sink.emit(DeleteEvent(obj.obj, final_state_known=False))
