"""Taking HTTP chunks apart in bulk.

Promises the body bytes of a chunked message, however the network cut it: chunk sizes, data, line
ends, extensions and trailers may be split anywhere. An API server sends each watch event as a
chunk of its own; asking for chunks one by one costs several times what decoding the event does,
so this takes all chunks of what one read brought in at once.

Does not keep extensions or trailers: nothing in the Kubernetes API uses them.
"""

from __future__ import annotations

_LINE_END = b"\r\n"
_LONGEST_LINE = 16 * 1024
"""A size line or trailer longer than this is no HTTP."""


class MalformedChunkError(ValueError):
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
                if end - at < 2:
                    self._held = data[at:]
                    break
                if data[at : at + 2] != _LINE_END:
                    raise MalformedChunkError(f"a chunk goes on past its size: {data[at:][:40]!r}")
                self._line_end_due = False
                at += 2
                continue
            line_end = data.find(_LINE_END, at)
            if line_end < 0:
                self._hold_line(data[at:])
                break
            line = data[at:line_end]
            at = line_end + 2
            if self._in_trailers:
                self.ended = not line
                continue
            size = _size(line)
            if size == 0:
                self._in_trailers = True
                continue
            piece = data[at : at + size]
            pieces.append(piece)
            at += len(piece)
            if len(piece) == size and data[at : at + 2] == _LINE_END:
                at += 2
            else:
                self._left = size - len(piece)
                self._line_end_due = True
        return pieces

    def _hold_line(self, beginning: bytes) -> None:
        if len(beginning) > _LONGEST_LINE:
            raise MalformedChunkError(f"no chunk size in sight: {beginning[:40]!r}")
        self._held = beginning


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip() if not line.isalnum() else line
    # int() would take signs and underscores for part of a number.
    if not digits.isalnum():
        raise MalformedChunkError(f"not a chunk size: {line[:40]!r}")
    try:
        return int(digits, 16)
    except ValueError:
        raise MalformedChunkError(f"not a chunk size: {line[:40]!r}") from None
