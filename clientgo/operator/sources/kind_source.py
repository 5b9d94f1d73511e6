"""The source for objects in the cluster; the first events are the objects that exist already.

Source: controller-runtime pkg/source Kind; Java Operator SDK InformerEventSource.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypedDict, Unpack

from clientgo.cache import DeletedFinalStateUnknown, FilteringHandler, ResourceEventHandler
from clientgo.meta import APIResource, metadata_of
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
from clientgo.operator.errors import AlreadyStartedError, DeclarationError
from clientgo.operator.mappers import Locator, Mapper, by_owner
from clientgo.operator.predicates import Predicate
from clientgo.operator.settings.labels import selector_of
from clientgo.operator.sources.source import Sink, Source, SourceContext
from clientgo.util.copies import uncopyable


class WatchOptions(TypedDict, total=False):
    """The keyword arguments of :func:`watch` and :func:`owned`, as :class:`KindSource` has them."""

    predicate: Predicate | None
    locate: Locator | None
    namespaces: Namespaces | None
    labels: str | Mapping[str, str]
    follow_namespaces: bool
    project: Projection
    optional: bool
    before_others: bool
    name: str


@uncopyable("it belongs to one controller; declare one for each")
@dataclass(eq=False)
class KindSource(Source):
    """Objects of one kind; :func:`watch` and :func:`owned` make it. Thread-safe.

    ``locate`` returns the names of the objects that belong to a primary, where owners do not say
    it. ``namespaces`` limits the source; ``follow_namespaces`` gives it those of the controller.
    ``labels`` limit it too: if all sources of the kind have the same labels, only these objects are
    cached. ``project="metadata"`` caches names, labels and owners only. ``optional``: the API
    server need not serve the kind yet. ``before_others``: the controller's other sources start when
    these objects are known. ``owned``: the controller manages the objects. ``starts_later``:
    nothing is watched until :meth:`begin`.
    """

    kind: Kind
    mapper: Mapper | None
    predicate: Predicate | None = None
    locate: Locator | None = None
    namespaces: Namespaces | None = None
    labels: str | Mapping[str, str] = ""
    follow_namespaces: bool = False
    project: Projection = "full"
    optional: bool = False
    before_others: bool = False
    name: str = ""
    owned: bool = False
    starts_later: bool = False

    def __post_init__(self) -> None:
        self.resource = api_resource(self.kind)
        self.name = self.name or self.resource.kind.lower() or self.resource.plural
        self._namespaces = None if self.namespaces is None else namespace_set(self.namespaces)
        self._selector = selector_of(self.labels, f"source {self.name}: labels")
        self.labels = str(self._selector)
        if self.mapper is not None:
            _check_mapper(self.mapper, self.name)
        self.cache: KindCache | None = None
        self._subscription: Subscription | None = None
        self._starting: tuple[SourceContext, Sink] | None = None
        self._lock = threading.Lock()

    def for_controller(self) -> KindSource:
        """Copy it, which costs nothing: no code calls the one that was declared."""
        return replace(self)

    def as_owned(self) -> KindSource:
        """Copy it for objects that the controller owns, in the controller's namespaces."""
        return replace(self, owned=True, follow_namespaces=True)

    def start(self, context: SourceContext, sink: Sink) -> None:
        with self._lock:
            if self._starting is not None:
                raise AlreadyStartedError(f"source {self.name} runs already")
            self._starting = context, sink
        if not self.starts_later:
            self.begin()

    def begin(self) -> None:
        """Watch the objects, after :meth:`start`. Idempotent."""
        with self._lock:
            assert self._starting is not None, "start comes first"
            if self._subscription is not None:
                return
            context, sink = self._starting
            reader = self.reader(context.controller, context.primary, context.namespaces)
            self.cache = context.cache.declare(self.kind, self.project, reader)
            handler: ResourceEventHandler[Any] = _Handler(sink)
            if self.labels:
                handler = FilteringHandler(self.selects, handler)
            self._subscription = self.cache.subscribe(handler, reader.namespaces)

    def wait_synced(self, timeout: float, stop: threading.Event | None = None) -> bool:
        return self._wait(timeout, stop, optional=self.optional)

    def wait_answered(self, timeout: float, stop: threading.Event | None = None) -> bool:
        """Wait as :meth:`wait_synced` does, but not for a kind that is not served."""
        return self._wait(timeout, stop, optional=True)

    def _wait(self, timeout: float, stop: threading.Event | None, *, optional: bool) -> bool:
        if self._waits_to_begin:
            return True
        started = self._started()
        if started is None:
            return False
        cache, subscription = started
        return cache.wait_synced(subscription, timeout, stop, optional=optional)

    def change_namespaces(self, namespaces: NamespaceSet) -> None:
        with self._lock:
            if self._starting is not None:
                context, sink = self._starting
                self._starting = replace(context, namespaces=namespaces), sink
            started = self._started()
        if started is not None and self.follow_namespaces:
            cache, subscription = started
            cache.change(subscription, self.namespaces_within(namespaces))

    def stop(self) -> None:
        with self._lock:
            subscription, self._subscription, self._starting = self._subscription, None, None
        if subscription is not None:
            assert self.cache is not None, "it was subscribed to"
            self.cache.unsubscribe(subscription)

    def healthy(self) -> str | None:
        if self._waits_to_begin:
            return None
        started = self._started()
        if started is None:
            return "not started"
        cache, subscription = started
        return cache.trouble(subscription, optional=self.optional)

    @property
    def _waits_to_begin(self) -> bool:
        return self.starts_later and self._starting is not None and self._subscription is None

    def selects(self, obj: Any) -> bool:
        """Return True if the source is about this object."""
        return self._selector.matches(metadata_of(obj).labels or {})

    def reader(self, controller: str, primary: APIResource, namespaces: NamespaceSet) -> Reader:
        """Return what a cache has to know of this source of a controller."""
        return Reader(
            f"{controller}/{self.name}",
            str(self._selector),
            self.namespaces_within(namespaces),
            is_primary=self.resource.gvk == primary.gvk,
        )

    def namespaces_within(self, controllers: NamespaceSet) -> NamespaceSet:
        """Where the objects are, for a controller that is limited to those namespaces."""
        if not self.resource.namespaced:
            return EVERYWHERE
        if self._namespaces is not None:
            return self._namespaces
        return controllers if self.follow_namespaces else EVERYWHERE

    def _started(self) -> tuple[KindCache, Subscription] | None:
        """Return what :meth:`begin` has made; None before it, and once the source is stopped."""
        cache, subscription = self.cache, self._subscription
        return None if cache is None or subscription is None else (cache, subscription)


def watch(
    kind: Kind, *, mapper: Mapper | None = None, **options: Unpack[WatchOptions]
) -> KindSource:
    """Make a source for objects of a kind; by default they wake the primaries that control them.

    ``options`` are described at ``KindSource``.
    """
    return KindSource(kind, mapper or by_owner(), **options)


def owned(
    kind: Kind, *, match_every_owner: bool = False, **options: Unpack[WatchOptions]
) -> KindSource:
    """Make a source for objects that a controller owns, in the controller's namespaces.

    They wake the primary that controls them or, with ``match_every_owner``, every owner.
    """
    mapper = by_owner(controller_only=not match_every_owner)
    options.setdefault("follow_namespaces", True)
    return KindSource(kind, mapper, owned=True, **options)


def _check_mapper(mapper: Mapper, source: str) -> None:
    try:
        inspect.signature(mapper).bind(None, None)
    except ValueError:
        return  # a built-in without a signature
    except TypeError as error:
        raise DeclarationError(
            f"source {source}: a mapper is called as mapper(context, obj) and returns names of "
            f"primaries, but {mapper!r}: {error}"
        ) from None


class _Handler(ResourceEventHandler[Any]):
    """Turns what an informer calls into events."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._sink.emit(CreateEvent(obj, is_in_initial_list))

    def on_update(self, old: Any, new: Any) -> None:
        before, after = metadata_of(old), metadata_of(new)
        if before.uid != after.uid:
            # Deleted and created again while no watch was open: predicates that compare the two
            # would take the new object for the old one.
            self._sink.emit(DeleteEvent(old, final_state_known=False))
            self._sink.emit(CreateEvent(new))
            return
        same = before.resource_version == after.resource_version
        self._sink.emit(UpdateEvent(old, new, resync=same))

    def on_delete(self, obj: Any) -> None:
        if not isinstance(obj, DeletedFinalStateUnknown):
            self._sink.emit(DeleteEvent(obj))
        elif obj.obj is not None:
            self._sink.emit(DeleteEvent(obj.obj, final_state_known=False))
