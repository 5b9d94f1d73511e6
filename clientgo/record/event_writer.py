"""Writing events, and trying again while nobody answers.

Promises: an event is written as the correlator says, once; while no answer comes at all it is
tried again, and whatever waits behind it waits too, so that the order stays.

Does not promise that an event arrives: a refusal of the server is final, since the next one like
it comes with a higher count. What was given up is counted.

Upstream: tools/record, recordToSink and recordEvent.
"""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from clientgo.api.core_v1 import Event
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.meta import AlreadyExistsError, DecodeError, NotFoundError, StatusError
from clientgo.record.correlator import Correlated, EventCorrelator
from clientgo.record.sink import Sink

_log = logging.getLogger("clientgo.record")

MAX_TRIES: Final = 12
RETRY_INTERVAL: Final = 10.0
"""Seconds between tries; with MAX_TRIES this bridges the restart of an API server (100 s)."""


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
        elif self._try_until_answered(correlated):
            self._written += 1
        else:
            self._given_up += 1

    def statistics(self) -> WriterStatistics:
        return WriterStatistics(self._written, self._given_up)

    def _try_until_answered(self, correlated: Correlated) -> bool:
        for tries in range(1, MAX_TRIES + 1):
            try:
                self._correlator.written(self._send(correlated))
            except Exception as error:  # noqa: BLE001 - a sink is anybody's code
                problem = error
            else:
                return True
            if isinstance(problem, StatusError):
                _log_refusal(correlated.event, problem)
                return False
            if _cannot_be_sent(problem) or tries == MAX_TRIES:
                break
            if not self._pause(tries, correlated.event, problem):
                break
        _log.error("Event is lost, it could not be sent: %s: %s", _text(correlated.event), problem)
        return False

    def _send(self, correlated: Correlated) -> Event:
        event, patch = correlated
        if patch is not None:
            try:
                return self._sink.patch(event, patch)
            except NotFoundError:
                # Events expire on the server; this one starts anew there, with its count.
                event.metadata.resource_version = ""
        return self._sink.create(event)

    def _pause(self, tries: int, event: Event, problem: Exception) -> bool:
        """Wait for the next try; False if there is to be none."""
        # The first pause is random, so that many clients do not come back together.
        pause = self._retry_interval * (self._random() if tries == 1 else 1.0)
        _log.debug(
            "Event not written, trying again in %.1f s: %s: %s", pause, _text(event), problem
        )
        return not self._clock.sleep(pause, self._stopping)


def _cannot_be_sent(problem: Exception) -> bool:
    """Whether it failed before anything was sent, unlike an answer that does not decode."""
    return isinstance(problem, TypeError | ValueError) and not isinstance(problem, DecodeError)


def _log_refusal(event: Event, error: StatusError) -> None:
    terminating = any(c.reason == "NamespaceTerminating" for c in error.status.details.causes)
    expected = terminating or isinstance(error, AlreadyExistsError)
    level = logging.DEBUG if expected else logging.ERROR
    _log.log(level, "Event refused by the server and lost: %s: %s", _text(event), error)


def _text(event: Event) -> str:
    about = event.involved_object
    name = f"{about.namespace}/{about.name}" if about.namespace else about.name
    return f"{event.type} {event.reason} of {about.kind} {name}"
