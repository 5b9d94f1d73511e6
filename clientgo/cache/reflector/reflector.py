"""Keeps a store equal to the objects on a server: lists, watches, and never gives up.

Promises: the store receives all that the server sends, in order, and a list as a whole. A version
is remembered only after the store took what belongs to it. The store sees the newest state of an
object, not every state.

Differs from client-go (``tools/cache`` Reflector): a state machine decides what follows, and this
file only acts. One thread lists and watches. Delays honour Retry-After. A server whose versions
have gone back is listed again.
"""

from __future__ import annotations

import logging
import math
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Final, Unpack

from msgspec.structs import replace

from clientgo.cache.hops import received
from clientgo.cache.reflector.connection import WatchConnection
from clientgo.cache.reflector.errors import (
    ConsumerFailedError,
    NotServedError,
    ResyncFailedError,
    ServerWentBackError,
    StreamedListOverdueError,
    VeryShortWatchError,
    is_connection_refused,
    retry_after,
)
from clientgo.cache.reflector.health import (
    ErrorLog,
    ReflectorHealth,
    ReflectorMetrics,
    ReflectorStatistics,
)
from clientgo.cache.reflector.list_watch import (
    CheckedSource,
    ListerWatcher,
    ListWatchError,
    check_list_watch,
)
from clientgo.cache.reflector.options import (
    SHORTEST_WATCH_TIMEOUT,
    ReflectorKeywords,
    ReflectorOptions,
    options_of,
)
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.reflector.reading import (
    Stored,
    sharing_unchanged,
    sharing_unchanged_events,
)
from clientgo.cache.reflector.reflector_store import (
    CacheStore,
    ReflectorStore,
    VersionStore,
    as_cache_store,
)
from clientgo.cache.reflector.state import (
    Apply,
    Backoff,
    Bookmark,
    Closed,
    Event,
    Expected,
    Failed,
    ListPage,
    Memory,
    Message,
    NotServed,
    Opened,
    OpenStream,
    OpenWatch,
    Page,
    Quarantine,
    Received,
    Refused,
    Relist,
    Replace,
    Settings,
    Skip,
    State,
    StreamingList,
    StreamState,
    Unserved,
    Waited,
    Watching,
)
from clientgo.cache.reflector.step import begin, is_very_short, step, watch_options
from clientgo.cache.reflector.timers import ResyncTimer, StreamedListDeadline
from clientgo.cache.store.keys import key_for_report
from clientgo.meta import (
    EventType,
    GroupVersionKind,
    ListOptions,
    WatchEvent,
)
from clientgo.observe.metrics import default_provider
from clientgo.observe.trace import active_trace
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.wait import Backoff as Delays
from clientgo.util.wait import BackoffManager, call_when_set

_log = logging.getLogger("clientgo.cache.reflector")

DEFAULT_DELAYS: Final = Delays(duration=0.8, factor=2.0, jitter=1.0, steps=38, cap=30.0)
"""When a server comes back, its clients reconnect over half a minute and more."""

DELAYS_START_OVER_AFTER: Final = 120.0
"""Seconds without a delay after which the next one is short again."""

SLOW_LIST: Final = 10.0
"""Seconds after which a list, or a page of it, is logged as slow."""

LONGEST_SILENCE: Final = SHORTEST_WATCH_TIMEOUT
"""Seconds without an event or a bookmark after which a watch is not resumed unchecked. A server
that keeps up sends a bookmark every minute."""

QUICK_RESTART: Final = 15.0
"""Seconds in which a server that is down restarts, but is not replaced by another."""

WatchErrorHandler = Callable[[Exception], None]
"""Called for every failure of a list, a watch or the store, in the reflector's thread, before it
pauses. Must be quick."""


@uncopyable("it has threads; make one in each process")
class Reflector:
    """Lists and watches into ``store``.

    ``description`` names what is reflected. ``expected`` is what the objects of a watch must be: a
    class or, for unstructured objects, a kind. The store resyncs every ``resync_period`` seconds
    (0: never) if ``should_resync`` returns True. ``stored`` returns what the store holds of an
    object: when a list comes again, that takes the place of what has not changed, so that it does
    not take memory twice. All else is in ``options``, or given as its fields.

    ``on_error`` is called for failures; the default logs each new one. All methods are
    thread-safe; :meth:`run` and :meth:`list_and_watch` are for one thread at a time. A
    ``lister_watcher`` that is none is a :class:`ListWatchError`, here or from :meth:`run`.

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
        stored: Stored | None = None,
        on_error: WatchErrorHandler | None = None,
        quarantine: QuarantineLog | None = None,
        options: ReflectorOptions | None = None,
        **keywords: Unpack[ReflectorKeywords],
    ) -> None:
        check_list_watch(lister_watcher)
        options = options_of(options, keywords)
        clock = options.clock
        self.name: Final = name
        self._source = CheckedSource(lister_watcher, name)
        self._store = store
        self._target = as_cache_store(store)
        self._versions = store if isinstance(store, VersionStore) else None
        self._takes_batches = isinstance(store, CacheStore) and self._versions is None
        can_stream = getattr(lister_watcher, "supports_watch_list", True)
        self._settings = Settings(
            description=description,
            expected=Expected.of(expected),
            page_size=options.page_size,
            stream_initial_list=options.stream_initial_list and can_stream,
            internal_error_window=options.internal_error_window,
        )
        self._should_resync = should_resync
        self._stored = stored
        self._delays = options.delays or _default_delays(clock)
        self._may_start_over = options.delays is None
        self._down_since: float | None = None
        """When the server began to refuse connections, if the last pause was for that."""
        self._watch_timeout = int(max(options.min_watch_timeout, SHORTEST_WATCH_TIMEOUT))
        self._error_log = ErrorLog(name)
        self._on_error = on_error or self._error_log.failed
        self._quarantine = quarantine or QuarantineLog(name)
        self._metrics = ReflectorMetrics(options.metrics or default_provider(), description)
        self._health = ReflectorHealth(self._metrics, clock)
        self._clock = clock
        self._resync_timer = (
            ResyncTimer(resync_period, self._resync, clock=clock, name=f"{name} resync")
            if resync_period > 0
            else None
        )
        self._trace = active_trace()
        self._traced_name = name.removesuffix(" reflector")  # that of its informer
        self._state: State = begin(self._settings, Memory())
        self._connection = WatchConnection()
        self._news_at = clock.monotonic()
        """When the server last sent a list, an event or a bookmark."""
        self._list_deadline: StreamedListDeadline | None = None

    def run(self, stop: threading.Event) -> None:
        """Keep the store equal to the server until ``stop`` is set. Blocks.

        Reports failures to ``on_error`` and raises nothing but what ``on_error`` or the store
        raise to end the thread, such as ``SystemExit``; it can then be called again. Raises
        :class:`ListWatchError` if the list-watch returns something else than a list or a stream,
        or fails by a programming error before it has worked once.
        """
        if self._trace is not None:
            self._trace.acts_for(self._traced_name)
        with self._closing(stop):
            while not stop.is_set():
                self._advance(stop)
        if self._resync_timer is not None:
            self._resync_timer.join()
        self._metrics.remove()

    def list_and_watch(self, stop: threading.Event) -> None:
        """List once and watch until that fails or ``stop`` is set. Blocks.

        Raises the failure, except that a version expired, which only leads to another list.
        """
        with self._closing(stop):
            self._state = begin(self._settings, self._state.memory)
            while not stop.is_set() and not isinstance(self._state, Relist):
                self._advance(stop)
        if isinstance(self._state, Relist) and not self._state.expected:
            raise self._state.error

    def list_again(self, error: BaseException) -> None:
        """Read the whole state again, because the consumer of the store lost a change.

        The open watch, or the next one, fails with ``error``. A list that begins before that
        brings the whole state too. Does not block.
        """
        failed = ConsumerFailedError(f"the consumer of the store failed: {error!r}")
        failed.__cause__ = error
        self._connection.interrupt(failed)

    def last_sync_resource_version(self) -> str:
        """Return the version up to which the store has everything; empty before the first list."""
        return self._state.memory.version

    def is_last_sync_resource_version_unavailable(self) -> bool:
        """Return True if the server does not have that version; the next list asks for newer."""
        return self._state.memory.unavailable

    def is_watching(self) -> bool:
        """Return True while a watch is open that keeps the store up to date."""
        return isinstance(self._state, Watching)

    def statistics(self) -> ReflectorStatistics:
        """Return how the reflector is doing, for probes and people."""
        last_byte_at = self._connection.last_byte_at()
        return self._health.statistics(self._state, self._quarantine.count, last_byte_at)

    # The machine

    def _advance(self, stop: threading.Event) -> None:
        """Act on the state, and take the steps that follow from the result."""
        event = self._ACTIONS[type(self._state)](self, self._state, stop)
        for part in self._parts(event):
            if stop.is_set():
                return
            self._enter(self._follow(part), stop)
            if not isinstance(self._state, StreamState):
                # The stream has failed. The rest of its events come again with the next request.
                return

    def _parts(self, event: Event) -> Sequence[Event]:
        """Split received events for a store that takes no batches."""
        if isinstance(event, Received) and not self._takes_batches:
            return [Received([one], event.at) for one in event.events]
        return [event]

    def _follow(self, event: Event) -> State:
        """Deliver the messages that follow from an event and return the next state."""
        taken = step(self._settings, self._state, event)
        try:
            for message in taken.messages:
                self._deliver(message)
        except Exception as error:  # noqa: BLE001 - the store may raise anything
            return step(self._settings, self._state, Refused(error)).next
        return taken.next

    def _enter(self, state: State, stop: threading.Event) -> None:
        left, self._state = self._state, state
        if isinstance(left, StreamState) and not isinstance(state, StreamState):
            self._end_watch(left, state)
        entry = self._ENTRIES.get(type(state))
        if entry is not None:
            entry(self, state, stop)

    def _deliver(self, message: Message) -> None:
        if isinstance(message, Quarantine):
            self._quarantine.report(message.obj, message.obj.reason)
        elif isinstance(message, Skip):
            self._health.skipped()
            key = key_for_report(message.obj)
            _log.warning("%s: skipped the event of %s: %s", self.name, key, message.reason)
        elif isinstance(message, Apply):
            # A queue raises; an indexer returns a result for each change.
            for result in self._target.apply(message.changes) or ():
                if isinstance(result, Exception):
                    raise result
        elif isinstance(message, Replace):
            unknown = (message.unknown,) if message.unknown else ()
            self._target.replace(message.objects, message.version, *unknown)
            if isinstance(self._state, StreamingList):
                lasted = self._clock.monotonic() - self._state.since
                self._health.listed(lasted, len(message.objects))
            self._metrics.reached(message.version)
        elif isinstance(message, Bookmark):
            self._target.bookmark(message.version)
        else:
            if self._versions is not None:
                self._versions.update_resource_version(message.version)
            self._metrics.reached(message.version)

    # What each state waits for

    def _list(self, state: ListPage, stop: threading.Event) -> Event:
        self._connection.forget_interruption()
        asked_at = self._clock.monotonic()
        try:
            content = self._source.list(state.options, stop)
        except ListWatchError as error:
            self._health.failed(error)
            raise
        except Exception as error:  # noqa: BLE001 - the state decides where a failure leads
            return self._failure(error)
        lasted = self._clock.monotonic() - asked_at
        if self._stored is not None and state.memory.version:
            items = sharing_unchanged(content.items, self._stored)
            content = replace(content, items=items)
        count, version = len(content.items), content.metadata.resource_version
        if lasted > SLOW_LIST:
            _log.warning("%s: a list of %d items took %.0f s", self.name, count, lasted)
        self._health.listed(lasted, count)
        self._news_at = self._clock.monotonic()
        if self._trace is not None:
            self._trace.note("list.page", self._traced_name, None, version, count=count)
        _log.debug("%s: listed %d objects at version %s", self.name, count, version)
        return Page(content)

    def _open(self, state: OpenWatch | OpenStream, stop: threading.Event) -> Event:
        timeout = random.randint(self._watch_timeout, 2 * self._watch_timeout)
        options = replace(watch_options(state), timeout_seconds=timeout)
        asked_at = self._clock.monotonic()
        try:
            if isinstance(state, OpenWatch):
                self._check_server(state, stop)
            stream = self._source.watch(options, stop)
        except ListWatchError as error:
            self._health.failed(error)
            raise
        except Exception as error:  # noqa: BLE001 - the state decides where a failure leads
            return self._failure(error)
        if self._trace is not None:
            version = options.resource_version
            self._trace.note("watch.opened", self._traced_name, None, version)
        self._connection.opened(stream, stop)
        self._health.heard(0)
        what = "streaming the list and watching" if isinstance(state, OpenStream) else "watching"
        _log.debug("%s: %s from version %s", self.name, what, options.resource_version or "now")
        return Opened(asked_at)

    def _failure(self, error: Exception) -> Event:
        if isinstance(error, NotServedError):
            self._health.heard(0)
            return NotServed(error)
        return Failed(error, self._clock.monotonic())

    def _check_server(self, state: OpenWatch, stop: threading.Event) -> None:
        """Ask a server that was silent, or down, for its version, before a watch is resumed.

        A server that was restored from a backup, or replaced by an empty one, accepts a watch from
        a version that it does not have yet, and sends no event up to that version
        (kubernetes/kubernetes#107457). Raises :class:`ServerWentBackError`, or what a list raises.
        """
        if self._clock.monotonic() - self._news_at < LONGEST_SILENCE:
            return
        newest = self._source.list(ListOptions(limit=1), stop).metadata.resource_version
        _log.debug("%s: the server is at version %s", self.name, newest)
        if went_back := ServerWentBackError.shown_by(newest, state.memory.highest):
            raise went_back
        self._news_at = self._clock.monotonic()

    def _read(self, state: Watching | StreamingList, stop: threading.Event) -> Event:
        try:
            events = self._connection.read()
        except Exception as error:  # noqa: BLE001 - the state decides where a failure leads
            return Failed(error, self._clock.monotonic())
        if not events:
            return self._closed(state, stop)
        if self._trace is not None:
            self._trace.before("watch.read", self._traced_name)
        if self._stored is not None and isinstance(state, StreamingList) and state.memory.version:
            events = sharing_unchanged_events(events, self._stored)
        self._health.heard(len(events))
        self._news_at = self._clock.monotonic()
        if self._trace is not None:
            self._trace.note_all(self._traced_name, received, events)
        if _log.isEnabledFor(logging.DEBUG):
            self._log_events(events)
        return Received(events, self._clock.monotonic())

    def _closed(self, state: Watching | StreamingList, stop: threading.Event) -> Event:
        ended_at = self._clock.monotonic()
        if isinstance(state, Watching) and is_very_short(state, ended_at) and not stop.is_set():
            not_served = self._source.why_not_served(stop)
            if not_served is not None:
                return self._failure(not_served)
        return Closed(ended_at)

    def _pause(self, state: Backoff | Relist, stop: threading.Event) -> Event:
        if self._down_since is not None and self._may_start_over and _has_lost_version(state):
            # So does every server that has restarted. The pauses of the outage have spread the
            # clients already, and the cache is old.
            self._delays = _default_delays(self._clock)
        if not (isinstance(state, Backoff) and is_connection_refused(state.error)):
            self._down_since = None
        elif self._down_since is None:
            self._down_since = self._clock.monotonic()
        delay = max(self._delays.step(), retry_after(state.error))
        _log.debug("%s: continuing in %.1f s after: %s", self.name, delay, state.error)
        self._clock.sleep(delay, stop)
        since = self._down_since
        if since is not None and self._clock.monotonic() - since >= QUICK_RESTART:
            self._news_at = -math.inf  # another server, or another etcd, may be there now
        return Waited()

    _ACTIONS: ClassVar[dict[type[State], Callable[[Reflector, Any, threading.Event], Event]]] = {
        ListPage: _list,
        OpenWatch: _open,
        OpenStream: _open,
        Watching: _read,
        StreamingList: _read,
        Backoff: _pause,
        Relist: _pause,
        Unserved: _pause,
    }

    # What entering and leaving a state does

    def _store_is_filled(self, _state: OpenWatch, stop: threading.Event) -> None:
        if self._resync_timer is not None:
            self._resync_timer.start(stop)

    def _list_is_streaming(self, _state: StreamingList, _stop: threading.Event) -> None:
        if self._list_deadline is None:
            self._list_deadline = StreamedListDeadline(
                self._streamed_list_overdue, clock=self._clock, name=self.name
            )

    def _is_up_to_date(self, _state: Watching, stop: threading.Event) -> None:
        if self._resync_timer is not None:
            self._resync_timer.start(stop)
        self._end_list_deadline()
        self._error_log.recovered()

    def _same_request_failed(self, state: Backoff, _stop: threading.Event) -> None:
        self._health.failed(state.error)
        self._error_log.failed(state.error)

    def _cycle_failed(self, state: Relist, _stop: threading.Event) -> None:
        self._health.failed(state.error)
        if state.expected:
            return
        try:
            self._on_error(state.error)
        except Exception:  # noqa: BLE001 - a failing handler must not end the reflector
            _log.exception("%s: the error handler failed for: %s", self.name, state.error)

    _ENTRIES: ClassVar[dict[type[State], Callable[[Reflector, Any, threading.Event], None]]] = {
        OpenWatch: _store_is_filled,
        StreamingList: _list_is_streaming,
        Watching: _is_up_to_date,
        Backoff: _same_request_failed,
        Relist: _cycle_failed,
        Unserved: _cycle_failed,
    }

    def _end_watch(self, left: StreamState, state: State) -> None:
        self._end_list_deadline()
        self._connection.close()
        if self._trace is not None:
            reason = str(state.error) if isinstance(state, Backoff | Relist) else "closed"
            self._trace.note("watch.ended", self._traced_name, reason=reason)
        lasted = self._clock.monotonic() - left.since
        is_short = isinstance(state, Relist) and isinstance(state.error, VeryShortWatchError)
        self._health.watched(lasted, left.accepted, short=is_short)

    def _end_list_deadline(self) -> None:
        deadline, self._list_deadline = self._list_deadline, None
        if deadline is not None:
            deadline.end()

    def _log_events(self, events: Sequence[WatchEvent[Any]]) -> None:
        for event in events:
            about = "" if event.type == EventType.BOOKMARK else key_for_report(event.object)
            _log.debug("%s: %s %s", self.name, event.type, about)

    # Other threads

    @contextmanager
    def _closing(self, stop: threading.Event) -> Iterator[None]:
        """Make a stop end the open watch, and leave none behind."""
        registration = call_when_set(stop, self._connection.close)
        try:
            yield
        finally:
            registration.cancel()
            self._end_list_deadline()
            self._connection.close()

    def _streamed_list_overdue(self) -> None:
        self._connection.interrupt(StreamedListOverdueError("a streamed list did not end in time"))

    def _resync(self) -> None:
        try:
            if self._should_resync is None or self._should_resync():
                self._store.resync()
        except BaseException as error:  # noqa: BLE001 - reported by the reflector's own thread
            failed = ResyncFailedError(f"the store refused to resync: {error}")
            failed.__cause__ = error
            self._health.failed(failed)
            self._connection.interrupt(failed)


def _has_lost_version(state: Backoff | Relist) -> bool:
    """Return True if the server is up, and cannot go on from the version of the cache."""
    return isinstance(state, Relist) and (
        state.expected or isinstance(state.error, ServerWentBackError)
    )


def _default_delays(clock: Clock) -> BackoffManager:
    return BackoffManager(DEFAULT_DELAYS, DELAYS_START_OVER_AFTER, clock=clock)
