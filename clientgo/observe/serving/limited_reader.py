"""Reading requests with limits of size and time.

Promises: the limits are on the whole of a header or body, so a client that sends slowly gains
nothing.

Source of the limits: controller-runtime ``pkg/internal/httpserver``.
"""

from __future__ import annotations

import io
import socket
import time
from typing import Any, Final

from clientgo.util.copies import CopyableError

MAX_HEADER: Final = 1024 * 1024
HEADER_TIMEOUT: Final = 32.0
IDLE_TIMEOUT: Final = 90.0
"""Seconds."""

CHUNK: Final = 64 * 1024


class HeaderTooLargeError(CopyableError):
    """A header has more than :data:`MAX_HEADER` bytes."""


class LimitedReader(io.RawIOBase):
    """Reads a socket up to a deadline, and a header up to its size."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._is_idle = True
        self._header_timeout = 0.0
        self._deadline = 0.0
        self._budget = 0

    def expect_header(self, idle: float, timeout: float) -> None:
        """Let the client be silent for ``idle`` seconds, and its header take ``timeout`` more."""
        self._is_idle = True
        self._header_timeout = timeout
        self._deadline = time.monotonic() + idle
        self._budget = MAX_HEADER

    def expect_body(self, length: int, timeout: float) -> None:
        """Let a body of ``length`` bytes take ``timeout`` seconds."""
        self._is_idle = False
        self._deadline = time.monotonic() + timeout
        self._budget = length + CHUNK

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Raises ``TimeoutError`` and :class:`HeaderTooLargeError`."""
        if self._budget <= 0:
            raise HeaderTooLargeError
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the request did not arrive in time")
        self._sock.settimeout(left)
        count = self._sock.recv_into(buffer)
        self._budget -= count
        if self._is_idle:
            self._is_idle = False
            self._deadline = time.monotonic() + self._header_timeout
        return count
