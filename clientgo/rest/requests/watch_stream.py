"""Reading a watch: from the bytes of one long response to batches of events.

Promises: :meth:`HTTPWatchStream.read` returns, in order, all events that one read of the connection
brought. Lines may be split anywhere; blank lines are skipped; an object that does not decode is an
event with an :class:`~clientgo.meta.Undecodable`. A silent, broken or truncated connection raises a
:class:`~clientgo.rest.errors.TransportError`; a line that is no event raises a
:class:`~clientgo.meta.DecodeError` after the events before it. Either way the connection is closed.

Differs from client-go (apimachinery `watch` StreamWatcher), which reports a broken connection as a
clean end.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from clientgo.meta import Codec, DecodeError, WatchEvent
from clientgo.rest.errors import ConnectionLostError, RequestStoppedError, TransportTimeoutError
from clientgo.rest.transport.exchange import Answer
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable

_LONGEST_EVENT: Final = 64 * 1024 * 1024
"""Far beyond any object that a server stores; more without a line end is no watch."""


class LineCutter:
    """Feed what arrived, get the lines that are complete now; some still have their ends."""

    __slots__ = ("_rest", "_rest_size", "_what")

    def __init__(self, what: str = "watch") -> None:
        self._what = what
        self._rest: list[bytes] = []
        self._rest_size = 0

    def feed(self, pieces: Iterable[bytes]) -> list[bytes]:
        """The complete lines; raises ``DecodeError`` for a line that does not end."""
        lines: list[bytes] = []
        for piece in pieces:
            # Almost always a piece is a line: nothing has to be cut, nothing to be copied.
            if not self._rest and piece.find(b"\n") == len(piece) - 1:
                lines.append(piece)
            else:
                lines += self._cut(piece)
        return lines

    def rest(self) -> bytes:
        """What came after the last line end."""
        return b"".join(self._rest)

    def _cut(self, piece: bytes) -> list[bytes]:
        lines = piece.split(b"\n")
        if self._rest:
            self._rest.append(lines[0])
            if len(lines) == 1:
                self._rest_size += len(piece)
                self._check_size()
                return []
            lines[0] = b"".join(self._rest)
        last = lines.pop()
        self._rest = [last] if last else []
        self._rest_size = len(last)
        return lines

    def _check_size(self) -> None:
        if self._rest_size > _LONGEST_EVENT:
            raise DecodeError(
                f"not a {self._what}: {self._rest_size} bytes without the end of a line"
            )


@uncopyable("it has connections to a server; make one in each process")
class HTTPWatchStream:
    """An open watch; made by :meth:`clientgo.rest.Request.watch`.

    ``read`` is for one thread at a time, ``stop`` and the properties for any.
    """

    def __init__(
        self,
        answer: Answer,
        codec: Codec[Any],
        *,
        idle_timeout: float | None,
        deadline: float | None,
        clock: Clock,
    ) -> None:
        self._answer = answer
        self._codec = codec
        self._lines = LineCutter()
        self._idle_timeout = idle_timeout
        self._deadline = deadline
        self._clock = clock
        self._lock = threading.Lock()
        self._closed = False
        self._failure: Exception | None = None
        self._last_byte_time = clock.monotonic()

    @property
    def last_byte_time(self) -> float:
        """When the server last said anything, on the clock's ``monotonic`` scale."""
        return self._last_byte_time

    def read(self) -> Sequence[WatchEvent[Any]]:
        """The events that came next; empty at the clean end of the stream and after ``stop``.

        Blocks. Raises :class:`~clientgo.rest.errors.TransportError` or
        :class:`~clientgo.meta.DecodeError`, once; after that the stream is at its end.
        """
        try:
            while not self._closed:
                if self._failure is not None:
                    raise self._failure  # noqa: TRY301 - its events have been handed out by now
                pieces = self._answer.read_pieces(self._read_timeout())
                self._last_byte_time = self._clock.monotonic()
                if not pieces:
                    events = self._decode_rest()
                    self._close()
                    return events
                if events := self._decode(self._lines.feed(pieces)):
                    return events
        except RequestStoppedError:
            self._close()
        except BaseException:
            self._close()
            raise
        return ()

    def stop(self) -> None:
        """End the stream: a blocked ``read`` returns, the connection is closed. Idempotent."""
        if not self._closed:
            self._answer.abort()
            self._close()

    def _close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._answer.close()

    def _read_timeout(self) -> float | None:
        if self._deadline is None:
            return self._idle_timeout
        remaining = self._deadline - self._clock.monotonic()
        if remaining <= 0:
            raise TransportTimeoutError(
                self._answer.method, self._answer.url, "the server did not end the watch in time"
            )
        # In whole seconds: each other timeout would be set by a system call of its own.
        seconds = float(math.ceil(remaining))
        return seconds if self._idle_timeout is None else min(seconds, self._idle_timeout)

    def _decode(self, lines: list[bytes]) -> list[WatchEvent[Any]]:
        events, error = self._codec.decode_events(lines)
        if error is not None:
            if not events:
                raise error
            self._failure = error
        return events

    def _decode_rest(self) -> list[WatchEvent[Any]]:
        """A stream may end without a line end, but not within an event."""
        rest = self._lines.rest()
        if not rest.strip():
            return []
        try:
            return [self._codec.decode_event(rest)]
        except DecodeError as error:
            if not _is_cut_off(rest):
                raise
            raise ConnectionLostError(
                self._answer.method, self._answer.url, f"it ended within an event: {rest[-80:]!r}"
            ) from error


def _is_cut_off(rest: bytes) -> bool:
    """Return True for the beginning of an event, False for what is none, such as a gateway's."""
    try:
        msgspec.json.decode(rest)
    except msgspec.DecodeError:
        return rest.lstrip().startswith(b"{")
    return False


class EndedWatch:
    """A watch that is over before it began: the server was lost and may be asked again."""

    __slots__ = ()

    def read(self) -> Sequence[WatchEvent[Any]]:
        return ()

    def stop(self) -> None:
        """Nothing is open."""
