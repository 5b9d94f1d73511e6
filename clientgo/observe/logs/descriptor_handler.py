"""Log lines for a descriptor whose reader may stop reading.

Promises: logging never blocks. What a full pipe does not take is dropped, and the next line that it
takes says how many were.
"""

from __future__ import annotations

import logging
import os
import select
from typing import Final

from clientgo.util.copies import uncopyable

_PIECE: Final = select.PIPE_BUF if hasattr(select, "PIPE_BUF") else 512
"""Bytes that a pipe takes without blocking when it is ready."""


@uncopyable("it writes to a file descriptor; make one in each process")
class DescriptorHandler(logging.Handler):
    """Writes to the file descriptor ``number``, as far as that is possible immediately."""

    def __init__(self, number: int, level: int = logging.NOTSET) -> None:
        super().__init__(level)
        self._number = number
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record as a line, or drop it."""
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001 - as every handler does for a malformed record
            self.handleError(record)
            return
        note = f"({self._dropped} log lines were dropped: they were not read)\n"
        text = f"{note if self._dropped else ''}{line}\n".encode(errors="backslashreplace")
        self._dropped = 0 if self._write(text) else self._dropped + 1

    def _write(self, text: bytes) -> bool:
        """Return True if all was written. The rest of a line may be missing."""
        while text:
            if not self._is_ready():
                return False
            try:
                written = os.write(self._number, text[:_PIECE])
            except OSError:  # it was closed
                return False
            text = text[written:]
        return True

    def _is_ready(self) -> bool:
        if not hasattr(select, "poll"):
            return True
        poll = select.poll()
        poll.register(self._number, select.POLLOUT)
        return any(events & select.POLLOUT for _, events in poll.poll(0))
