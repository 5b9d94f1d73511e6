"""The writing side of a connection: the head of a response goes out with its body.

Promises: the first write of a response waits for the second one, at most until the event loop has
done what is due now; the two are one packet and one system call, which costs as much as all other
work on a small request. A large body is not copied for that. The order of writes stays; ``close``
sends what waits.

Differs from uvicorn, which writes head and body one by one.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

_COPIED: Final = 64 * 1024
"""Bytes of a body from which on a copy of it costs more than a second system call."""


class ResponseTransport(asyncio.Transport):
    """Passes everything on to a transport, a held write with the next one."""

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._transport = transport
        self._loop = loop
        self._holds_next = False
        self._held = b""

    def hold_next(self) -> None:
        """Hold the next write: it is the head of a response."""
        self._holds_next = True

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Write after what is held, or hold the data. Does nothing once the connection closes."""
        if self._transport.is_closing():
            return  # asyncio would log each further write
        if self._holds_next:
            self._holds_next = False
            self._held += data
            self._loop.call_soon(self._release)
        else:
            if self._held and len(data) > _COPIED:
                self._release()
            elif self._held:
                data, self._held = self._held + data, b""
            self._transport.write(data)

    def _release(self) -> None:
        data, self._held = self._held, b""
        if data and not self._transport.is_closing():
            self._transport.write(data)

    def close(self) -> None:
        """Write what is held, then close."""
        self._release()
        self._transport.close()

    def abort(self) -> None:
        """Close without writing."""
        self._held = b""
        self._transport.abort()

    def is_closing(self) -> bool:
        """Return True if the connection is closing or closed."""
        return self._transport.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the transport knows of the connection."""
        return self._transport.get_extra_info(name, default)

    def get_write_buffer_size(self) -> int:
        """Return the bytes that the kernel has not taken yet."""
        return self._transport.get_write_buffer_size()
