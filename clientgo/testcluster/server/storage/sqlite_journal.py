"""A journal on disk, written by its own thread, with group commit.

Promises: while a transaction is written, the event loop continues; changes recorded meanwhile are
written with the next one, so that clients that write at the same time share the wait for the disk.
After a failure nothing is acknowledged: memory is ahead of the disk, until the server is restarted.
"""

from __future__ import annotations

import asyncio
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from clientgo.testcluster.server.storage.data_directory import DataDirectory
from clientgo.testcluster.server.storage.journal import Entry, History, JournalError


class SqliteJournal:
    """Keeps changes in a data directory, which it closes."""

    def __init__(self, directory: DataDirectory) -> None:
        self._directory = directory
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="apiserver-journal")
        self._pending: list[Entry] = []
        self._forget = 0
        self._recorded = 0
        self._kept = 0
        """How many of the recorded changes are on disk."""
        self._writing: asyncio.Task[None] | None = None
        self._failure: sqlite3.Error | OSError | None = None

    def history(self) -> History:
        """Return what earlier processes have recorded."""
        return self._directory.history()

    def record(self, entry: Entry) -> None:
        """Keep a change with the next transaction."""
        self._pending.append(entry)
        self._recorded += 1

    def forget(self, version: int) -> None:
        """Remove history with the next transaction."""
        self._forget = version
        self._recorded += 1

    async def durable(self) -> None:
        """Wait until everything recorded so far is on disk.

        Raises:
            JournalError: it can't be written.
        """
        wanted = self._recorded
        while self._kept < wanted:
            if self._failure is not None:
                raise JournalError(
                    f"the data directory can't be written ({self._failure}); nothing is "
                    "acknowledged any more until the server is started again"
                ) from self._failure
            if self._writing is None:
                self._writing = asyncio.create_task(self._write())
            await asyncio.shield(self._writing)

    async def _write(self) -> None:
        entries, forget, recorded = self._pending, self._forget, self._recorded
        self._pending, self._forget = [], 0
        try:
            loop = asyncio.get_running_loop()
            await loop.run_in_executor(self._writer, self._directory.write, entries, forget)
            self._kept = recorded
        except (sqlite3.Error, OSError) as error:
            self._failure = error
        finally:
            self._writing = None

    def close(self) -> None:
        """Close the directory; changes that no ``durable`` waited for are lost."""
        self._writer.shutdown()
        self._directory.close()
