"""Taking HTTP chunks apart in bulk.

Promises the bytes of a chunked body, wherever the network cut it. An API server sends each watch
event as a chunk; asking for chunks one by one costs several times what decoding an event does.

Drops extensions and trailers: the Kubernetes API uses none.
"""

from __future__ import annotations

from clientgo.util.copies import CopyableError

_LINE_END = b"\r\n"
_LONGEST_LINE = 16 * 1024
"""A size line or trailer longer than this is no HTTP."""


class MalformedChunkError(CopyableError, ValueError):
    """The bytes do not follow the chunked transfer coding."""


class ChunkedDecoder:
    """Feed what arrived, get the body's pieces; ``ended`` once the last chunk was there."""

    __slots__ = ("_held", "_in_trailers", "_left", "_line_end_due", "ended")

    def __init__(self) -> None:
        self.ended = False
        self._held = b""  # the beginning of a line that has not arrived whole
        self._left = 0  # bytes of the current chunk that are still to come
        self._line_end_due = False  # the one that follows a chunk's bytes
        self._in_trailers = False

    def feed(self, data: bytes) -> list[bytes]:
        """The body bytes among ``data``; raises :class:`MalformedChunkError`."""
        if self._held:
            data, self._held = self._held + data, b""
        pieces: list[bytes] = []
        at, end = 0, len(data)
        if self._left:
            pieces.append(data[: self._left])
            at = len(pieces[0])
            self._left -= at
        while at < end and not self.ended:
            if self._line_end_due:
                at = self._pass_line_end(data, at)
            elif self._in_trailers:
                at = self._pass_trailer(data, at)
            else:
                at = _take_whole_chunks(data, at, pieces)
                if at < end:
                    at = self._begin_chunk(data, at, pieces)
        return pieces

    def _begin_chunk(self, data: bytes, at: int, pieces: list[bytes]) -> int:
        """Take what is there of a chunk that is not there whole, or is the last."""
        line_end = data.find(_LINE_END, at)
        if line_end < 0:
            return self._hold(data, at)
        size = _size(data[at:line_end])
        at = line_end + 2
        if size == 0:
            self._in_trailers = True
            return at
        piece = data[at : at + size]
        if piece:
            pieces.append(piece)
        self._left = size - len(piece)
        self._line_end_due = True
        return at + len(piece)

    def _pass_line_end(self, data: bytes, at: int) -> int:
        found = data[at : at + 2]
        if len(found) < 2:
            return self._hold(data, at)
        if found != _LINE_END:
            raise MalformedChunkError(f"a chunk goes on past its size: {data[at:][:40]!r}")
        self._line_end_due = False
        return at + 2

    def _pass_trailer(self, data: bytes, at: int) -> int:
        line_end = data.find(_LINE_END, at)
        if line_end < 0:
            return self._hold(data, at)
        self.ended = line_end == at
        return line_end + 2

    def _hold(self, data: bytes, at: int) -> int:
        """Keep the rest until more of it has arrived."""
        self._held = data[at:]
        if len(self._held) > _LONGEST_LINE:
            raise MalformedChunkError(f"no chunk size in sight: {self._held[:40]!r}")
        return len(data)


def _take_whole_chunks(data: bytes, at: int, pieces: list[bytes]) -> int:
    """Take all chunks that are there to their last byte; where the next thing begins.

    This loop runs once for each event of a watch, so it has nothing in it that is not needed.
    """
    find = data.find
    while (line_end := find(_LINE_END, at)) >= 0:
        size = _size(data[at:line_end])
        end = line_end + 2 + size
        if not size or data[end : end + 2] != _LINE_END:
            break
        pieces.append(data[line_end + 2 : end])
        at = end + 2
    return at


def _size(line: bytes) -> int:
    # int() would take signs and underscores for part of a number.
    digits = line if line.isalnum() else line.partition(b";")[0].strip()
    try:
        if digits.isalnum():
            return int(digits, 16)
    except ValueError:
        pass
    raise MalformedChunkError(f"not a chunk size: {line[:40]!r}")
