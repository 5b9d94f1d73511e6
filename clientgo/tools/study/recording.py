"""A recording: what happened, one JSON object a line, for a page now or a replay later.

Promises: lines are kept in the order in which they were added, and each reader gets every line
once. The oldest lines are dropped beyond ``limit``, so that a long session keeps its memory; those
that the page needs to understand the others are not.

The lines are the tracer's hops, and those of the page itself, whose ``hop`` begins with ``study.``:

===================  ====================================================================
``study.object``     a version of an object: ``resource``, ``type``, ``object``
``study.source``     the code behind the hop ``of``: ``whose``, ``file``, ``line``, ``text``
``study.held``       a thread waits at a ``boundary``: ``number``
``study.released``   it goes on
``study.pace``       ``mode``: running, slow or paused
``study.action``     what the user does: ``action``, ``message``, ``edits``, ``fault``, ``lifted``
``study.healed``     faults that have struck as often as they do: ``lifted``
===================  ====================================================================
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from clientgo.meta.decoding import decoder
from clientgo.util.copies import CopyableError

LIMIT: Final = 20_000
"""Lines that are kept: about 5 MB, and twenty minutes of a busy controller."""


class RecordingError(CopyableError, ValueError):
    """A file is no recording."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some lines of a recording, and the position after them."""

    end: int
    lines: list[bytes]


class Recording:
    """Lines in memory. Thread-safe; adding a line does not wait for readers."""

    def __init__(self, lines: Iterable[bytes] = (), *, limit: int = LIMIT) -> None:
        self._changed = threading.Condition()
        self._lines = deque(lines, maxlen=limit)
        self._kept: list[bytes] = []
        self._added = len(self._lines)
        self._closed = False

    def add(self, encoded: bytes, *, keep: bool = False) -> None:
        """Add a line of JSON; one to ``keep`` is needed to understand the others."""
        with self._changed:
            self._lines.append(encoded)
            if keep:
                self._kept.append(encoded)
            self._added += 1
            self._changed.notify_all()

    def close(self) -> None:
        """End the wait of each reader; lines are kept."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def closed(self) -> bool:
        return self._closed

    def read(self, position: int, timeout: float) -> Part:
        """Return the lines from a position on; wait at most ``timeout`` seconds for the first.

        The part is empty after a timeout. If lines were dropped, it begins later than asked, and
        with those that are kept.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._added > position, timeout)
            oldest = self._added - len(self._lines)
            first = max(position, oldest)
            lines = list(itertools.islice(self._lines, first - oldest, None))
            kept = self._kept if first > position else ()
        return Part(first + len(lines), [*kept, *lines])

    def lines(self) -> list[bytes]:
        """Return all lines that there are."""
        return self.read(0, 0).lines

    def text(self) -> bytes:
        """Return the recording as a file."""
        return b"".join(line + b"\n" for line in self.lines())


def load_recording(path: Path) -> Recording:
    """Read a file that was saved by the page or written by the tracer.

    Raises :class:`RecordingError` if it can't be read or a line is no hop.
    """
    try:
        return Recording(_checked(path.read_bytes().splitlines()))
    except OSError as error:
        raise RecordingError(f"{path} can't be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise RecordingError(f"{path} is no recording: {error}") from error


class _Line(msgspec.Struct):
    """What each line has."""

    hop: str
    at: float


def _checked(lines: Iterable[bytes]) -> Iterator[bytes]:
    read = decoder(_Line).decode
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                read(line)
            except msgspec.DecodeError as error:
                raise RecordingError(f"line {number}: {error}") from error
            yield line
