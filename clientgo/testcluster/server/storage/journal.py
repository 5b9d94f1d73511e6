"""The interface through which storage keeps changes beyond the life of the process.

Promises: storage always serves from memory. It records each change before any client can see it,
and a response or watch event is sent only after ``durable`` has returned; so a journal has kept all
that a client was told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import msgspec


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One kept change. The entries of a cluster have consecutive versions."""

    version: int
    replaces: int
    """Version of the state that this one replaces; 0 for a new object."""
    deleted: bool
    collection: tuple[str, str]
    """Group and plural."""
    key: str
    raw: bytes
    fields: dict[str, str]
    """Values that field selectors compare."""


class History(msgspec.Struct, frozen=True):
    """The state of each object at version ``compacted``, then every change since."""

    compacted: int
    entries: Iterable[Entry]
    """In the order of versions."""


class JournalError(Exception):
    """Changes can't be kept any more; no change that was lost has been acknowledged."""


class Journal(Protocol):
    """Keeps changes. Used on the server's event loop."""

    def history(self) -> History:
        """Return what earlier processes have recorded."""

    def record(self, entry: Entry) -> None:
        """Keep a change with the next transaction."""

    def forget(self, version: int) -> None:
        """Remove the history up to a version; keep the state."""

    async def durable(self) -> None:
        """Wait until everything recorded so far is kept.

        Raises:
            JournalError: it can't be.
        """

    def close(self) -> None:
        """Release what was kept; changes that no ``durable`` waited for are lost."""


class NoJournal:
    """Keeps nothing: the cluster is in memory only."""

    def history(self) -> History:
        """Return an empty history."""
        return History(0, ())

    def record(self, entry: Entry) -> None:
        """Do nothing."""

    def forget(self, version: int) -> None:
        """Do nothing."""

    async def durable(self) -> None:
        """Return immediately."""

    def close(self) -> None:
        """Do nothing."""
