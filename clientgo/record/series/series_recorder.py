"""The recorder of events.k8s.io/v1: what was done to an object, and because of which other.

Promises what :class:`~clientgo.record.recorder.EventRecorder` does. A related object without a
reference is left out; the regarded one must have one. Source: `tools/events` EventRecorder.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.api.core_v1 import ObjectReference
from clientgo.api.events_v1 import Event
from clientgo.meta import ObjectMeta
from clientgo.meta.timestamps import format_micro_time
from clientgo.observe.trace import active_trace
from clientgo.record.event_names import event_name
from clientgo.record.hops import note_event
from clientgo.record.recorder import DEFAULT_NAMESPACE, check_event_type
from clientgo.record.references import NoReferenceError, get_reference
from clientgo.util.clock import Clock, nanoseconds
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.record")


@uncopyable("it has threads; make one in each process")
class SeriesRecorder:
    """Makes events and publishes them; ``SeriesBroadcaster.new_recorder`` gives one. Thread-safe.

    Source: tools/events, EventRecorder.
    """

    def __init__(
        self, publish: Callable[[Event], object], controller: str, host: str, *, clock: Clock
    ) -> None:
        self._publish = publish
        self._controller = controller
        self._instance = f"{controller}-{host}"
        self._clock = clock
        self._trace = active_trace()

    def eventf(
        self,
        regarding: Any,
        related: Any,
        event_type: str,
        reason: str,
        action: str,
        note: str,
        *args: object,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Say that ``action`` was taken on ``regarding``, for a ``reason``.

        ``related`` is a second object that had to do with it, or None. ``event_type`` is
        ``NORMAL`` or ``WARNING``; ``reason`` and ``action`` are words in CamelCase for programs,
        ``note % args`` a sentence for people.
        """
        try:
            check_event_type(event_type)
            about = get_reference(regarding)
            now = self._clock.time()
            text = note % args if args else note
            event = Event(
                metadata=ObjectMeta(
                    name=event_name(about.name or "", nanoseconds(now)),
                    namespace=about.namespace or DEFAULT_NAMESPACE,
                    annotations=dict(annotations or {}),
                ),
                event_time=format_micro_time(now),
                reporting_controller=self._controller,
                reporting_instance=self._instance,
                action=action,
                reason=reason,
                regarding=about,
                related=self._related(related),
                note=text,
                type=event_type,
            )
            if self._trace is not None:
                note_event(self._trace, self._controller, about, reason, text)
            self._publish(event)
        except Exception as error:  # noqa: BLE001 - an event is never worth its caller's failure
            _log.error("Event dropped: %s", error, extra={"reason": reason, "event_message": note})

    def _related(self, obj: Any) -> ObjectReference | None:
        if obj is None:
            return None
        try:
            return get_reference(obj)
        except NoReferenceError as error:
            _log.debug("Event without its related object: %s", error)
            return None
