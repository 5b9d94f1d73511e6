"""The writing side of a connection: the head of a response goes out with its body.

Promises: the first write of a response waits for the second one, at most until the event loop has
done what is due now; the two are one packet and one system call, which costs as much as all other
work on a small request. A large body is not copied for that. The order of writes stays; ``close``
sends what waits. A response that is complete needs no wait: ``send_whole`` writes it in one step.

Differs from uvicorn, which writes head and body one by one.
"""

from __future__ import annotations

import asyncio
import re
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

_REFUSED: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""Characters that would end a header."""

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

    def write_whole(self, head: bytes, body: bytes) -> None:
        """Write a complete response, after what is held."""
        self._holds_next = False
        if len(body) > _COPIED:
            self.write(head)
            self.write(body)
        else:
            self.write(head + body)

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


async def send_whole(
    cycle: RequestResponseCycle,
    transport: ResponseTransport,
    status: int,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
) -> None:
    """Send a complete response to the request of ``cycle``; ``headers`` have its length.

    Does what ``cycle.send`` does for the two messages of a response, which takes twice as long.
    """
    if cycle.flow.write_paused and not cycle.disconnected:
        await cycle.flow.drain()
    if cycle.disconnected:
        return
    lines = [STATUS_LINE[status]]
    for name, value in headers:
        if _REFUSED.search(value):
            raise RuntimeError("Invalid HTTP header value.")
        lines.append(b"%b: %b\r\n" % (name, value))
    lines.append(b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n")
    cycle.response_started = cycle.response_complete = True
    transport.write_whole(b"".join(lines), b"" if cycle.scope["method"] == "HEAD" else body)
    cycle.message_event.set()
    if not cycle.keep_alive:
        transport.close()
    cycle.on_response()
