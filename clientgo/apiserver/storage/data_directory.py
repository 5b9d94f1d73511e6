"""A directory that keeps a cluster: an SQLite file with a log of changes.

Promises: ``write`` is one transaction, which is on disk when it returns. A killed process or a
power failure leaves all of it or nothing. One process at a time uses a directory. A file that can't
be used (of another program, damaged, in use) is refused with a message that says what to do.

The state of an object is its newest row; older rows are the history that watches and paged lists
resume from.

Upstream: etcd, and kine, which keeps etcd's data in such a table.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from clientgo.apiserver.storage.journal import Entry, History
from clientgo.meta.decoding import decode

KEPT_CHANGES = 40_000
"""Changes in the history; above that, the older half is removed."""

KEPT_BYTES = 128 * 1024 * 1024
"""Bytes of objects in the history."""

_FILE = "cluster.sqlite"
_APPLICATION = 0x636C676F
"""Marks the file as one of this program."""
_FORMAT = 1

_TABLES = f"""
    BEGIN;
    CREATE TABLE changes (
        version INTEGER PRIMARY KEY,
        replaces INTEGER NOT NULL,
        deleted INTEGER NOT NULL,
        "group" TEXT NOT NULL,
        plural TEXT NOT NULL,
        key TEXT NOT NULL,
        fields TEXT NOT NULL,
        raw BLOB NOT NULL
    );
    CREATE TABLE history (compacted INTEGER NOT NULL);
    INSERT INTO history VALUES (0);
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {_FORMAT};
    COMMIT;
"""


class DataDirectoryError(Exception):
    """A data directory can't be used; the message says which, why, and what to do."""


class DataDirectory:
    """An open data directory. Any thread may use it, one at a time."""

    def __init__(self, path: Path) -> None:
        """Open a directory; if it is missing or empty, a new cluster begins.

        Raises:
            DataDirectoryError: it can't be used.
        """
        self._path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path / _FILE, timeout=0, check_same_thread=False, isolation_level="IMMEDIATE"
            )
        except (OSError, sqlite3.Error) as error:
            raise DataDirectoryError(f"can't use the data directory {path}: {error}") from error
        try:
            self._prepare()
            self._compacted, self._newest = self._versions()
            self._bytes = self._history_bytes()
        except (sqlite3.Error, DataDirectoryError) as error:
            self._connection.close()
            if isinstance(error, sqlite3.Error):
                raise self._refusal(error) from error
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        [application] = execute("PRAGMA application_id").fetchone()
        [tables] = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (application or tables):
            raise DataDirectoryError(
                f"{self._path / _FILE} belongs to another program; choose another data directory"
            )
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # a commit returns when it is on disk
        if not tables:
            self._connection.executescript(_TABLES)
        [version] = execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            raise DataDirectoryError(
                f"{self._path / _FILE} has format {version} and this program writes {_FORMAT}; "
                "use the program that made it, or choose another data directory"
            )

    def _versions(self) -> tuple[int, int]:
        [compacted] = self._connection.execute("SELECT compacted FROM history").fetchone()
        [newest] = self._connection.execute("SELECT max(version) FROM changes").fetchone()
        return compacted, max(compacted, newest or 0)

    def _history_bytes(self) -> int:
        query = "SELECT coalesce(sum(length(raw)), 0) FROM changes WHERE version > ?"
        [size] = self._connection.execute(query, (self._compacted,)).fetchone()
        return int(size)

    def _refusal(self, error: sqlite3.Error) -> DataDirectoryError:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return DataDirectoryError(
                f"the data directory {self._path} is in use by another server; stop that one, or "
                "choose another directory"
            )
        return DataDirectoryError(
            f"the data directory {self._path} is damaged or not one of this program: {error}; "
            "choose another, or remove it to begin with a new cluster"
        )

    def history(self) -> History:
        """Return everything that is kept."""
        return History(self._compacted, self._entries())

    def _entries(self) -> Iterator[Entry]:
        """Yield every kept entry in the order of versions.

        Raises:
            DataDirectoryError: the file is damaged.
        """
        query = (
            'SELECT version, replaces, deleted, "group", plural, key, raw, fields FROM changes '
            "ORDER BY version"
        )
        try:
            with closing(self._connection.execute(query)) as rows:
                for version, replaces, deleted, group, plural, key, raw, fields in rows:
                    yield Entry(
                        version,
                        replaces,
                        bool(deleted),
                        (group, plural),
                        key,
                        raw,
                        decode(fields, dict[str, str]),
                    )
        except sqlite3.Error as error:
            raise self._refusal(error) from error
        except msgspec.DecodeError as error:
            raise DataDirectoryError(
                f"the data directory {self._path} is damaged: {error}; remove it to begin with a "
                "new cluster"
            ) from error

    def write(self, entries: Sequence[Entry], forget: int = 0) -> None:
        """Add changes and remove the history up to version ``forget``, in one transaction.

        Raises:
            sqlite3.Error: it could not be written; nothing of it is kept.
        """
        newest = entries[-1].version if entries else self._newest
        size = self._bytes + sum(len(entry.raw) for entry in entries)
        kept = newest - self._compacted
        if kept > KEPT_CHANGES or size > KEPT_BYTES:
            forget = max(forget, newest - kept // 2)
        with self._connection as transaction:
            transaction.executemany(
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    (
                        entry.version,
                        entry.replaces,
                        entry.deleted,
                        *entry.collection,
                        entry.key,
                        msgspec.json.encode(entry.fields).decode(),
                        entry.raw,
                    )
                    for entry in entries
                ),
            )
            if forget > self._compacted:
                self._remove_history(forget)
        self._newest = newest
        self._bytes = size
        if forget > self._compacted:
            self._compacted = forget
            self._bytes = self._history_bytes()

    def _remove_history(self, version: int) -> None:
        """Remove the rows that entries up to ``version`` have replaced or deleted."""
        for statement in (
            "DELETE FROM changes WHERE version IN "
            "(SELECT replaces FROM changes WHERE version > :from AND version <= :to)",
            "DELETE FROM changes WHERE deleted AND version > :from AND version <= :to",
            "UPDATE history SET compacted = :to",
        ):
            self._connection.execute(statement, {"from": self._compacted, "to": version})

    def close(self) -> None:
        """Close the file; another process can use the directory then."""
        self._connection.close()


def erase_data(path: Path) -> None:
    """Remove the cluster in a directory that no server uses."""
    for name in (_FILE, f"{_FILE}-wal"):
        (path / name).unlink(missing_ok=True)
