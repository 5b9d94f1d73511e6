"""A cache of one kind of object that any number of handlers share.

Promises: one list and watch serves all. The store changes before a handler is called. Each handler
is called in order, in a thread of its own, and can block neither the cache nor other handlers. A
late handler gets every existing object once. Any method may be called from any thread.

Does not promise that handlers see every state, only the newest one eventually.

Differs from client-go (``tools/cache`` SharedIndexInformer): it runs on DeltaFIFO by default. A
failing handler, index function or transform affects only the object that it fails for.
"""

from __future__ import annotations

import inspect
import itertools
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Generic, TypeVar, Unpack

from clientgo.cache.hops import TracedIndexer, as_stored
from clientgo.cache.informer.controller import DELTA_FIFO, Controller, DeltaProcessor, QueueChoice
from clientgo.cache.informer.handlers import (
    HandlerFuncs,
    ResourceEventHandler,
    TracedHandler,
    ViewingHandler,
    handler_name,
)
from clientgo.cache.informer.identity import InformerIdentity, InformerMetrics
from clientgo.cache.informer.listener import HighWater, Listener, ListenerStatistics
from clientgo.cache.informer.mutation_detector import MutationDetector, mutation_detector_enabled
from clientgo.cache.informer.notifications import Chunk, Kind, subject_of
from clientgo.cache.informer.shared_processor import ResyncSchedule, SharedProcessor, checked_period
from clientgo.cache.informer.transforming_store import Transform, TransformingStore
from clientgo.cache.queues.done_checker import DoneChecker, Latch, wake_waiting
from clientgo.cache.queues.queue import Deltas, Queue, QueueStatistics
from clientgo.cache.reflector.health import ReflectorStatistics
from clientgo.cache.reflector.list_watch import ListerWatcher, check_list_watch
from clientgo.cache.reflector.options import ReflectorKeywords, ReflectorOptions, options_of
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reflector import Reflector, WatchErrorHandler
from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.cache.store.indexer import Indexer, ViewedIndexer
from clientgo.cache.store.keys import IndexFunc
from clientgo.cache.store.store import StoreStatistics
from clientgo.meta import GroupVersionKind, PartialObjectMetadata, Unstructured
from clientgo.observe.metrics import default_provider
from clientgo.observe.trace import active_trace
from clientgo.util.copies import CopyableError, uncopyable
from clientgo.util.process import SupervisedThread, ThreadStartError, refuse_in_child

_log = logging.getLogger("clientgo.cache.informer")

T = TypeVar("T")


class InformerStateError(CopyableError, RuntimeError):
    """A call came too late: after the start, or after the stop."""


@uncopyable("it has threads; make one in each process")
class Registration:
    """One handler of one informer, from :meth:`SharedIndexInformer.add_event_handler`."""

    def __init__(self, informer: SharedIndexInformer[Any], listener: Listener) -> None:
        self._informer = informer
        self._listener = listener

    def has_synced(self) -> bool:
        """Return True if the handler has returned for every object of the initial list."""
        return self._listener.tracker.has_synced()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._listener.tracker.checker

    def wait_until_idle(self, timeout: float | None = None) -> bool:
        """Block until the handler has returned for every change so far.

        Return False after ``timeout`` seconds. Must not be called by the handler.
        """
        return self._listener.wait_until_idle(timeout)

    def statistics(self) -> ListenerStatistics:
        return self._listener.statistics()


@dataclass(frozen=True, slots=True)
class InformerStatistics:
    """An informer at one instant; queue and reflector are None before it runs."""

    synced: bool
    stopped: bool
    store: StoreStatistics
    queue: QueueStatistics | None
    reflector: ReflectorStatistics | None
    handlers: tuple[ListenerStatistics, ...]
    quarantined: int


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPED = "stopped"


@uncopyable("it has threads; make one in each process")
class SharedIndexInformer(Generic[T]):
    """Caches what ``lister_watcher`` lists and watches, and calls handlers for changes.

    ``expected`` is the class of the objects or, for unstructured ones, their kind. ``name``
    appears in logs, thread names and statistics. Every ``resync_period`` seconds handlers are
    called again for every object, unless they ask for another period; with 0 no handler is.
    ``queue`` chooses the queue between reflector and store. ``transform`` changes objects before
    they are cached. ``split_recreated`` turns the update of an object that has another uid into a
    deletion and an addition. ``view`` converts a cached object whenever it is read or handed to a
    handler. ``on_error`` is called for failures to list and watch. With an ``identity`` the
    informer reports metrics. The reflector's options are a value,
    or given as its fields: :class:`~clientgo.cache.ReflectorOptions`.

    Creating one starts nothing. Raises :class:`ListWatchError` for a ``lister_watcher`` that is
    none. Source: k8s.io/client-go/tools/cache, SharedIndexInformer.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        expected: type[T] | GroupVersionKind | None = None,
        *,
        name: str = "",
        resync_period: float = 0.0,
        indexers: Mapping[str, IndexFunc] | None = None,
        queue: QueueChoice = DELTA_FIFO,
        transform: Transform | None = None,
        split_recreated: bool = False,
        view: Callable[[Any], T] | None = None,
        on_error: WatchErrorHandler | None = None,
        identity: InformerIdentity | None = None,
        options: ReflectorOptions | None = None,
        **keywords: Unpack[ReflectorKeywords],
    ) -> None:
        check_list_watch(lister_watcher)
        self._options = options = options_of(options, keywords)
        clock = options.clock
        description = expected.__name__ if isinstance(expected, type) else str(expected or "")
        self.name: Final = name or description or "informer"
        self._store: Final[Indexer[Any]] = Indexer(
            indexers=indexers, tracks_resource_version=queue.keeps_order
        )
        self._view = view
        self._trace = active_trace()
        if self._trace is not None:
            self._trace.add_component(self)
        self.indexer: Final[Indexer[T]] = self._indexer_for_users()
        self._lister_watcher = lister_watcher
        self._expected = expected
        # Objects of any kind have the same class; the name tells what the informer has.
        is_any_kind = expected in (Unstructured, PartialObjectMetadata)
        self._description = self.name if is_any_kind else description or self.name
        self._queue_choice = queue
        self._default_period = self._check_period = resync_period
        self._transform = transform
        self._on_error = on_error
        self._clock = clock
        self._metrics = InformerMetrics(options.metrics or default_provider(), identity)
        self._quarantine = QuarantineLog(self.name)
        self._processor = SharedProcessor(clock)
        self._mutation_detector = (
            MutationDetector(self.name, clock=clock) if mutation_detector_enabled() else None
        )
        self._deltas = DeltaProcessor(
            self._store,
            self._processor.distribute if self._mutation_detector is None else self._watch_over,
            quarantine=self._quarantine,
            split_recreated=split_recreated,
            name=self.name,
        )
        self._synced = DoneChecker(self.name, Latch())
        self._numbers = itertools.count(1)

        self._lock = threading.Lock()
        """Guards the phase and what depends on it. Acquired before `_distributing`."""
        self._phase = _Phase.NEW
        self._queue: Queue | None = None
        self._reflector: Reflector | None = None
        self._distributing = threading.Lock()
        """Held while a batch goes into the store and to the handlers, so that a new handler sees
        the store as it is between two batches."""
        advice = "create an informer in the child, after the fork"
        refuse_in_child(
            self, f"informer {self.name}", "_lock", "_distributing", "_synced", advice=advice
        )
        for indexer in {self._store, self.indexer}:
            indexer.refuse_in_child(f"the cache of informer {self.name}", advice=advice)

    def _indexer_for_users(self) -> Indexer[T]:
        if self._trace is not None:
            view = as_stored if self._view is None else self._view
            return TracedIndexer(self._store, view, self.name, self._trace)
        return self._store if self._view is None else ViewedIndexer(self._store, self._view)

    # Running

    def run(self, stop: threading.Event) -> None:
        """Keep the cache up to date until ``stop`` is set. Blocks.

        Returns when everything has ended, calls of handlers included. It waits at most 10 s for
        those: a handler that has not returned then is named in the log, and its daemon thread is
        left behind. An informer runs once: a second call logs a warning and returns. With ``stop``
        set it ends without a request or a thread. Raises :class:`ListWatchError` if the list-watch
        turns out to be wrong, and :class:`~clientgo.util.process.ThreadStartError` if its threads
        cannot be started: then call it again.
        """
        with self._lock:
            if self._phase is not _Phase.NEW:
                _log.warning("%s runs or has run; it cannot be started again", self.name)
                return
            controller = None if stop.is_set() else self._start_locked()
        if controller is None:
            self._stopped()
            return
        try:
            with self._looking_for_mutations():
                controller.run(stop, self._processor.start)
        except ThreadStartError:
            with self._lock:
                self._phase, self._queue, self._reflector = _Phase.NEW, None, None
            raise
        finally:
            if self._phase is not _Phase.NEW:
                self._stopped()

    def _stopped(self) -> None:
        with self._lock:
            self._phase = _Phase.STOPPED
        wake_waiting()
        self._processor.stop()
        self._metrics.remove()

    def is_stopped(self) -> bool:
        """Return True if it has run and ended."""
        return self._phase is _Phase.STOPPED

    def is_calling_handler_here(self) -> bool:
        """Return True in a call of one of its handlers, where its end must not be waited for."""
        return self._processor.is_calling_here()

    def has_synced(self) -> bool:
        """Return True if the whole first list has been applied to the store.

        For a handler ask its registration.
        """
        return self._synced.is_done()

    def has_synced_checker(self) -> DoneChecker:
        """Return the condition of :meth:`has_synced`, to wait for it."""
        return self._synced

    # Handlers

    def add_event_handler(
        self,
        handler: ResourceEventHandler[T] | None = None,
        *,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[T | DeletedFinalStateUnknown], object] | None = None,
        on_resync: Callable[[T, T], object] | None = None,
        resync_period: float | None = None,
        coalesce: bool = False,
        high_water: HighWater | None = None,
    ) -> Registration:
        """Call a handler, or functions, for every existing object and every change from now on.

        ``resync_period`` replaces the informer's, 0 for never; it is rounded up to what the
        informer can do. ``coalesce`` merges the changes of an object that wait for a slow handler,
        ``high_water`` reports a large backlog. Every call is a registration of its own.

        Raises :class:`InformerStateError` when the informer has stopped, ``TypeError`` without a
        handler or with both a handler and functions.
        """
        functions = [f for f in (on_add, on_update, on_delete, on_resync) if f is not None]
        if (handler is None) == (not functions):
            raise TypeError(
                "pass either a handler, or functions as on_add, on_update, on_delete, on_resync"
            )
        if unusable := [f for f in functions if not callable(f)]:
            raise TypeError(f"a handler function is called with objects; {unusable[0]!r} cannot be")
        if awaits := [f for f in functions if inspect.iscoroutinefunction(f)]:
            raise TypeError(f"{awaits[0]!r} must be awaited; pass clientgo.aio.blocking of it")
        if handler is not None and not isinstance(handler, ResourceEventHandler):
            raise TypeError(
                f"{handler!r} is no ResourceEventHandler; pass functions by name: "
                "add_event_handler(on_add=...)"
            )
        if handler is None:
            handler = HandlerFuncs(
                on_add=on_add, on_update=on_update, on_delete=on_delete, on_resync=on_resync
            )
        name = f"{self.name} handler {next(self._numbers)} ({handler_name(handler)})"
        if self._view is not None:
            handler = ViewingHandler(self._view, handler)
        if self._trace is not None:
            handler = TracedHandler(handler, self._trace, self.name)
        listener = Listener(
            handler,
            name=name,
            clock=self._clock,
            coalesce=coalesce,
            high_water=high_water,
        )
        with self._lock:
            if self._phase is _Phase.STOPPED:
                raise InformerStateError(
                    f"{self.name} has stopped: {handler_name(handler)} would not be called"
                )
            period = self._default_period if resync_period is None else resync_period
            schedule = self._schedule_locked(checked_period(period))
            with self._distributing:
                objs = self._store.list()
                replay = Chunk([(Kind.ADD, obj, True) for obj in objs], initial=len(objs))
                self._processor.add(listener, schedule, replay)
        return Registration(self, listener)

    def remove_event_handler(self, registration: Registration) -> None:
        """Stop calling a handler; what waits for it is dropped.

        Does not wait for the call in progress. May be called at any time, repeatedly and by the
        handler itself. Ignores a handler of another informer.
        """
        if not isinstance(registration, Registration):
            raise TypeError(f"not what add_event_handler returned: {registration!r}")
        if registration._informer is self:
            self._processor.remove(registration._listener)

    def shut_down_event_handler(self, registration: Registration) -> None:
        """Remove a handler and wait until its call in progress has ended.

        Waits at most 10 s and then names the handler in the log. Does not wait when the handler
        itself calls it.
        """
        self.remove_event_handler(registration)
        if registration._informer is self:
            self._processor.shut_down(registration._listener)

    # Before the start

    def set_transform(self, transform: Transform) -> None:
        """Change what is cached. Raises :class:`InformerStateError` once started."""
        with self._lock:
            self._check_new_locked("a transform")
            self._transform = transform

    def set_watch_error_handler(self, on_error: WatchErrorHandler) -> None:
        """Call ``on_error`` for failures. Raises :class:`InformerStateError` once started."""
        with self._lock:
            self._check_new_locked("a watch error handler")
            self._on_error = on_error

    # What is there

    def resync(self) -> None:
        """Call all handlers again for every object in the cache, whatever their resync periods.

        Does not wait for the calls. Does nothing before the informer runs.
        """
        with self._lock:
            queue = self._queue
        if queue is not None:
            self._processor.all_due()
            queue.resync()

    def add_indexers(self, indexers: Mapping[str, IndexFunc]) -> None:
        """Register indexes, before the start or while running.

        Raises :class:`InformerStateError` once stopped, and like
        :meth:`~clientgo.cache.Indexer.add_indexers`.
        """
        with self._lock:
            if self._phase is _Phase.STOPPED:
                raise InformerStateError(f"{self.name} has stopped: no indexes can be added")
        self.indexer.add_indexers(indexers)

    def last_sync_resource_version(self) -> str:
        """Return the version up to which the queue has everything; empty before the first list."""
        reflector = self._reflector
        return reflector.last_sync_resource_version() if reflector is not None else ""

    def is_watching(self) -> bool:
        """Return True while a watch is open that keeps the cache up to date."""
        reflector = self._reflector
        return reflector is not None and reflector.is_watching()

    def last_error(self) -> Exception | None:
        """Return the last error in listing and watching, if there was one.

        Of an informer that does not run, and has no such error, that is the reason why its cache
        is empty.
        """
        reflector = self._reflector
        if reflector is None and not self.is_stopped():
            return InformerStateError("it was not started; call its run, or start of its factory")
        error = reflector.statistics().last_error if reflector is not None else None
        if error is None and not self.has_synced() and self.is_stopped():
            return InformerStateError("it was stopped before its first list")
        return error

    def statistics(self) -> InformerStatistics:
        """Return how it is doing, for probes and people."""
        queue, reflector = self._queue, self._reflector
        return InformerStatistics(
            synced=self.has_synced(),
            stopped=self.is_stopped(),
            store=self.indexer.statistics(),
            queue=queue.statistics() if queue is not None else None,
            reflector=reflector.statistics() if reflector is not None else None,
            handlers=tuple(listener.statistics() for listener in self._processor.listeners()),
            quarantined=self._quarantine.count,
        )

    # Inside

    def _start_locked(self) -> Controller:
        queue = self._queue = self._queue_choice.make(
            self._store, name=self.name, clock=self._clock, metrics=self._metrics.queue
        )
        store: Any = queue
        if self._transform is not None:
            store = TransformingStore(queue, self._transform, self._quarantine)
        reflector = self._reflector = Reflector(
            self._lister_watcher,
            store,
            name=f"{self.name} reflector",
            description=self._description,
            expected=self._expected,
            resync_period=self._check_period,
            should_resync=self._processor.should_resync,
            # What a transform has changed cannot be compared with what arrives.
            stored=self._store.get if self._transform is None else None,
            on_error=self._on_error,
            quarantine=self._quarantine,
            options=self._options,
        )
        self._phase = _Phase.RUNNING
        return Controller(
            queue, reflector, self._process, processed=self._processed, clock=self._clock
        )

    def _process(self, batch: Sequence[Deltas], is_in_initial_list: bool) -> None:
        try:
            with self._distributing:
                self._deltas.process(batch, is_in_initial_list)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a cache must not silently go stale
            _log.exception("%s: processing changes failed; listing again", self.name)
            if self._reflector is not None:
                self._reflector.list_again(error)

    def _watch_over(self, chunk: Chunk) -> None:
        """Hand notifications to the handlers, and their objects to the mutation detector."""
        assert self._mutation_detector is not None
        for notification in chunk.notifications:
            if notification[0] is not Kind.DELETE:
                self._mutation_detector.add(subject_of(notification))
        self._processor.distribute(chunk)

    def _processed(self) -> None:
        if not self._synced.is_done() and self._queue is not None and self._queue.has_synced():
            self._synced.done.set()
            with self._distributing:
                self._processor.upstream_has_synced()
        self._processor.report_overrun()
        self._metrics.reached(self.indexer.last_store_sync_resource_version())

    @contextmanager
    def _looking_for_mutations(self) -> Iterator[None]:
        if self._mutation_detector is None:
            yield
            return
        ended = threading.Event()
        thread = SupervisedThread.started(
            self._mutation_detector.run,
            args=(ended,),
            name=f"{self.name} mutation detector",
            then="changes of cached objects are not detected any more",
        )
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _schedule_locked(self, period: float) -> ResyncSchedule:
        if 0 < period < self._check_period:
            if self._phase is _Phase.NEW:
                self._check_period = period
                self._processor.check_period_changed(period)
            else:
                _log.warning(
                    "%s: a resync period of %s s is raised to the %s s of the running informer",
                    self.name,
                    period,
                    self._check_period,
                )
        return ResyncSchedule(period, self._check_period, self._clock)

    def _check_new_locked(self, what: str) -> None:
        if self._phase is not _Phase.NEW:
            raise InformerStateError(f"{self.name} has started: {what} must be set before")
