"""How a reflector is doing: counts, ages and errors, for probes, people, metrics and the log.

Promises consistent snapshots from any thread. The probe decides which age is too old; on a quiet
watch the server answers at least every few minutes. The log has one line each time the errors
change, and one when they end. client-go has no counterpart.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from clientgo.cache.reflector.errors import NotServedError
from clientgo.cache.reflector.list_watch import PROGRAMMING_ERRORS
from clientgo.cache.reflector.state import State, Watching
from clientgo.cache.store.resource_versions import gauge_value
from clientgo.meta import StatusError
from clientgo.observe.metrics import MetricsProvider, names
from clientgo.util.clock import Clock
from clientgo.util.text.escapes import escaped


class ReflectorMetrics:
    """The metrics of one reflector, under client-go's names. Has one user.

    Differs from client-go, where nothing has reported these since their labels, generated names,
    lived for ever. Here the label is the resource, and the series end with the reflector.
    """

    def __init__(self, provider: MetricsProvider, resource: str) -> None:
        self._lists = provider.counter(names.REFLECTOR_LISTS, name=resource)
        self._list_duration = provider.summary(names.REFLECTOR_LIST_DURATION, name=resource)
        self._items = provider.summary(names.REFLECTOR_ITEMS_PER_LIST, name=resource)
        self._watches = provider.counter(names.REFLECTOR_WATCHES, name=resource)
        self._short_watches = provider.counter(names.REFLECTOR_SHORT_WATCHES, name=resource)
        self._watch_duration = provider.summary(names.REFLECTOR_WATCH_DURATION, name=resource)
        self._events = provider.summary(names.REFLECTOR_ITEMS_PER_WATCH, name=resource)
        self._version = provider.gauge(names.REFLECTOR_LAST_RESOURCE_VERSION, name=resource)

    def listed(self, seconds: float, items: int) -> None:
        """Count a streamed list, or a page of another one."""
        self._lists.inc()
        self._list_duration.observe(seconds)
        self._items.observe(items)

    def watched(self, seconds: float, events: int, *, short: bool) -> None:
        """Count a watch that ended."""
        self._watches.inc()
        self._watch_duration.observe(seconds)
        self._events.observe(events)
        if short:
            self._short_watches.inc()

    def reached(self, version: str) -> None:
        """Report the version that the store has reached."""
        number = gauge_value(version)
        if number is not None:
            self._version.set(number)

    def remove(self) -> None:
        """End the series."""
        for instrument in (
            self._lists,
            self._list_duration,
            self._items,
            self._watches,
            self._short_watches,
            self._watch_duration,
            self._events,
            self._version,
        ):
            instrument.remove()


@dataclass(frozen=True, slots=True)
class ReflectorStatistics:
    """A reflector at one instant. Ages are in seconds, None for what has not happened yet.

    ``state`` is the state of the machine. ``is_watching`` is True while a watch is open that keeps
    the store up to date. ``seconds_since_heard`` is the age of the server's last answer, event or,
    if the stream knows, byte. ``skipped`` counts events of the wrong kind, ``quarantined`` objects
    that did not decode.
    """

    state: str
    is_watching: bool
    resource_version: str
    lists: int
    watches: int
    short_watches: int
    events: int
    skipped: int
    quarantined: int
    last_error: Exception | None
    seconds_since_error: float | None
    seconds_since_heard: float | None


class ReflectorHealth:
    """Records what one reflector does, in the reflector's thread. Snapshots are thread-safe."""

    def __init__(self, metrics: ReflectorMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._lock = threading.Lock()
        self._lists = self._watches = self._short_watches = self._events = self._skipped = 0
        self._last_error: Exception | None = None
        self._failed_at: float | None = None
        self._heard_at: float | None = None

    def listed(self, seconds: float, items: int) -> None:
        """Record a streamed list, or a page of another one."""
        with self._lock:
            self._lists += 1
            self._heard_at = self._clock.monotonic()
        self._metrics.listed(seconds, items)

    def heard(self, events: int) -> None:
        """Record that the server answered, with this many events."""
        with self._lock:
            self._events += events
            self._heard_at = self._clock.monotonic()

    def skipped(self) -> None:
        """Record an event of the wrong kind."""
        with self._lock:
            self._skipped += 1

    def watched(self, seconds: float, events: int, *, short: bool) -> None:
        """Record a watch that ended."""
        with self._lock:
            self._watches += 1
            self._short_watches += short
        self._metrics.watched(seconds, events, short=short)

    def failed(self, error: Exception) -> None:
        """Record an error."""
        with self._lock:
            self._last_error = error
            self._failed_at = self._clock.monotonic()

    def statistics(
        self, state: State, quarantined: int, last_byte_at: float | None
    ) -> ReflectorStatistics:
        """Return everything at this instant; ``last_byte_at`` is what the open stream knows."""
        now = self._clock.monotonic()
        with self._lock:
            heard = [at for at in (self._heard_at, last_byte_at) if at is not None]
            return ReflectorStatistics(
                state=type(state).__name__,
                is_watching=isinstance(state, Watching),
                resource_version=state.memory.version,
                lists=self._lists,
                watches=self._watches,
                short_watches=self._short_watches,
                events=self._events,
                skipped=self._skipped,
                quarantined=quarantined,
                last_error=self._last_error,
                seconds_since_error=None if self._failed_at is None else now - self._failed_at,
                seconds_since_heard=now - max(heard) if heard else None,
            )


_log = logging.getLogger("clientgo.cache.reflector")


class ErrorLog:
    """Logs the errors of one reflector. Has one user."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._last: tuple[object, ...] = ()

    def failed(self, error: Exception) -> None:
        """Log an error: a warning if it is new, otherwise a line at DEBUG.

        An error in the code of the list-watch is logged each time, with its place.
        """
        if isinstance(error.__cause__ or error, PROGRAMMING_ERRORS):
            text = "%s: %s; that is a bug in the list-watch, tried again until it works"
            _log.error(text, self._name, escaped(str(error)), exc_info=error)
            return
        kind = _kind_of(error)
        level = logging.DEBUG if kind == self._last else logging.WARNING
        self._last = kind
        # Escaped here too, because a server's text may go to a handler that does not.
        _log.log(level, "%s: %s; trying again until it works", self._name, escaped(str(error)))

    def recovered(self) -> None:
        """Log that the last error is over, if there was one."""
        if self._last:
            self._last = ()
            _log.info("%s: it works again", self._name)


def _kind_of(error: BaseException | None) -> tuple[object, ...]:
    """Return the kind of an error; its text may differ each time, as the text of a timeout does."""
    if error is None:
        return ()
    if isinstance(error, StatusError):
        return (error.code, error.reason)
    if isinstance(error, NotServedError):
        return (NotServedError,)
    return (type(error), *_kind_of(error.__cause__))
