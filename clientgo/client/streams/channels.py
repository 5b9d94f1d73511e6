"""Channels of bytes over one WebSocket, as API servers and kubelets multiplex streams.

Promises: a message is a byte with the number of a channel, and data. What was received is handed
out before more is read, and what is sent is handed to the system before more is taken: no buffer
grows, and a slow reader slows the other end down. The request of the handshake is one of
:mod:`clientgo.rest`: its proxy, TLS, credentials and retries are those of all other requests.

There is no thread: pings are sent and answered while a thread receives. Upstream: client-go
``tools/remotecommand``, apimachinery ``util/httpstream/wsstream``.
"""

from __future__ import annotations

import base64
import hashlib
import math
import os
import threading
from collections import deque
from collections.abc import Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any, Final, Self

from clientgo.rest import Answer, ConnectionLostError, Request, TransportError
from clientgo.rest.errors import TransportTimeoutError
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable
from clientgo.util.extras import needing_extra

with needing_extra("stream", "a stream to a pod"):
    from websockets.exceptions import InvalidState
    from websockets.frames import DATA_OPCODES, Opcode
    from websockets.protocol import Protocol, Side

_GUID: Final = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PING_PERIOD: Final = 5.0
_LONGEST_SILENCE: Final = 61.0
"""Seconds between pings, and without any byte from a server that gets them; as in client-go."""

_LARGEST_MESSAGE: Final = 32 * 1024 * 1024
PIECE: Final = 32 * 1024
"""What kubelets send as one message."""

_MOST_UNSENT: Final = 8 * PIECE
"""Bytes from which on nothing more is read: each ping that is read makes an answer to send."""

_CLEAN_ENDS: Final = (1000, 1001, 1005)
"""Codes of a close: normal, going away, none given."""


class Idle(Enum):
    """Nothing was received, but all that was sent has left."""

    WRITABLE = "writable"


@uncopyable("it is a connection to a server; make one in each process")
class ChannelSocket:
    """An open WebSocket. One thread receives at a time; any may send or abort.

    Methods raise :class:`~clientgo.rest.TransportError`.
    """

    def __init__(self, answer: Answer, protocol: str, clock: Clock) -> None:
        self.protocol = protocol
        self._answer = answer
        self._connection = answer.upgraded()
        self.clock = clock
        self.request = answer.method, answer.url
        """Method and URL of the handshake, as errors name it."""
        self._lock = threading.Lock()
        self._websocket = Protocol(Side.CLIENT, max_size=_LARGEST_MESSAGE)
        self._sending = threading.Lock()
        self._outgoing = bytearray()
        self._ended = False
        self._frames: deque[Any] = deque()
        self._channel = -1
        self._silence = 0.0
        self._lost: TransportError | None = None

    def receive(
        self, timeout: float | None = None, *, until_idle: bool = False
    ) -> tuple[int, bytes] | Idle | None:
        """Return the channel and data of what comes next; None at the clean end.

        With ``until_idle`` return also when everything that was sent has left. Blocks, at most for
        ``timeout`` seconds.
        """
        deadline = None if timeout is None else self.clock.monotonic() + timeout
        while not self._ended:
            while self._frames:
                frame = self._frames.popleft()
                if frame.opcode is Opcode.CLOSE:
                    self._check_close()
                    return None
                if frame.opcode in DATA_OPCODES and (message := self._message(frame)):
                    return message
            if problem := self._websocket.parser_exc:
                raise ConnectionLostError(
                    *self.request, f"the stream ended without a close: {problem}"
                ) from problem
            is_flushed = self._flush()
            may_read = len(self._outgoing) < _MOST_UNSENT
            data = self._connection.receive() if may_read else None
            if data is not None:
                self._feed(data)
            elif is_flushed and until_idle and self._lost is None:
                return Idle.WRITABLE
            else:
                self._wait(deadline, read=may_read, write=not is_flushed)
        return None

    def send(self, channel: int, data: bytes) -> None:
        """Send data; blocks while the server does not take it."""
        view = memoryview(data)
        with self._sending:
            for start in range(0, max(len(view), 1), PIECE):
                self.put(channel, view[start : start + PIECE])
                while not self._flush():
                    self._connection.wait(read=False, write=True)
                if self._lost is not None:
                    raise self._lost

    def put(self, channel: int, data: bytes | memoryview) -> None:
        """Add a message to what is sent by :meth:`receive`. Does not block."""
        # The server may not read a ping behind this before the container has read this.
        self._silence = -math.inf
        with self._lock:
            try:
                self._websocket.send_binary(bytes((channel,)) + data)
            except InvalidState as error:
                raise ConnectionLostError(
                    *self.request, "the server has closed the stream"
                ) from error

    def abort(self) -> None:
        """End every call that blocks, from any thread."""
        self._answer.abort()

    def close(self) -> None:
        """Close the connection, without waiting for the server. No other call may run."""
        try:
            with self._lock:
                self._websocket.send_close(1000)
            self._flush()
        except (InvalidState, TransportError):
            self._outgoing.clear()  # the other end is gone
        self._answer.close()

    def _message(self, frame: Any) -> tuple[int, bytes] | None:
        data = frame.data
        if frame.opcode is not Opcode.CONT:
            self._channel = -1
        if self._channel < 0 and data:
            self._channel, data = data[0], data[1:]
        return (self._channel, bytes(data)) if data else None

    def _feed(self, data: bytes) -> None:
        self._silence = 0.0
        with self._lock:
            if data:
                self._websocket.receive_data(data)
            else:
                self._websocket.receive_eof()
            self._frames += self._websocket.events_received()

    def _check_close(self) -> None:
        self._ended = True
        close = self._websocket.close_rcvd
        if close is not None and close.code not in _CLEAN_ENDS:
            raise ConnectionLostError(
                *self.request, f"the server closed the stream: {close.code} {close.reason}"
            )

    def _wait(self, deadline: float | None, *, read: bool, write: bool) -> None:
        now = self.clock.monotonic()
        pause = _PING_PERIOD if deadline is None else min(_PING_PERIOD, deadline - now)
        if pause > 0 and self._connection.wait(read=read, write=write, timeout=pause):
            return
        if deadline is not None and self.clock.monotonic() >= deadline:
            raise TransportTimeoutError(*self.request, "nothing came within the timeout")
        self._silence += pause
        if self._silence >= _LONGEST_SILENCE:
            raise TransportTimeoutError(*self.request, "the server no longer answers pings")
        with self._lock:
            self._websocket.send_ping(b"")

    def _flush(self) -> bool:
        """Hand to the system what it takes; return True if nothing is left.

        What a server that is gone did not read is forgotten: its last words may still come.
        """
        with self._lock:
            for data in self._websocket.data_to_send():
                self._outgoing += data
            try:
                while self._outgoing and self._lost is None:
                    with memoryview(self._outgoing) as view:
                        taken = self._connection.send(view)
                    if not taken:
                        return False
                    del self._outgoing[:taken]
            except ConnectionLostError as error:
                self._lost = error
            if self._lost is not None:
                self._outgoing.clear()
            return True


class ChannelStream:
    """What all streams over channels have; a context manager."""

    def __init__(self, channels: ChannelSocket) -> None:
        self._channels = channels

    def stop(self) -> None:
        """End the stream from any thread: what blocks raises ``RequestStoppedError``."""
        self._channels.abort()

    def close(self) -> None:
        """Close the stream. A call of another thread should have ended; :meth:`stop` ends it."""
        self._channels.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_channels(
    request: Request, protocols: Sequence[str], clock: Clock, stop: threading.Event | None
) -> ChannelSocket:
    """Send a request as the handshake of a WebSocket and return that.

    ``protocols`` are offered in this order. Raises as :meth:`clientgo.rest.Request.do` does.
    """
    key = base64.b64encode(os.urandom(16))
    request.header("Connection", "Upgrade").header("Upgrade", "websocket").timeout(0)
    request.header("Sec-WebSocket-Version", "13").header("Sec-WebSocket-Key", key.decode())
    request.header("Sec-WebSocket-Protocol", ", ".join(protocols))
    answer = request.stream(stop)
    try:
        return ChannelSocket(answer, _chosen(answer, protocols, key), clock)
    except BaseException:
        answer.close()
        raise


def _chosen(answer: Answer, protocols: Sequence[str], key: bytes) -> str:
    """Return the protocol that the server has chosen."""
    accepted = base64.b64encode(hashlib.sha1(key + _GUID).digest()).decode()
    chosen = answer.headers.get("Sec-WebSocket-Protocol", "")
    if answer.status == HTTPStatus.SWITCHING_PROTOCOLS and (
        answer.headers.get("Sec-WebSocket-Accept") != accepted or chosen not in protocols
    ):
        raise TransportError(
            answer.method,
            answer.url,
            f"the server speaks {chosen or 'no protocol of streams'}, not "
            f"{' or '.join(protocols)}; is it a Kubernetes API server?",
        )
    return chosen
