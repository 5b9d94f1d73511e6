"""Reading a response's body as it arrives, many bytes at a time.

Promises: a read returns all that has arrived, gzip undone; an early end of the connection, or of
the gzip, is an `EOFError`, never a clean end. Nothing is buffered ahead: a small event comes out
when it comes in.

urllib3's own readers return one chunk at a time, or wait until a whole buffer is full.
"""

from __future__ import annotations

import http.client
from typing import Final

from clientgo.rest.transport.chunked import ChunkedDecoder
from clientgo.rest.transport.gunzip import GzipDecoder

READ_SIZE: Final = 64 * 1024
"""Bytes asked of the socket in one read: some sixty events of a kilobyte."""

BACKLOG_READ_SIZE: Final = 256 * 1024
"""What is asked for while so much arrives that the last read was full. The more one read returns,
the fewer times threads take turns; a quiet watch does not pay for a buffer of this size."""


class Body:
    """The body of one answer. For one thread at a time; deadlines are the socket's."""

    __slots__ = ("_chunks", "_gzip", "_left", "_read1", "_read_size", "ended")

    def __init__(self, answer: http.client.HTTPResponse, *, gzip: bool = False) -> None:
        self._read1 = answer.fp.read1
        self._read_size = READ_SIZE
        self._chunks = ChunkedDecoder() if answer.chunked else None
        # None means that the body lasts until the connection is closed.
        self._left: int | None = None if answer.chunked else answer.length
        self._gzip = GzipDecoder() if gzip else None
        self.ended = self._left == 0

    def read(self) -> list[bytes]:
        """Return what has arrived, in pieces: of a chunked body, what is there of each chunk.

        Blocks until there is at least one byte; no pieces are the clean end of the body.

        Raises ``EOFError`` when the connection ended before the body did, ``ValueError`` (or
        ``zlib.error``) for bytes that break the framing, ``OSError`` from the socket.
        """
        while not self.ended:
            pieces = self._read_framed()
            if self._gzip is not None:
                data = self._gzip.feed(b"".join(pieces))
                pieces = [data] if data else []
            if pieces:
                return pieces
        if self._gzip is not None and not self._gzip.is_whole:
            raise EOFError("its gzip is cut short")
        return []

    def _read_framed(self) -> list[bytes]:
        data = self._read_some()
        if self._chunks is not None:
            if not data:
                raise EOFError("it was closed in the middle of the answer")
            pieces = self._chunks.feed(data)
            self.ended = self._chunks.ended
            return pieces
        if self._left is None:
            self.ended = not data
            return [data] if data else []
        if not data:
            raise EOFError(f"it was closed {self._left} bytes before the end of the answer")
        self._left -= len(data)
        self.ended = self._left == 0
        return [data]

    def _read_some(self) -> bytes:
        left = self._left
        data = self._read1(self._read_size if left is None else min(left, self._read_size))
        self._read_size = BACKLOG_READ_SIZE if len(data) >= READ_SIZE else READ_SIZE
        return data
