"""The lines of a container's log, as they are written.

Promises: lines are cut at line ends, whatever the pieces in which they arrive, and then decoded;
the log of a container that has ended ends cleanly, and a connection that broke is an error.

Does not connect again: a server knows no position in a log but a time, in whole seconds. To go on,
ask for ``timestamps``, pass the last one as ``since_time``, and skip what is not later than it.
Upstream: client-go ``kubernetes/typed/core/v1`` GetLogs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Self

from clientgo.rest import Answer, RequestStoppedError
from clientgo.rest.requests.watch_stream import LineCutter
from clientgo.util.copies import uncopyable


@uncopyable("it is a connection to a server; make one in each process")
class LogLines:
    """Iterates over lines, without their ends; a context manager. One thread reads.

    Bytes that are not UTF-8 become replacement characters. The iteration ends with the log, and
    after :meth:`stop`. It raises :class:`~clientgo.rest.TransportError`, also if nothing is written
    for ``timeout`` seconds, and :class:`~clientgo.meta.DecodeError` for a line of more than 64 MiB.
    """

    def __init__(self, answer: Answer, timeout: float | None) -> None:
        self._answer = answer
        self._timeout = timeout
        self._cutter = LineCutter("log")
        self._lines: deque[bytes] = deque()
        self._ended = False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            if self._ended:
                raise StopIteration
            self._read()
        return self._lines.popleft().removesuffix(b"\n").decode(errors="replace")

    def stop(self) -> None:
        """End the iteration from any thread, also one that waits for the next line."""
        self._answer.abort()

    def close(self) -> None:
        """Close the connection, from any thread. Idempotent."""
        self._ended = True
        self._answer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _read(self) -> None:
        try:
            pieces = self._answer.read_pieces(self._timeout)
        except RequestStoppedError:
            pieces = []
        self._lines += self._cutter.feed(pieces)
        if not pieces:
            if rest := self._cutter.rest():
                self._lines.append(rest)
            self.close()
