"""Keeps a store equal to what a server has: lists, watches, and never gives up.

Promises: the store is told everything that the server says, in order, and a list as a whole; a
version is remembered only after the store took what belongs to it; :meth:`Reflector.run` returns
promptly once its stop is set, with everything closed and joined, without reporting an error.

Does not promise that the store has seen every state of an object, only that it comes to have the
newest one, unless the server cannot be reached.

Differs from client-go (``tools/cache`` Reflector): what follows what is a state machine
(:mod:`clientgo.cache.reflector.state`, :mod:`clientgo.cache.reflector.step`); this file only does
what the state says. One thread lists and watches, where client-go starts another for every list.
Delays honour Retry-After and start over after two quiet minutes, not in the middle of an outage.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from msgspec.structs import replace

from clientgo.cache.reflector.health import ReflectorHealth, ReflectorStatistics
from clientgo.cache.reflector.list_watch import ListerWatcher, WatchStream
from clientgo.cache.reflector.metrics import ReflectorMetrics
from clientgo.cache.reflector.quarantine import QuarantineLog, key_for_report
from clientgo.cache.reflector.resync import ResyncTimer
from clientgo.cache.reflector.state import (
    Backoff,
    Closed,
    ConsumerFailedError,
    Expected,
    Failed,
    Happening,
    ListPage,
    Memory,
    Message,
    Opened,
    OpenStream,
    OpenWatch,
    Page,
    Quarantine,
    Reached,
    Received,
    Refused,
    Relist,
    Replace,
    ResyncFailedError,
    Settings,
    Skip,
    State,
    StreamedListOverdueError,
    StreamingList,
    VeryShortWatchError,
    Waited,
    Watching,
)
from clientgo.cache.reflector.step import begin, step, watch_options
from clientgo.cache.reflector.store_writer import ReflectorStore, StoreWriter
from clientgo.cache.reflector.streamed_list_watchdog import StreamedListWatchdog
from clientgo.cache.store.indexer import Indexer
from clientgo.cache.store.keys import NAMESPACE_INDEX, meta_namespace_index
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import EventType, GroupVersionKind, StatusError, WatchEvent
from clientgo.metrics import MetricsProvider, default_provider
from clientgo.wait import Backoff as Delays
from clientgo.wait import BackoffManager, call_when_set

_log = logging.getLogger("clientgo.cache.reflector")

DEFAULT_DELAYS: Final = Delays(duration=0.8, factor=2.0, jitter=1.0, steps=38, cap=30.0)
"""A server that comes back finds its clients spread over half a minute and more."""

DELAYS_START_OVER_AFTER: Final = 120.0
"""Seconds without a delay after which the next one is short again."""

SHORTEST_WATCH_TIMEOUT: Final = 300.0
"""Seconds. The server ends a watch after this to twice this, so that load spreads again."""

SLOW_LIST: Final = 10.0
"""Seconds after which a list, or a page of it, is worth a line in the log."""

WatchErrorHandler = Callable[[Exception], None]
"""Told of every failure of a list, a watch or the store, in the reflector's thread, before it
pauses. Must be quick."""


class Reflector:
    """Lists and watches into ``store``.

    ``description`` says what is reflected, ``expected`` (a class or, for unstructured objects, a
    kind) what the events of a watch must carry. Every ``resync_period`` seconds (0: never) the
    store is asked to resync, if ``should_resync`` agrees. ``delays`` replaces the back-off,
    ``page_size`` the choice of it; a ``min_watch_timeout`` above 300 s makes watches last longer.
    For ``internal_error_window`` seconds a watch that fails with internal errors is reopened
    without a list. ``stream_initial_list`` asks servers to stream the initial list.

    ``on_error`` is told of failures; the default logs each new one. All methods are thread-safe;
    :meth:`run` and :meth:`list_and_watch` are for one thread at a time.

    Source: k8s.io/client-go/tools/cache, Reflector.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[Any],
        store: ReflectorStore,
        *,
        name: str = "reflector",
        description: str = "<unspecified>",
        expected: type | GroupVersionKind | None = None,
        resync_period: float = 0.0,
        should_resync: Callable[[], bool] | None = None,
        delays: BackoffManager | None = None,
        page_size: int = 0,
        min_watch_timeout: float = SHORTEST_WATCH_TIMEOUT,
        internal_error_window: float = 0.0,
        stream_initial_list: bool = True,
        on_error: WatchErrorHandler | None = None,
        quarantine: QuarantineLog | None = None,
        metrics: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name: Final = name
        self._lister_watcher = lister_watcher
        self._store = store
        self._writer = StoreWriter(store)
        can_stream = getattr(lister_watcher, "supports_watch_list", True)
        self._settings = Settings(
            description=description,
            expected=Expected.of(expected),
            page_size=page_size,
            stream_initial_list=stream_initial_list and can_stream,
            internal_error_window=internal_error_window,
        )
        self._should_resync = should_resync
        self._delays = delays or BackoffManager(
            DEFAULT_DELAYS, DELAYS_START_OVER_AFTER, clock=clock
        )
        self._watch_timeout = int(max(min_watch_timeout, SHORTEST_WATCH_TIMEOUT))
        self._on_error = on_error or self._log_error
        self._quarantine = quarantine or QuarantineLog(name)
        self._metrics = ReflectorMetrics(metrics or default_provider(), description)
        self._health = ReflectorHealth(self._metrics, clock)
        self._clock = clock
        self._resync_timer = (
            ResyncTimer(resync_period, self._resync, clock=clock, name=f"{name} resync")
            if resync_period > 0
            else None
        )
        self._state: State = begin(self._settings, Memory())
        self._watchdog: StreamedListWatchdog | None = None
        self._logged_trouble: tuple[object, ...] = ()

        self._lock = threading.Lock()
        self._stream: WatchStream | None = None
        self._interruption: Exception | None = None

    def run(self, stop: threading.Event) -> None:
        """Keep the store equal to the server until ``stop`` is set. Blocks; raises nothing."""
        with self._ending_streams(stop):
            while not stop.is_set():
                self._advance(stop)
        if self._resync_timer is not None:
            self._resync_timer.join()
        self._metrics.remove()

    def list_and_watch(self, stop: threading.Event) -> None:
        """List once and watch until that fails or ``stop`` is set. Blocks.

        Raises what went wrong, except for a version that expired, which only means to list anew.
        """
        with self._ending_streams(stop):
            self._state = begin(self._settings, self._state.memory)
            while not stop.is_set() and not isinstance(self._state, Relist):
                self._advance(stop)
        if isinstance(self._state, Relist) and not self._state.expected:
            raise self._state.error

    def list_again(self, error: BaseException) -> None:
        """Read the whole state again, because the consumer of the store lost a change.

        The open watch, or the next one, ends with ``error``; a list that begins before that brings
        the whole state anyhow. Does not block.
        """
        failed = ConsumerFailedError(f"the consumer of the store failed: {error!r}")
        failed.__cause__ = error
        self._interrupt(failed)

    def last_sync_resource_version(self) -> str:
        """The version up to which the store has been told everything; empty before it is."""
        return self._state.memory.version

    def is_last_sync_resource_version_unavailable(self) -> bool:
        """Whether the server does not have that version, so that the next list asks for newer."""
        return self._state.memory.unavailable

    def is_watching(self) -> bool:
        """Whether a watch is open that keeps the store up to date."""
        return isinstance(self._state, Watching)

    def statistics(self) -> ReflectorStatistics:
        """How the reflector is doing, for probes and people."""
        last_byte_at = getattr(self._stream, "last_byte_time", None)
        return self._health.statistics(self._state, self._quarantine.count, last_byte_at)

    # The machine

    def _advance(self, stop: threading.Event) -> None:
        happening = self._act(self._state, stop)
        for part in self._parts(happening):
            if stop.is_set():
                return
            self._enter(self._follow(part), stop)
            if not isinstance(self._state, Watching | StreamingList):
                # The stream has failed. What follows in it comes again with the next request.
                return

    def _act(self, state: State, stop: threading.Event) -> Happening:
        """Do what the state waits for, and return what came of it."""
        if isinstance(state, Watching | StreamingList):
            return self._read()
        if isinstance(state, ListPage):
            return self._list(state, stop)
        if isinstance(state, OpenWatch | OpenStream):
            return self._open(state, stop)
        return self._pause(state, stop)

    def _parts(self, happening: Happening) -> Sequence[Happening]:
        """A store that takes no batches gets every event by itself."""
        if isinstance(happening, Received) and not self._writer.takes_batches:
            return [Received([event], happening.at) for event in happening.events]
        return [happening]

    def _follow(self, happening: Happening) -> State:
        """Deliver what follows from a happening and return the state that follows."""
        taken = step(self._settings, self._state, happening)
        try:
            for message in taken.messages:
                self._deliver(message)
        except Exception as error:  # noqa: BLE001 - whatever the store raises, it has not taken it
            return step(self._settings, self._state, Refused(error)).next
        return taken.next

    def _enter(self, state: State, stop: threading.Event) -> None:
        left, self._state = self._state, state
        if self._resync_timer is not None and isinstance(state, OpenWatch | Watching):
            self._resync_timer.start(stop)
        if isinstance(left, Watching | StreamingList) and type(state) is not type(left):
            self._leave(left, state)
        if isinstance(state, StreamingList) and type(left) is not StreamingList:
            self._watchdog = StreamedListWatchdog(
                self._streamed_list_overdue, clock=self._clock, name=self.name
            )
        if isinstance(state, Watching):
            self._log_recovery()
        elif isinstance(state, Backoff | Relist):
            self._health.failed(state.error)
            if isinstance(state, Backoff):
                self._log_error(state.error)
            elif not state.expected:
                self._tell_error(state.error)

    def _leave(self, left: Watching | StreamingList, state: State) -> None:
        if self._watchdog is not None:
            self._watchdog.end()
            self._watchdog = None
        if isinstance(state, Watching):
            return
        self._end_stream()
        lasted = self._clock.monotonic() - left.since
        is_short = isinstance(state, Relist) and isinstance(state.error, VeryShortWatchError)
        self._health.watched(lasted, left.accepted, short=is_short)

    # What the states do

    def _list(self, state: ListPage, stop: threading.Event) -> Happening:
        asked_at = self._clock.monotonic()
        with self._lock:
            self._interruption = None
        try:
            content = self._lister_watcher.list(state.options, stop)
        except Exception as error:  # noqa: BLE001 - the state decides what any failure leads to
            return Failed(error, self._clock.monotonic())
        lasted = self._clock.monotonic() - asked_at
        if lasted > SLOW_LIST:
            _log.warning(
                "%s: a list of %d items took %.0f s", self.name, len(content.items), lasted
            )
        self._health.listed(lasted, len(content.items))
        version = content.metadata.resource_version
        _log.debug("%s: listed %d objects at version %s", self.name, len(content.items), version)
        return Page(content)

    def _open(self, state: OpenWatch | OpenStream, stop: threading.Event) -> Happening:
        timeout = random.randint(self._watch_timeout, 2 * self._watch_timeout)
        options = replace(watch_options(state), timeout_seconds=timeout)
        asked_at = self._clock.monotonic()
        try:
            stream = self._lister_watcher.watch(options, stop)
        except Exception as error:  # noqa: BLE001 - the state decides what any failure leads to
            return Failed(error, self._clock.monotonic())
        with self._lock:
            self._stream = stream
            must_end = self._interruption is not None or stop.is_set()
        if must_end:
            self._end_stream()
        self._health.heard(0)
        what = "streaming the list and watching" if isinstance(state, OpenStream) else "watching"
        _log.debug("%s: %s from version %s", self.name, what, options.resource_version or "now")
        return Opened(asked_at)

    def _read(self) -> Happening:
        events: Sequence[WatchEvent[Any]] = ()
        failure: Exception | None = None
        stream = self._stream
        try:
            if stream is not None:
                events = stream.read()
        except Exception as error:  # noqa: BLE001 - the state decides what any failure leads to
            failure = error
        now = self._clock.monotonic()
        if events:
            self._health.heard(len(events))
            if _log.isEnabledFor(logging.DEBUG):
                self._log_events(events)
            return Received(events, now)
        with self._lock:
            failure, self._interruption = self._interruption or failure, None
        return Closed(now) if failure is None else Failed(failure, now)

    def _pause(self, state: Backoff | Relist, stop: threading.Event) -> Happening:
        delay = max(self._delays.step(), _retry_after(state.error))
        _log.debug("%s: going on in %.1f s after: %s", self.name, delay, state.error)
        self._clock.sleep(delay, stop)
        return Waited()

    # What others are told

    def _deliver(self, message: Message) -> None:
        if isinstance(message, Quarantine):
            self._quarantine.report(message.obj, message.obj.reason)
        elif isinstance(message, Skip):
            self._health.skipped()
            key = key_for_report(message.obj)
            _log.warning("%s: skipped the event of %s: %s", self.name, key, message.reason)
        else:
            self._writer.deliver(message)
            if isinstance(message, Replace | Reached):
                self._metrics.reached(message.version)

    def _tell_error(self, error: Exception) -> None:
        try:
            self._on_error(error)
        except Exception:  # noqa: BLE001 - a failing handler must not end the reflector
            _log.exception("%s: the error handler failed while it was told: %s", self.name, error)

    def _log_error(self, error: Exception) -> None:
        """The default handler: one line each time the situation changes."""
        trouble = _situation(error)
        level = logging.DEBUG if trouble == self._logged_trouble else logging.WARNING
        self._logged_trouble = trouble
        _log.log(level, "%s: %s; trying again until it works", self.name, error)

    def _log_events(self, events: Sequence[WatchEvent[Any]]) -> None:
        for event in events:
            about = "" if event.type == EventType.BOOKMARK else key_for_report(event.object)
            _log.debug("%s: %s %s", self.name, event.type, about)

    def _log_recovery(self) -> None:
        if self._logged_trouble:
            self._logged_trouble = ()
            _log.info("%s: it works again", self.name)

    # Other threads

    @contextmanager
    def _ending_streams(self, stop: threading.Event) -> Iterator[None]:
        """Make a stop end the open stream, and leave none behind."""
        registration = call_when_set(stop, self._end_stream)
        try:
            yield
        finally:
            registration.cancel()
            if self._watchdog is not None:
                self._watchdog.end()
            self._end_stream()

    def _end_stream(self) -> None:
        with self._lock:
            stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()

    def _interrupt(self, error: Exception) -> None:
        """Make the open stream, if any, fail with ``error``."""
        with self._lock:
            stream, self._interruption = self._stream, error
        if stream is not None:
            stream.stop()

    def _streamed_list_overdue(self) -> None:
        self._interrupt(StreamedListOverdueError("a streamed list did not end in time"))

    def _resync(self) -> None:
        try:
            if self._should_resync is None or self._should_resync():
                self._store.resync()
        except BaseException as error:  # noqa: BLE001 - reported by the reflector's own thread
            failed = ResyncFailedError(f"the store refused to resync: {error}")
            failed.__cause__ = error
            self._health.failed(failed)
            self._interrupt(failed)


def _retry_after(error: BaseException | None) -> float:
    """How many seconds the server asked to be left alone, wherever the error says so."""
    while error is not None:
        if isinstance(error, StatusError):
            return error.retry_after or 0.0
        error = error.__cause__
    return 0.0


def _situation(error: BaseException | None) -> tuple[object, ...]:
    """What kind of trouble an error is; its text may differ each time, as a URL's time-out does."""
    if error is None:
        return ()
    if isinstance(error, StatusError):
        return (error.code, error.reason)
    return (type(error), *_situation(error.__cause__))


def new_namespace_keyed_reflector(
    lister_watcher: ListerWatcher[Any],
    expected: type | GroupVersionKind | None = None,
    **options: Any,
) -> tuple[Indexer[Any], Reflector]:
    """A store that is indexed by namespace and the reflector that keeps it; nothing runs yet.

    Source: k8s.io/client-go/tools/cache, NewNamespaceKeyedIndexerAndReflector.
    """
    store: Indexer[Any] = Indexer(indexers={NAMESPACE_INDEX: meta_namespace_index})
    return store, Reflector(lister_watcher, store, expected=expected, **options)
