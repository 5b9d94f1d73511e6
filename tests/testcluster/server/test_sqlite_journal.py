"""The journal on disk."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Sequence
from typing import cast

import pytest

from clientgo.testcluster.server.storage.data_directory import DataDirectory
from clientgo.testcluster.server.storage.journal import Entry, JournalError
from clientgo.testcluster.server.storage.sqlite_journal import SqliteJournal


class SlowDirectory:
    """Writes and fails as a test decides."""

    def __init__(self, failure: sqlite3.Error | None = None) -> None:
        self.batches: list[list[int]] = []
        self.writing = threading.Event()
        self.go_on = threading.Event()
        self._failure = failure

    def write(self, entries: Sequence[Entry], forget: int) -> None:
        self.writing.set()
        assert self.go_on.wait(timeout=30)
        if self._failure is not None:
            raise self._failure
        self.batches.append([entry.version for entry in entries])

    def close(self) -> None:
        """Nothing is open."""


def journal_in(directory: SlowDirectory) -> SqliteJournal:
    return SqliteJournal(cast(DataDirectory, directory))


def entry(version: int) -> Entry:
    return Entry(version, 0, False, ("", "configmaps"), f"ns/{version}", b"{}", {})


def test_what_comes_during_a_write_shares_the_next_one() -> None:
    directory = SlowDirectory()

    async def write_three() -> None:
        journal = journal_in(directory)
        journal.record(entry(1))
        waiting = [asyncio.create_task(journal.durable())]
        await asyncio.to_thread(directory.writing.wait)
        for version in (2, 3):
            journal.record(entry(version))
            waiting.append(asyncio.create_task(journal.durable()))
        directory.go_on.set()
        await asyncio.gather(*waiting)
        journal.close()

    asyncio.run(write_three())

    assert directory.batches == [[1], [2, 3]]


def test_durable_returns_immediately_if_nothing_was_recorded() -> None:
    directory = SlowDirectory()

    async def wait() -> None:
        journal = journal_in(directory)
        await journal.durable()
        journal.close()

    asyncio.run(wait())

    assert directory.batches == []


def test_after_a_failure_nothing_is_durable_any_more() -> None:
    directory = SlowDirectory(sqlite3.OperationalError("disk full"))
    directory.go_on.set()

    async def fail_twice() -> None:
        journal = journal_in(directory)
        for version in (1, 2):
            journal.record(entry(version))
            with pytest.raises(JournalError, match="disk full"):
                await journal.durable()
        journal.close()

    asyncio.run(fail_twice())

    assert directory.batches == []
