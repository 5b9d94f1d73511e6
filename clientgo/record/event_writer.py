"""Writing core/v1 events to a sink.

Promises: an event is written as the correlator says, once. While the server does not answer it is
tried again, and later events wait, so the order stays. Events that are given up are counted; the
next similar one has a higher count. Source: `tools/record` recordToSink.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass

from clientgo.api.core_v1 import Event
from clientgo.meta import NotFoundError
from clientgo.record.correlator import Correlated, EventCorrelator
from clientgo.record.delivery import RETRY_INTERVAL, deliver
from clientgo.record.sink import Sink
from clientgo.util.clock import REAL_CLOCK, Clock

_log = logging.getLogger("clientgo.record")


@dataclass(frozen=True, slots=True)
class WriterStatistics:
    """How many events were written, and how many given up after a refusal or all tries."""

    written: int
    given_up: int


class EventWriter:
    """Writes the events of one sink, one after the other, in the thread that calls it."""

    def __init__(
        self,
        sink: Sink,
        correlator: EventCorrelator,
        *,
        stopping: threading.Event,
        retry_interval: float = RETRY_INTERVAL,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = random.random,
    ) -> None:
        self._sink = sink
        self._correlator = correlator
        self._stopping = stopping
        self._retry_interval = retry_interval
        self._clock = clock
        self._random = random
        self._written = 0
        self._given_up = 0

    def write(self, event: Event) -> None:
        """Write an event, or count that it was given up.

        Blocks while it is being tried; once ``stopping`` is set an event gets a single try.
        """
        correlated = self._correlator.correlate(event)
        if correlated is None:
            _log.debug("Event silenced, its object has used up its budget: %s", _text(event))
            return
        written = deliver(
            lambda: self._send(correlated),
            _text(event),
            pause=self._pause,
            stopping=self._stopping,
            clock=self._clock,
        )
        if written:
            self._written += 1
        else:
            self._given_up += 1

    def statistics(self) -> WriterStatistics:
        return WriterStatistics(self._written, self._given_up)

    def _send(self, correlated: Correlated) -> None:
        self._correlator.written(self._patch_or_create(*correlated))

    def _patch_or_create(self, event: Event, patch: dict[str, object] | None) -> Event:
        if patch is not None:
            try:
                return self._sink.patch(event, patch)
            except NotFoundError:
                # Events expire on the server; this one is created again, with its count.
                event.metadata.resource_version = ""
        return self._sink.create(event)

    def _pause(self, tries: int) -> float:
        """The first pause is random, so that many clients do not come back together."""
        return self._retry_interval * (self._random() if tries == 1 else 1.0)


def _text(event: Event) -> str:
    about = event.involved_object
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return f"{event.type} {event.reason} of {about.kind} {name}"
