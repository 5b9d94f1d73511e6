"""The open watch of a reflector, which other threads may end or make fail.

A stop or an interruption that comes while the watch is being opened ends it right after that.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from clientgo.cache.reflector.list_watch import WatchStream
from clientgo.meta import WatchEvent


class WatchConnection:
    """At most one open stream. Thread-safe; :meth:`read` is for the reflector's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stream: WatchStream | None = None
        self._interruption: Exception | None = None

    def opened(self, stream: WatchStream, stop: threading.Event) -> None:
        """Take over a stream; end it if ``stop`` is set or an interruption is pending."""
        with self._lock:
            self._stream = stream
            must_end = self._interruption is not None or stop.is_set()
        if must_end:
            self.close()

    def read(self) -> Sequence[WatchEvent[Any]]:
        """Block until events arrive and return them; return none when the stream has ended.

        Raises the interruption, if there is one, or what the stream raises.
        """
        stream = self._stream
        events: Sequence[WatchEvent[Any]] = ()
        failure: Exception | None = None
        try:
            if stream is not None:
                events = stream.read()
        except Exception as error:  # noqa: BLE001 - raised below, unless it follows an interruption
            failure = error
        if not events:
            with self._lock:
                failure, self._interruption = self._interruption or failure, None
            if failure is not None:
                raise failure
        return events

    def interrupt(self, error: Exception) -> None:
        """Make :meth:`read` raise ``error``, after the events that have arrived."""
        with self._lock:
            stream, self._interruption = self._stream, error
        if stream is not None:
            stream.stop()

    def forget_interruption(self) -> None:
        """Do not interrupt the next watch: a list comes first and brings the whole state."""
        with self._lock:
            self._interruption = None

    def close(self) -> None:
        """End the stream. Idempotent."""
        with self._lock:
            stream, self._stream = self._stream, None
        if stream is not None:
            stream.stop()

    def last_byte_at(self) -> float | None:
        """Return when the last byte arrived, if the stream knows."""
        at: float | None = getattr(self._stream, "last_byte_time", None)
        return at
