"""The broadcaster of core/v1 events, the ones that ``kubectl describe`` shows.

Promises what :class:`~clientgo.record.broadcaster.Broadcaster` does; sinks do not share their
state. Differs from client-go (``tools/record``, EventBroadcaster) in that it counts what becomes
of events.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass

from clientgo.api.core_v1 import Event
from clientgo.record.broadcaster import Broadcaster
from clientgo.record.correlator import CorrelatorOptions, EventCorrelator
from clientgo.record.delivery import RETRY_INTERVAL
from clientgo.record.event_watch import EventWatch
from clientgo.record.event_writer import EventWriter
from clientgo.record.recorder import EventRecorder
from clientgo.record.sink import Sink
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.record")


@dataclass(frozen=True, slots=True)
class BroadcasterStatistics:
    """The counts of events, summed over all watches and sinks.

    ``pending`` wait in queues, ``dropped`` found them full or closed. Of those that reached a
    sink, ``written`` were, ``silenced`` were over their object's budget, ``given_up`` were
    refused or got no answer. ``evicted`` cache entries make events be written again instead of
    counted.
    """

    pending: int
    dropped: int
    written: int
    silenced: int
    given_up: int
    evicted: int


@uncopyable("it has threads; make one in each process")
class EventBroadcaster(Broadcaster[Event]):
    """Spreads events to sinks, the log and handlers. Thread-safe.

    One is enough for a process; a new one for each reconcile would never see two events alike.
    Setting ``stop`` shuts it down. ``queue_size`` events may wait for each watch;
    ``retry_interval`` is in seconds.

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
        super().__init__(clock=clock, queue_size=queue_size)
        self._correlator_options = correlator
        self._retry_interval = retry_interval
        self._sinks: tuple[tuple[EventCorrelator, EventWriter], ...] = ()
        self._shut_down_with(stop)

    def new_recorder(self, component: str, host: str = "") -> EventRecorder:
        """A recorder whose events name ``component`` as their source."""
        return EventRecorder(self.publish, component, host, clock=self._clock)

    def start_recording_to_sink(self, sink: Sink) -> EventWatch[Event]:
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
    ) -> EventWatch[Event]:
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
