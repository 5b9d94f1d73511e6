"""The informers of one kind: one for each watched namespace, or one for all.

Promises that a namespace is listed and watched once, however many subscribe to it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from clientgo.cache import (
    REAL_FIFO,
    DeletedFinalStateUnknown,
    Latch,
    ListerWatcher,
    NotServedError,
    Registration,
    ResourceEventHandler,
    ServedCheck,
    SharedIndexInformer,
    WatchStream,
    last_known_state,
)
from clientgo.meta import (
    INITIAL_EVENTS_END,
    APIResource,
    EventType,
    ListOptions,
    NotFoundError,
    ObjectList,
    WatchEvent,
    annotations_of,
    metadata_of,
)
from clientgo.operator.cache.indexes import Indexes
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import CacheScope, KindScope
from clientgo.operator.metrics import CacheMetrics, CacheSize
from clientgo.operator.settings.durations import seconds
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread, run_with_threads
from clientgo.util.wait import Backoff, BackoffManager, StopEvent

_DELAYS: Final = Backoff(duration=0.8, factor=2.0, jitter=0.2, steps=38, cap=10.0)
"""Soon again at first; a kind that is missing is found ten seconds after it was created."""

NUMEROUS: Final = frozenset({("", "Secret"), ("", "ConfigMap"), ("", "Pod")})
"""Kinds, by group, that other programs make without end."""

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(eq=False, slots=True)
class Watch:
    """One informer, which ``users`` subscriptions share."""

    informer: SharedIndexInformer[Any]
    lister: ObservedLister
    size: CacheSize
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None
    users: int = 0
    _lost_since: float | None = None

    def lost_for(self, now: float) -> float:
        """Return for how many seconds the watch has been away, from when it is first seen."""
        if self.informer.is_watching():
            self._lost_since = None
            return 0.0
        if self._lost_since is None:
            self._lost_since = now
        return now - self._lost_since


@dataclass(frozen=True, slots=True)
class Attached:
    """A handler and the watch that calls it."""

    watch: Watch
    registration: Registration
    left: StopEvent = field(default_factory=StopEvent)
    """Set once the handler is detached: it may never be called with all that exists."""

    def awaited(self, *, optional: bool) -> threading.Event | None:
        """Return what is set when the handler has been called with all that exists; None if it has.

        With ``optional`` the answer that the server does not have the kind is enough.
        """
        lister = self.watch.lister
        if optional and not lister.answered.is_set():
            return lister.answered
        synced = self.registration.has_synced_checker().done
        return None if synced.is_set() or (optional and lister.unserved) else synced


@dataclass(eq=False, kw_only=True)
class Watches:
    """By namespace, ``""`` for all. The cache's lock guards it, but for :meth:`end`.

    ``lister(namespace, labels)`` returns what lists and watches. ``readers()`` names the sources.
    ``recovered`` is called when the API server may have been away, ``on_crash`` with what ends an
    informer.
    """

    kind: str
    resource: APIResource
    expected: Any
    lister: Callable[[str, str], ListerWatcher[Any]]
    readers: Callable[[], str]
    scope: KindScope
    own_writes: OwnWrites
    indexes: Indexes
    recovered: Callable[[], object]
    on_crash: Callable[[BaseException], object] | None
    is_projected: bool
    metrics: CacheMetrics
    clock: Clock
    _watches: dict[str, Watch] = field(default_factory=dict, init=False)
    _is_running: bool = field(default=False, init=False)

    def __bool__(self) -> bool:
        return bool(self._watches)

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._watches

    def __iter__(self) -> Iterator[tuple[str, Watch]]:
        return iter(self._watches.items())

    def read_from(self, namespace: str) -> list[SharedIndexInformer[Any]]:
        """Return the informers that know the objects of a namespace, or with ``""`` of all."""
        narrow = self._watches.get(namespace) if namespace else None
        everywhere = self._watches.get("")
        if namespace in self.scope.named:
            everywhere = None
        if everywhere and (narrow is None or everywhere.informer.has_synced()):
            named = () if namespace else self.scope.named
            apart = [self._watches[name] for name in named if name in self._watches]
            return [everywhere.informer, *(watch.informer for watch in apart)]
        if namespace:
            return [narrow.informer] if narrow is not None else []
        return [watch.informer for watch in self._watches.values()]

    def attach(
        self,
        handler: ResourceEventHandler[Any],
        namespace: str,
        labels: str,
        *,
        shares: bool = True,
    ) -> Attached:
        """Call a handler with the objects of a namespace; ``shares`` the watch of all if it can."""
        apart = not shares or namespace in self.scope.named
        everywhere = None if apart else self._watches.get("")
        watch = everywhere or self._watches.get(namespace)
        if watch is None:
            watch = self._watches[namespace] = self._new(namespace, labels)
        watch.users += 1
        if namespace and everywhere is watch:
            handler = _NamespaceFilter(handler, namespace)
        attached = Attached(watch, watch.informer.add_event_handler(handler))
        if self._is_running:
            self._run(watch)
        return attached

    def detach(self, attached: Attached) -> None:
        """Let go of a watch; :meth:`end` does the rest, without the lock."""
        watch = attached.watch
        attached.left.set()
        watch.users -= 1
        if watch.users == 0:
            self._watches = {ns: kept for ns, kept in self._watches.items() if kept is not watch}

    def end(self, attached: Attached) -> None:
        """Call the handler no more; blocks until it has returned, and an unused watch has ended."""
        watch = attached.watch
        watch.informer.shut_down_event_handler(attached.registration)
        if watch.users == 0:
            watch.stop.set()
            if watch.thread is not None:
                watch.thread.join()
            self.metrics.cleared(watch.size)

    def run(self) -> None:
        """Run the informers, and those that come later."""
        self._is_running = True
        for watch in self._watches.values():
            self._run(watch)

    def stop(self) -> list[threading.Thread]:
        """Stop all informers; return the threads to wait for."""
        self._is_running = False
        for watch in self._watches.values():
            watch.stop.set()
        return [watch.thread for watch in self._watches.values() if watch.thread is not None]

    def _new(self, namespace: str, labels: str) -> Watch:
        scope = self.scope.of(namespace)
        lister = ObservedLister(
            self.lister(namespace, labels), self.own_writes.forget_echoes, self.recovered
        )
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            lister,
            self.expected,
            name=f"informer-{self.kind}{'-' + namespace if namespace else ''}",
            indexers=self.indexes.for_informer(),
            transform=scope.transform,
            resync_period=0.0 if scope.resync is None else seconds(scope.resync, "resync"),
            queue=REAL_FIFO,
            delays=BackoffManager(_DELAYS, 120.0, clock=self.clock),
            clock=self.clock,
        )
        size = CacheSize()
        progress = _StoreProgress(self.own_writes, self.metrics, size)
        informer.add_event_handler(progress, resync_period=0.0)
        selects = scope.labels or labels or scope.fields or scope.shard
        is_limited = namespace or selects or self.is_projected
        is_numerous = (self.resource.group, self.resource.kind) in NUMEROUS
        if is_numerous and not is_limited and self.scope.own == CacheScope():
            _log.warning(
                "every %s of the cluster will be cached, for %s; if that is too much memory, watch "
                "those with labels only, as owns=[watch(%s, labels={...})], limit namespaces, "
                "labels or fields in a CacheScope, or watch with project='metadata'",
                self.resource.kind,
                self.readers() or "reads of the client",
                self.resource.kind,
            )
        return Watch(informer, lister, size)

    def _run(self, watch: Watch) -> None:
        if watch.thread is None:
            watch.thread = SupervisedThread.started(
                self._work,
                args=(watch,),
                name=watch.informer.name,
                then="this cache is not updated any more; restart this process",
            )

    def _work(self, watch: Watch) -> None:
        try:
            run_with_threads(watch.informer.run, watch.stop)
        except BaseException as error:
            self.metrics.crashes.inc()
            if self.on_crash is None:
                raise
            self.on_crash(error)


class _NamespaceFilter(ResourceEventHandler[Any]):
    """Passes on what happens in one namespace, of an informer that watches all."""

    def __init__(self, handler: ResourceEventHandler[Any], namespace: str) -> None:
        self._handler = handler
        self._namespace = namespace

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        if metadata_of(obj).namespace == self._namespace:
            self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        if metadata_of(new).namespace == self._namespace:
            self._handler.on_update(old, new)

    def on_delete(self, obj: Any) -> None:
        state = last_known_state(obj)
        if state is None or metadata_of(state).namespace == self._namespace:
            self._handler.on_delete(obj)


class _StoreProgress(ResourceEventHandler[Any]):
    """Reports how far the store has come to the own writes, and its size to the metrics."""

    def __init__(self, own_writes: OwnWrites, metrics: CacheMetrics, size: CacheSize) -> None:
        self._own_writes = own_writes
        self._metrics = metrics
        self._size = size

    def on_add(self, obj: Any, _is_in_initial_list: bool) -> None:
        self._metrics.changed(self._size, None, obj)
        self._own_writes.saw(obj)

    def on_update(self, old: Any, new: Any) -> None:
        self._metrics.changed(self._size, old, new)
        self._own_writes.saw(new)

    def on_delete(self, obj: Any | DeletedFinalStateUnknown) -> None:
        state = last_known_state(obj)
        if state is not None:
            self._metrics.changed(self._size, state, None)
            self._own_writes.saw(state)


class ObservedLister:
    """Passes on to ``inner``. For the thread of one reflector.

    ``on_list`` is called with each list that came; with one that is streamed, when it begins and
    when it ends. ``on_recovery`` is called with each list but the first, and with the first answer
    after a request that failed.
    """

    def __init__(
        self,
        inner: ListerWatcher[Any],
        on_list: Callable[[], object],
        on_recovery: Callable[[], object],
    ) -> None:
        self._inner = inner
        self._on_list = on_list
        self._on_recovery = on_recovery
        self._listed = False
        self._failing = False
        self.supports_watch_list = getattr(inner, "supports_watch_list", True)
        self.answered = Latch()
        """Set once the server has listed the kind, or has answered that it does not have it."""
        self.unserved = False
        """Whether the last answer was that the server does not have it."""

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        found: ObjectList[Any] = self._noted(lambda: self._inner.list(options, stop))
        self._list_came()
        return found

    def watch(self, options: ListOptions, stop: threading.Event) -> WatchStream:
        stream: WatchStream
        if options.send_initial_events:
            stream = self._noted(lambda: self._inner.watch(options, stop))
            self._list_came()
            return _StreamedList(stream, self._on_list)
        try:
            stream = self._inner.watch(options, stop)
        except Exception:
            self._failing = True
            raise
        if self._failing:
            self._recovered()
        return stream

    def why_not_served(self, stop: threading.Event) -> NotServedError | None:
        inner = self._inner
        reason = inner.why_not_served(stop) if isinstance(inner, ServedCheck) else None
        if reason is not None:
            self._is_unserved()
        return reason

    def _is_unserved(self) -> None:
        self.unserved = True
        self.answered.set()

    def _noted(self, ask: Callable[[], Any]) -> Any:
        try:
            answer = ask()
        except NotFoundError:
            # A proxy answers so too: the reflector asks which it is, if that can be told.
            self._failing = True
            if not isinstance(self._inner, ServedCheck):
                self._is_unserved()
            raise
        except Exception:
            self._failing = True
            raise
        self.unserved = False
        self.answered.set()
        return answer

    def _list_came(self) -> None:
        self._on_list()
        if self._listed or self._failing:
            self._recovered()
        self._listed = True

    def _recovered(self) -> None:
        self._failing = False
        self._on_recovery()


class _StreamedList:
    """A stream that calls ``on_end`` when the initial events have come."""

    def __init__(self, stream: WatchStream, on_end: Callable[[], object]) -> None:
        self._stream = stream
        self._on_end: Callable[[], object] | None = on_end

    def read(self) -> Sequence[WatchEvent[Any]]:
        events = self._stream.read()
        on_end = self._on_end
        if on_end is not None and any(map(_is_end_of_list, events)):
            self._on_end = None
            on_end()
        return events

    def stop(self) -> None:
        self._stream.stop()

    @property
    def last_byte_time(self) -> float | None:
        """When the last byte arrived, if the stream knows."""
        at: float | None = getattr(self._stream, "last_byte_time", None)
        return at


def _is_end_of_list(event: WatchEvent[Any]) -> bool:
    return event.type == EventType.BOOKMARK and INITIAL_EVENTS_END in annotations_of(event.object)
