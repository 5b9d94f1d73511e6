"""Events about the object of a run, as ``kubectl describe`` shows them.

Promises what every recorder does: no call blocks or raises, equal events are counted instead of
repeated, and what does not fit is cut or dropped and counted (see :mod:`clientgo.record`).

Source: controller-runtime pkg/recorder.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from clientgo.record import NORMAL, WARNING, SeriesRecorder

SYNCED: Final = "Synced"
"""Reason: the object is as it should be."""

RESOURCE_EXISTS: Final = "ErrResourceExists"
"""Reason: an object of the wanted name has another owner."""

PROCESSING_ERROR: Final = "ProcessingError"
"""Reason: a run failed; the note says why."""

CLEANUP_ABANDONED: Final = "CleanupAbandoned"
"""Reason: the finalizer was removed although the clean-up kept failing."""

_log = logging.getLogger("clientgo.operator.events")

_LONGEST_NOTE: Final = 1024
"""Bytes; the API server refuses a longer one."""


class ObjectEvents:
    """Records Events, by default about one object. Thread-safe."""

    __slots__ = ("_obj", "_recorder")

    def __init__(self, recorder: SeriesRecorder, obj: Any) -> None:
        self._recorder = recorder
        self._obj = obj

    def normal(
        self,
        reason: str,
        note: str,
        *,
        regarding: Any = None,
        related: Any = None,
        action: str = "",
    ) -> None:
        """Something happened as it should: ``reason`` a CamelCase word, ``note`` a sentence."""
        self._record(NORMAL, reason, note, regarding, related, action)

    def warning(
        self,
        reason: str,
        note: str,
        *,
        regarding: Any = None,
        related: Any = None,
        action: str = "",
    ) -> None:
        """Something that a person should look at."""
        self._record(WARNING, reason, note, regarding, related, action)

    def _record(
        self, event_type: str, reason: str, note: str, regarding: Any, related: Any, action: str
    ) -> None:
        about = self._obj if regarding is None else regarding
        text = shortened(note)
        _log.debug("%s Event %s: %s", event_type, reason, text)
        self._recorder.eventf(about, related, event_type, reason, action or "Reconcile", "%s", text)


def shortened(note: str) -> str:
    """A text as the API server takes it for a note: cut if it is longer than 1024 bytes."""
    encoded = note.encode()
    if len(encoded) <= _LONGEST_NOTE:
        return note
    return encoded[: _LONGEST_NOTE - 3].decode(errors="ignore") + "..."
