"""The broadcaster of events.k8s.io/v1, whose repetitions make a series.

Promises what :class:`~clientgo.record.broadcaster.Broadcaster` does. Several threads write, in any
order, and one keeps the series on the server up to date.

Differs from client-go (`tools/events`): an event is compared with earlier ones when it is recorded,
so there is one queue, with room for `queue_size` writes, instead of three.
"""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from clientgo.api.events_v1 import Event
from clientgo.record.broadcaster import Broadcaster
from clientgo.record.delivery import RETRY_INTERVAL
from clientgo.record.event_watch import EventWatch
from clientgo.record.series.series_cache import SeriesCache, same_series
from clientgo.record.series.series_recorder import SeriesRecorder
from clientgo.record.series.series_writer import SeriesSink, SeriesWriter
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, deadline_after, time_left

FINISH_EVERY: Final = 360.0
"""Seconds between looks for series that have ended."""

REFRESH_EVERY_NTH: Final = 5
"""Every so many times all series are rewritten, that is twice in the hour that a server usually
keeps an event."""

WRITERS: Final = 8


@dataclass(frozen=True, slots=True)
class SeriesStatistics:
    """The counts of events: ``pending`` wait to be written, ``dropped`` found the queue full
    or closed, ``given_up`` were refused or got no answer, ``evicted`` left the cache early."""

    pending: int
    dropped: int
    written: int
    given_up: int
    evicted: int


@uncopyable("it has threads; make one in each process")
class SeriesBroadcaster(Broadcaster[Event]):
    """Writes events and their series to a sink, and spreads events to handlers. Thread-safe.

    ``series_key`` says which events are one series. Setting ``stop`` shuts it down.

    Source: tools/events, NewBroadcaster.
    """

    def __init__(
        self,
        sink: SeriesSink,
        *,
        clock: Clock = REAL_CLOCK,
        series_key: Callable[[Event], Hashable] = same_series,
        cache_size: int = 4096,
        queue_size: int = 1000,
        retry_interval: float = RETRY_INTERVAL,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__(clock=clock, queue_size=queue_size)
        self._cache = SeriesCache(clock=clock, key=series_key, size=cache_size)
        self._writer = SeriesWriter(
            sink,
            self._cache,
            stopping=self._stopping,
            retry_interval=retry_interval,
            clock=clock,
        )
        self._writes: EventWatch[Event] = EventWatch(
            self._writer.write,
            name="event-series-sink",
            queue_size=queue_size,
            threads=WRITERS,
            clock=clock,
        )
        try:
            self._upkeep = SupervisedThread.started(
                self._keep_up,
                name="event-series-upkeep",
                then="series of events are not finished any more; new events are still written",
            )
        except BaseException:
            self._writes.stop()
            raise
        self._shut_down_with(stop)

    def new_recorder(self, controller: str, host: str = "") -> SeriesRecorder:
        """A recorder whose events are reported by ``controller`` on ``host``, this one if empty."""
        host = host or socket.gethostname()
        return SeriesRecorder(self.publish, controller, host, clock=self._clock)

    def publish(self, event: Event) -> None:
        """Hand an event to every watch, and to the sink if it is to be written now."""
        super().publish(event)
        to_write = self._cache.observe(event)
        if to_write is not None:
            self._writes.offer(to_write)

    def shutdown(self, timeout: float = 5.0) -> None:
        deadline = deadline_after(timeout)
        super().shutdown(timeout)
        self._upkeep.join(time_left(deadline))

    def statistics(self) -> SeriesStatistics:
        queues = [queue.statistics() for queue in self._queues]
        return SeriesStatistics(
            pending=sum(queue.pending for queue in queues),
            dropped=sum(queue.dropped for queue in queues),
            written=self._writer.written,
            given_up=self._writer.given_up,
            evicted=self._cache.evictions,
        )

    @property
    def _queues(self) -> tuple[EventWatch[Event], ...]:
        return (*self._watches, self._writes)

    def _keep_up(self) -> None:
        for turn in itertools.count():
            self._writer.finish()
            if turn % REFRESH_EVERY_NTH == 0:
                self._writer.refresh()
            if self._clock.sleep(FINISH_EVERY, self._stopping):
                return
