"""The server's end of a WebSocket with channels of bytes, as kubelets serve it.

Promises: nothing is read before the reader asks, and a writer waits until the client has read, so
that neither end fills the memory of this one. Pings are answered while something is read, and sent
to find out that a client is gone.

Upstream: apimachinery ``util/httpstream/wsstream``.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
from collections import deque
from collections.abc import Sequence
from typing import Any, Final

from websockets.exceptions import InvalidState
from websockets.frames import DATA_OPCODES, Opcode
from websockets.protocol import Protocol, Side

from clientgo.testcluster.server.http.messages import Request
from clientgo.testcluster.server.resources.errors import FailedRequestError, bad_request

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_READ_SIZE: Final = 64 * 1024
_PIECE: Final = 32 * 1024
_LARGEST_MESSAGE: Final = 32 * 1024 * 1024
_PING_PERIOD: Final = 5.0
"""Seconds; the second ping to a client that is gone finds that out."""

_FAREWELL: Final = 1.0
"""Seconds that a client gets to read the close."""


class Handshake:
    """The request for a WebSocket: checked, not yet answered."""

    def __init__(self, request: Request, protocols: Sequence[str]) -> None:
        """Choose the first protocol of the client that is among ``protocols``; "" is none.

        Raises:
            FailedRequestError: 400, it is no handshake, or asks for other protocols; 501, another
                HTTP server has the connection.
        """
        headers = request.headers
        offered = [text.strip() for text in headers.get("sec-websocket-protocol", "").split(",")]
        self._key = headers.get("sec-websocket-key", "")
        if headers.get("upgrade", "").lower() != "websocket" or not self._key:
            raise bad_request("Upgrade request required")
        chosen = next((text for text in offered if text in protocols), None)
        if chosen is None:
            raise bad_request(f"unable to upgrade: {offered} are not among {list(protocols)}")
        if request.upgrade is None:
            message = "this HTTP server can't switch protocols"
            raise FailedRequestError(501, "NotImplemented", message)
        self._protocol = chosen
        self._upgrade = request.upgrade

    def accept(self) -> Channels:
        """Answer 101."""
        accepted = base64.b64encode(hashlib.sha1(self._key.encode() + _GUID).digest()).decode()
        headers = [
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", accepted),
        ]
        if self._protocol:
            headers.append(("Sec-WebSocket-Protocol", self._protocol))
        return Channels(*self._upgrade(headers))


class Channels:
    """An open WebSocket. On the event loop; one task receives, any may send."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._websocket = Protocol(Side.SERVER, max_size=_LARGEST_MESSAGE)
        self._frames: deque[Any] = deque()
        self._channel = -1

    async def receive(self) -> tuple[int, bytes] | None:
        """Return the channel and data of the next message; None when the client is gone."""
        while True:
            while self._frames:
                frame = self._frames.popleft()
                if frame.opcode is Opcode.CLOSE:
                    return None
                if frame.opcode in DATA_OPCODES:
                    data = bytes(frame.data)
                    if frame.opcode is not Opcode.CONT and data:
                        self._channel, data = data[0], data[1:]
                    return self._channel, data
            try:
                data = await self._reader.read(_READ_SIZE)
                if not data or self._websocket.parser_exc is not None:
                    return None
                self._websocket.receive_data(data)
                self._frames += self._websocket.events_received()
                await self._flush()
            except ConnectionError:
                return None

    async def send(self, channel: int, data: bytes) -> None:
        """Send a message; wait until the client has read what came before.

        Raises:
            ConnectionError: the client is gone.
        """
        for start in range(0, max(len(data), 1), _PIECE):
            try:
                self._websocket.send_binary(bytes((channel,)) + data[start : start + _PIECE])
            except InvalidState as error:
                raise ConnectionResetError("the client has closed the stream") from error
            await self._flush()

    async def lost(self) -> None:
        """Return when the client is gone, also while nothing is read: it gets pings."""
        closed = asyncio.ensure_future(self._writer.wait_closed())
        try:
            while not (await asyncio.wait({closed}, timeout=_PING_PERIOD))[0]:
                if not self._writer.transport.get_write_buffer_size():
                    self._websocket.send_ping(b"")
                    self._writer.writelines(self._websocket.data_to_send())
        except InvalidState:
            return  # it is being closed
        finally:
            closed.cancel()

    async def close(self) -> None:
        """Close the stream, and the connection when the client has read everything."""
        with contextlib.suppress(ConnectionError, InvalidState, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                self._websocket.send_close(1000)
                await self._flush()
                while await self.receive() is not None:
                    pass
        self.drop()

    def drop(self) -> None:
        """Close the connection without a word."""
        self._writer.close()

    async def _flush(self) -> None:
        if self._reader.at_eof() or self._writer.is_closing():
            # A write over TLS would be logged, or fail in another way.
            raise ConnectionResetError("the client is gone")
        for data in self._websocket.data_to_send():
            self._writer.write(data)
        await self._writer.drain()
