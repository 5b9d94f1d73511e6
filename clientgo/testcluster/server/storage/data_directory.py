"""A directory that keeps a cluster: an SQLite file with a log of changes.

Promises: ``write`` is one transaction, which is on disk when it returns. A killed process or a
power failure leaves all of it or nothing. One process at a time uses a directory, and only its
owner can read it. A file that can't be used (of another program, damaged, emptied, in use) is
refused with a message that says what to do: each row has a checksum, and the structure and the log
of a killed process are checked when the file is opened.

The state of an object is its newest row; older rows are the history that watches and paged lists
resume from.

Upstream: etcd, and kine, which keeps etcd's data in such a table.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from clientgo.meta.decoding import decode
from clientgo.testcluster.server.storage.journal import Entry, History
from clientgo.testcluster.server.storage.sqlite_log import log_problem

KEPT_CHANGES = 40_000
"""Changes in the history; above that, the older half is removed."""

KEPT_BYTES = 128 * 1024 * 1024
"""Bytes of objects in the history."""

_FILE = "cluster.sqlite"
_LOG = f"{_FILE}-wal"
"""SQLite has the newest changes there until it closes the file."""
_MARK = "cluster.running"
"""Is there while the log has changes that the file does not have."""
_APPLICATION = 0x636C676F
"""Marks the file as one of this program."""
_FORMAT = 2
_FORMAT_WITHOUT_CHECKSUMS = 1

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
        raw BLOB NOT NULL,
        checksum INTEGER NOT NULL
    );
    CREATE TABLE history (compacted INTEGER NOT NULL, checksum INTEGER NOT NULL);
    INSERT INTO history VALUES (0, checksum(0));
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {_FORMAT};
    COMMIT;
"""

_ADDED_CHECKSUMS = f"""
    BEGIN;
    ALTER TABLE changes ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE changes SET
        checksum = checksum(version, replaces, deleted, "group", plural, key, fields, raw);
    ALTER TABLE history ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
    UPDATE history SET checksum = checksum(compacted);
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
        self._mark = path / _MARK
        self._is_marked = False
        try:
            if not path.exists():
                path.mkdir(mode=0o700, parents=True)
            self._make_file()
            self._connection = sqlite3.connect(
                path / _FILE, timeout=0, check_same_thread=False, isolation_level="IMMEDIATE"
            )
        except (OSError, sqlite3.Error) as error:
            raise DataDirectoryError(f"can't use the data directory {path}: {error}") from error
        try:
            self._prepare()
            self._compacted, self._newest = self._versions()
            self._bytes = self._history_bytes()
        except BaseException as error:
            self._close_unused()
            if isinstance(error, sqlite3.Error | TypeError | ValueError):
                raise self._refusal(error) from error
            if isinstance(error, OSError):
                raise DataDirectoryError(f"can't use the data directory {path}: {error}") from error
            raise

    def _make_file(self) -> None:
        """Create the file, complete and for its owner only, unless there is one.

        Raises:
            DataDirectoryError: there is one that has nothing, or is another user's.
        """
        file = self._path / _FILE
        if file.exists():
            status = file.stat()
            if os.name == "posix" and status.st_uid not in (0, os.getuid()):
                raise DataDirectoryError(
                    f"{file} belongs to another user; choose another data directory"
                )
            if not status.st_size:
                raise DataDirectoryError(
                    f"{file} was a cluster and is empty now: restore a copy of it, or remove it to "
                    "begin with a new cluster"
                )
            return
        new = file.with_suffix(".new")
        new.unlink(missing_ok=True)
        os.close(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        with closing(sqlite3.connect(new)) as connection:
            connection.create_function("checksum", -1, _checksum, deterministic=True)
            connection.executescript(_TABLES)
        new.replace(file)

    def _close_unused(self) -> None:
        """Close the file, and leave its log, which SQLite removes when it closes."""
        log = self._path / _LOG
        kept = log.with_suffix(".kept")
        kept.unlink(missing_ok=True)
        if log.exists():
            os.link(log, kept)
        self._connection.close()
        if log.exists():
            kept.unlink(missing_ok=True)
        elif kept.exists():
            kept.rename(log)

    def _check_log(self) -> None:
        """Check the log of a process that was killed.

        Raises:
            DataDirectoryError: a part of it is lost.
        """
        log = self._path / _LOG
        if log.exists() and log.stat().st_size:
            problem = log_problem(log)
        else:
            problem = "the log is missing or empty" if self._mark.exists() else ""
        if problem:
            raise self._damage(problem)

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA locking_mode = EXCLUSIVE")
        [application] = execute("PRAGMA application_id").fetchone()
        [tables] = execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application != _APPLICATION and (application or tables):
            raise DataDirectoryError(
                f"{self._path / _FILE} belongs to another program; choose another data directory"
            )
        (self._path / _FILE).chmod(0o600)  # the log takes it over
        self._check_log()
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")  # a commit returns when it is on disk
        [version] = execute("PRAGMA user_version").fetchone()
        if version not in (_FORMAT, _FORMAT_WITHOUT_CHECKSUMS):
            raise DataDirectoryError(
                f"{self._path / _FILE} has format {version} and this program writes {_FORMAT}; "
                "use the program that made it, or choose another data directory"
            )
        [problem] = execute("PRAGMA quick_check(1)").fetchone()
        if problem != "ok":
            raise self._damage(problem)
        self._connection.create_function("checksum", -1, _checksum, deterministic=True)
        if version == _FORMAT_WITHOUT_CHECKSUMS:
            self._connection.executescript(_ADDED_CHECKSUMS)

    def _versions(self) -> tuple[int, int]:
        [compacted, checksum] = self._connection.execute("SELECT * FROM history").fetchone()
        if checksum != _checksum(compacted):
            raise self._damage("the version of the history is not the one that was written")
        [newest] = self._connection.execute("SELECT max(version) FROM changes").fetchone()
        return compacted, max(compacted, newest or 0)

    def _history_bytes(self) -> int:
        query = "SELECT coalesce(sum(length(raw)), 0) FROM changes WHERE version > ?"
        [size] = self._connection.execute(query, (self._compacted,)).fetchone()
        return int(size)

    def _refusal(self, error: Exception) -> DataDirectoryError:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            return DataDirectoryError(
                f"the data directory {self._path} is in use by another server; stop that one, or "
                "choose another directory"
            )
        return self._damage(str(error))

    def _damage(self, problem: str) -> DataDirectoryError:
        shown = " ".join(problem.split())
        return DataDirectoryError(
            f"the data directory {self._path} is damaged, or not one of this program ({shown}): "
            f"restore a copy of {_FILE}, choose another directory, or remove this one to begin "
            "with a new cluster"
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
            'SELECT version, replaces, deleted, "group", plural, key, fields, raw, checksum '
            "FROM changes ORDER BY version"
        )
        previous = self._compacted
        try:
            with closing(self._connection.execute(query)) as rows:
                for *values, checksum in rows:
                    version, replaces, deleted, group, plural, key, fields, raw = values
                    if checksum != _checksum(*values):
                        raise self._damage(f"change {version} is not what was written")
                    if version > self._compacted and previous and version > previous + 1:
                        raise self._damage(f"change {previous + 1} is missing")
                    previous = max(previous, version)
                    yield Entry(
                        version,
                        replaces,
                        bool(deleted),
                        (group, plural),
                        key,
                        raw,
                        decode(fields, dict[str, str]),
                    )
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._refusal(error) from error

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
                "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_row, entries)
            )
            if forget > self._compacted:
                self._remove_history(forget)
        if not self._is_marked:
            self._mark.touch(0o600)
            self._is_marked = True
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
            "UPDATE history SET compacted = :to, checksum = checksum(:to)",
        ):
            self._connection.execute(statement, {"from": self._compacted, "to": version})

    def close(self) -> None:
        """Close the file; another process can use the directory then."""
        self._mark.unlink(missing_ok=True)
        self._connection.close()


def _row(entry: Entry) -> tuple[Any, ...]:
    fields = msgspec.json.encode(entry.fields).decode()
    head = (entry.version, entry.replaces, int(entry.deleted), *entry.collection, entry.key)
    return (*head, fields, entry.raw, _checksum(*head, fields, entry.raw))


def _checksum(*values: Any) -> int:
    """Return the checksum of the values of a row."""
    *head, last = values
    raw = last if isinstance(last, bytes) else repr(last).encode()
    return zlib.crc32(raw, zlib.crc32(repr(head).encode()))


def erase_data(path: Path) -> None:
    """Remove the cluster in a directory that no server uses."""
    for name in (_FILE, _LOG, _MARK):
        (path / name).unlink(missing_ok=True)
