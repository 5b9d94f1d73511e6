"""Reading the body of an answer as it arrives, many bytes at a time.

Promises that :meth:`Body.read` blocks until something arrived and returns all of it at once,
with chunks joined and gzip undone; an early end of the connection is an ``EOFError``, never a
clean end. Nothing is read ahead: one small event comes out when it comes in.

Takes only the connection from urllib3. Its own readers either hand out one chunk at a time or wait
until a whole buffer is full, and a watch needs neither.
"""

from __future__ import annotations

import http.client
import zlib
from typing import Any

from clientgo.rest.chunked import ChunkedDecoder

READ_SIZE = 64 * 1024
"""Bytes asked of the socket at once: some sixty events of a kilobyte."""


class Body:
    """The body of one answer. For one thread at a time; deadlines are the socket's."""

    __slots__ = ("_chunks", "_gzip", "_left", "_read_some", "ended")

    def __init__(self, answer: http.client.HTTPResponse, *, gzip: bool = False) -> None:
        self._read_some = answer.fp.read1
        self._chunks = ChunkedDecoder() if answer.chunked else None
        # None means that the body lasts until the connection is closed.
        self._left: int | None = None if answer.chunked else answer.length
        self._gzip: Any = zlib.decompressobj(zlib.MAX_WBITS | 16) if gzip else None
        self.ended = self._left == 0

    def read(self) -> bytes:
        """What has arrived, at least one byte; empty only after the clean end of the body.

        Raises ``EOFError`` when the connection ended before the body did, ``ValueError`` (or
        ``zlib.error``) for bytes that break the framing, ``OSError`` from the socket.
        """
        while not self.ended:
            data = self._read_framed()
            if self._gzip is not None:
                data = self._gzip.decompress(data)
            if data:
                return data
        return b""

    def _read_framed(self) -> bytes:
        if self._chunks is not None:
            data = self._read_some(READ_SIZE)
            if not data:
                raise EOFError("it was closed in the middle of the answer")
            pieces = self._chunks.feed(data)
            self.ended = self._chunks.ended
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)
        if self._left is None:
            data = self._read_some(READ_SIZE)
            self.ended = not data
            return data
        data = self._read_some(min(self._left, READ_SIZE))
        if not data:
            raise EOFError(f"it was closed {self._left} bytes before the end of the answer")
        self._left -= len(data)
        self.ended = self._left == 0
        return data
