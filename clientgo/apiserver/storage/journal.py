"""What storage tells of each change, so that somebody can keep it beyond the life of the process.

Promises: storage serves from memory whatever the journal is. It records each change before anybody
can see it, and an answer or a watch event goes out only after ``durable`` has returned; so what a
client was told is what a journal has kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import msgspec


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One change, as it is kept. The entries of a cluster have consecutive versions."""

    version: int
    replaces: int
    """Version of the state that this one takes the place of; 0 for a new object."""
    deleted: bool
    collection: tuple[str, str]
    """Group and plural."""
    key: str
    raw: bytes
    fields: dict[str, str]
    """What field selectors may ask for."""


@dataclass(frozen=True, slots=True)
class History:
    """What was kept: for each object its state at ``compacted``, then every change since."""

    compacted: int
    entries: Iterable[Entry]
    """In the order of versions."""


class JournalError(Exception):
    """Changes can't be kept any more; nothing that was not kept has been acknowledged."""


class Journal(Protocol):
    """Keeps changes. Used on the server's event loop."""

    def history(self) -> History:
        """What earlier processes have recorded."""

    def record(self, entry: Entry) -> None:
        """Keep a change, soon."""

    def forget(self, version: int) -> None:
        """Keep no change up to a version, only the state at it."""

    async def durable(self) -> None:
        """Wait until all that was recorded is kept.

        Raises:
            JournalError: it can't be.
        """

    def close(self) -> None:
        """Let others have what was kept; what nobody waited for is lost."""


class NoJournal:
    """Keeps nothing: the cluster lives in memory alone."""

    def history(self) -> History:
        """Nothing."""
        return History(0, ())

    def record(self, entry: Entry) -> None:
        """Do nothing."""

    def forget(self, version: int) -> None:
        """Do nothing."""

    async def durable(self) -> None:
        """Return at once."""

    def close(self) -> None:
        """Do nothing."""
