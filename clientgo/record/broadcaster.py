"""The broadcaster: takes events from any number of recorders and hands them to whoever watches.

Promises: publishing never blocks; each watch gets the events published after it was started, in
order, in a thread of its own; sinks do not share their state. ``flush`` says when everything is
written, ``shutdown`` ends with its threads joined.

Does not promise that everything is written: a queue that is full drops, and counts, what comes.

Differs from client-go (``tools/record``, EventBroadcaster) in ``flush`` and ``statistics``, and
in that ``shutdown`` waits for what was recorded before it, for a limited time.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.api.core_v1 import Event
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.event_watch import EventWatch
from clientgo.record.event_writer import RETRY_INTERVAL, EventWriter
from clientgo.record.recorder import EventRecorder
from clientgo.record.sink import Sink
from clientgo.wait import Registration, call_when_set

_log = logging.getLogger("clientgo.record")


@dataclass(frozen=True, slots=True)
class BroadcasterStatistics:
    """What became of the events, summed over all watches and sinks.

    ``pending`` wait in queues, ``dropped`` found them full or closed. Of those that reached a
    sink, ``written`` were, ``silenced`` were over their object's budget, ``given_up`` were
    refused or got no answer. ``evicted`` cache entries make events be written anew instead of
    counted.
    """

    pending: int
    dropped: int
    written: int
    silenced: int
    given_up: int
    evicted: int


class EventBroadcaster:
    """Spreads events to sinks, the log and handlers. Thread-safe.

    One is enough for a process; a new one for each reconcile would never see two events alike.
    Setting ``stop`` shuts it down. ``queue_size`` events may wait for each watch;
    ``retry_interval`` is in seconds. A context manager: leaving it shuts down.

    Source: tools/record, NewBroadcaster.
    """

    def __init__(
        self,
        *,
        clock: Clock = REAL_CLOCK,
        correlator: CorrelatorOptions | None = None,
        queue_size: int = 1000,
        retry_interval: float = RETRY_INTERVAL,
        stop: threading.Event | None = None,
    ) -> None:
        self._clock = clock
        self._correlator_options = correlator
        self._queue_size = queue_size
        self._retry_interval = retry_interval
        self._lock = threading.Lock()
        self._watches: tuple[EventWatch, ...] = ()
        self._sinks: tuple[tuple[EventCorrelator, EventWriter], ...] = ()
        self._stopping = threading.Event()
        self._stop_registration: Registration | None = None
        if stop is not None:
            self._stop_registration = call_when_set(stop, self.shutdown)

    def __enter__(self) -> EventBroadcaster:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def new_recorder(self, component: str, host: str = "") -> EventRecorder:
        """A recorder whose events name ``component`` as their source."""
        return EventRecorder(self.publish, component, host, clock=self._clock)

    def start_recording_to_sink(self, sink: Sink) -> EventWatch:
        """Write events to ``sink`` from now on, with a correlator of its own."""
        correlator = EventCorrelator(self._correlator_options, clock=self._clock)
        writer = EventWriter(
            sink,
            correlator,
            stopping=self._stopping,
            retry_interval=self._retry_interval,
            clock=self._clock,
        )
        with self._lock:
            self._sinks += ((correlator, writer),)
        return self.start_event_watcher(writer.write, name="event-sink")

    def start_structured_logging(
        self, level: int = logging.INFO, logger: logging.Logger = _log
    ) -> EventWatch:
        """Log each event from now on, with the object and the reason in ``extra``."""

        def write(event: Event) -> None:
            about = event.involved_object
            logger.log(
                level,
                "Event occurred: %s %s: %s",
                event.type,
                event.reason,
                event.message,
                extra={
                    "object": f"{about.namespace}/{about.name}" if about.namespace else about.name,
                    "kind": about.kind,
                    "api_version": about.api_version,
                    "field_path": about.field_path,
                    "type": event.type,
                    "reason": event.reason,
                },
            )

        return self.start_event_watcher(write, name="event-log")

    def start_event_watcher(
        self, handler: Callable[[Event], object], *, name: str = "event-watcher"
    ) -> EventWatch:
        """Call ``handler`` with each event from now on, in a thread of its own.

        Events are shared with other watches: the handler must not change them. What it raises is
        logged. The watch's ``stop`` ends it.
        """
        watch = EventWatch(handler, name=name, queue_size=self._queue_size, clock=self._clock)
        with self._lock:
            self._watches += (watch,)
            if self._stopping.is_set():
                watch.close(discard=True)
        return watch

    def publish(self, event: Event) -> None:
        """Hand an event to every watch. Never blocks."""
        for watch in self._watches:
            watch.offer(event)

    def flush(self, timeout: float | None = None) -> bool:
        """Block until all events published so far are written or given up; False if ``timeout``
        seconds pass before."""
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        return all(watch.flush(deadline) for watch in self._watches)

    def shutdown(self, timeout: float = 5.0) -> None:
        """Take no more events, give those that wait one try each, and end all threads.

        Blocks for at most ``timeout`` seconds; what is not written by then is dropped, counted
        and said. Idempotent.
        """
        with self._lock:
            watches = self._watches
            for watch in watches:
                watch.close()
            self._stopping.set()
        if self._stop_registration is not None:
            self._stop_registration.cancel()
        deadline = self._clock.monotonic() + timeout
        late = [watch for watch in watches if not watch.join(deadline)]
        if late:
            _log.warning(
                "Shut down while events were still unwritten after %.1f s; dropped: %d",
                timeout,
                sum(watch.statistics().pending for watch in late),
            )
        for watch in late:
            watch.close(discard=True)

    def statistics(self) -> BroadcasterStatistics:
        watches = [watch.statistics() for watch in self._watches]
        writers = [writer.statistics() for _, writer in self._sinks]
        correlators = [correlator.statistics() for correlator, _ in self._sinks]
        return BroadcasterStatistics(
            pending=sum(watch.pending for watch in watches),
            dropped=sum(watch.dropped for watch in watches),
            written=sum(writer.written for writer in writers),
            silenced=sum(correlator.silenced for correlator in correlators),
            given_up=sum(writer.given_up for writer in writers),
            evicted=sum(correlator.evicted for correlator in correlators),
        )
