"""The recorder: a controller reports with it what happened to an object.

Promises: no call raises or blocks, for any argument; the object is only read, before the call
returns. An event that cannot be made is logged as an error, with what to correct.

Differs from client-go (`tools/record`, EventRecorder): a message takes `%` arguments as `logging`
does. Events of cluster-scoped objects go to the namespace `default`, as there.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from clientgo.api.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta import ObjectMeta
from clientgo.meta.timestamps import format_time
from clientgo.observe.trace import active_trace
from clientgo.record.event_names import event_name
from clientgo.record.hops import note_event
from clientgo.record.references import get_reference
from clientgo.util.clock import REAL_CLOCK, Clock, nanoseconds
from clientgo.util.copies import uncopyable

NORMAL: Final = "Normal"
"""The type of events that only inform."""

WARNING: Final = "Warning"
"""The type of events that people should look at."""

DEFAULT_NAMESPACE: Final = "default"

_log = logging.getLogger("clientgo.record")


@uncopyable("it has threads; make one in each process")
class EventRecorder:
    """Makes events and publishes them; ``EventBroadcaster.new_recorder`` gives one. Thread-safe.

    Source: tools/record, EventRecorder.
    """

    def __init__(
        self,
        publish: Callable[[Event], object],
        component: str,
        host: str = "",
        *,
        clock: Clock = REAL_CLOCK,
        logger: logging.Logger | logging.LoggerAdapter[Any] = _log,
    ) -> None:
        self._publish = publish
        self._source = EventSource(component=component, host=host or None)
        self._clock = clock
        self._log = logger
        self._trace = active_trace()

    def event(self, obj: Any, event_type: str, reason: str, message: str) -> None:
        """Say that something happened to ``obj``.

        ``event_type`` is ``NORMAL`` or ``WARNING``, ``reason`` a word in CamelCase for programs,
        ``message`` a sentence for people.
        """
        self._record(obj, {}, event_type, reason, message, ())

    def eventf(self, obj: Any, event_type: str, reason: str, message: str, *args: object) -> None:
        """Like :meth:`event`; ``message % args`` is the text."""
        self._record(obj, {}, event_type, reason, message, args)

    def annotated_event(
        self,
        obj: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        message: str,
        *args: object,
    ) -> None:
        """Like :meth:`eventf`, with annotations for the Event object."""
        self._record(obj, annotations, event_type, reason, message, args)

    def with_logger(self, logger: logging.Logger | logging.LoggerAdapter[Any]) -> EventRecorder:
        """The same recorder, which logs its own troubles elsewhere."""
        source = self._source
        return EventRecorder(
            self._publish,
            source.component or "",
            source.host or "",
            clock=self._clock,
            logger=logger,
        )

    def _record(
        self,
        obj: Any,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        message: str,
        args: tuple[object, ...],
    ) -> None:
        try:
            text = message % args if args else message
            about = get_reference(obj)
            event = self._event(about, annotations, event_type, reason, text)
            if self._trace is not None:
                note_event(self._trace, self._source.component or "", about, reason, text)
            self._publish(event)
        except Exception as error:  # noqa: BLE001 - an event is never worth its caller's failure
            self._log.error(
                "Event dropped: %s", error, extra={"reason": reason, "event_message": message}
            )

    def _event(
        self,
        about: ObjectReference,
        annotations: Mapping[str, str],
        event_type: str,
        reason: str,
        message: str,
    ) -> Event:
        check_event_type(event_type)
        now = self._clock.time()
        timestamp = format_time(now)
        return Event(
            metadata=ObjectMeta(
                name=event_name(about.name or "", nanoseconds(now)),
                namespace=about.namespace or DEFAULT_NAMESPACE,
                annotations=dict(annotations),
            ),
            involved_object=about,
            type=event_type,
            reason=reason,
            message=message,
            source=self._source,
            reporting_component=self._source.component,
            reporting_instance=self._source.host,
            first_timestamp=timestamp,
            last_timestamp=timestamp,
            count=1,
        )


def check_event_type(event_type: str) -> None:
    """Raise ``ValueError`` for a type that no event has."""
    if event_type not in (NORMAL, WARNING):
        raise ValueError(f"an event's type is {NORMAL!r} or {WARNING!r}, not {event_type!r}")
