"""The file that keeps a cluster."""

from __future__ import annotations

import random
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server.storage import data_directory as data_directory_module
from clientgo.testcluster.server.storage.data_directory import DataDirectory, DataDirectoryError
from clientgo.testcluster.server.storage.journal import Entry


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[DataDirectory]:
    directory = DataDirectory(tmp_path / "data")
    yield directory
    directory.close()


def entry(version: int, key: str = "ns/a", **fields: Any) -> Entry:
    values = {
        "replaces": 0,
        "deleted": False,
        "collection": ("", "configmaps"),
        "raw": b"{}",
        "fields": {"metadata.name": "a"},
    }
    return Entry(version=version, key=key, **{**values, **fields})


def kept(directory: DataDirectory) -> list[tuple[int, str]]:
    return [(item.version, item.key) for item in directory.history().entries]


def test_what_was_written_is_read_by_the_next_to_open_it(tmp_path: Path) -> None:
    written = [entry(7), entry(8, "ns/b"), entry(9, replaces=7, deleted=True)]
    first = DataDirectory(tmp_path)
    first.write(written)
    first.close()

    second = DataDirectory(tmp_path)

    assert list(second.history().entries) == written
    second.close()


def test_forgotten_history_leaves_the_state_of_each_object(directory: DataDirectory) -> None:
    directory.write(
        [
            entry(1, "changed"),
            entry(2, "gone"),
            entry(3, "same"),
            entry(4, "changed", replaces=1),
            entry(5, "gone", replaces=2, deleted=True),
            entry(6, "changed", replaces=4),
        ]
    )

    directory.write([], forget=5)

    assert directory.history().compacted == 5
    assert kept(directory) == [(3, "same"), (4, "changed"), (6, "changed")]


def test_a_long_history_loses_its_older_half(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_directory_module, "KEPT_CHANGES", 10)

    for version in range(1, 12):
        directory.write([entry(version, replaces=version - 1)])

    assert directory.history().compacted == 6
    assert kept(directory) == [(version, "ns/a") for version in range(6, 12)]


def test_few_large_objects_shorten_the_history(
    directory: DataDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_directory_module, "KEPT_BYTES", 1000)

    for version in range(1, 30):
        directory.write([entry(version, replaces=version - 1, raw=b"x" * 100)])

    assert len(kept(directory)) <= 12


def test_a_failed_write_leaves_nothing_of_it(directory: DataDirectory) -> None:
    directory.write([entry(1)])

    with pytest.raises(sqlite3.Error):
        directory.write([entry(2), entry(1)])

    assert kept(directory) == [(1, "ns/a")]


def test_a_directory_in_use_is_refused(tmp_path: Path) -> None:
    first = DataDirectory(tmp_path)

    with pytest.raises(DataDirectoryError, match="in use by another server"):
        DataDirectory(tmp_path)

    first.close()
    DataDirectory(tmp_path).close()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cluster.sqlite").write_bytes(b"no database at all" * 1000)

    with pytest.raises(DataDirectoryError, match="damaged"):
        DataDirectory(tmp_path)


def test_a_file_with_damaged_pages_is_refused_when_it_is_read(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.write([entry(version, f"ns/{version}", raw=b"x" * 500) for version in range(1, 300)])
    directory.close()
    file = tmp_path / "cluster.sqlite"
    content = bytearray(file.read_bytes())
    content[3 * 4096 : 20 * 4096] = b"\xff" * (17 * 4096)
    file.write_bytes(content)

    with pytest.raises(DataDirectoryError, match="damaged"):
        list(DataDirectory(tmp_path).history().entries)


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "cluster.sqlite") as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    before = (tmp_path / "cluster.sqlite").read_bytes()

    with pytest.raises(DataDirectoryError, match="another program"):
        DataDirectory(tmp_path)

    assert (tmp_path / "cluster.sqlite").read_bytes() == before


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    with sqlite3.connect(tmp_path / "cluster.sqlite") as newer:
        newer.execute("PRAGMA user_version = 99")
    newer.close()

    with pytest.raises(DataDirectoryError, match="format 99"):
        DataDirectory(tmp_path)


def test_a_path_that_is_no_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(DataDirectoryError, match="can't use the data directory"):
        DataDirectory(tmp_path / "file")


# -- who can read it, and what is damaged


def test_only_its_owner_can_read_a_directory(tmp_path: Path) -> None:
    """The objects include Secrets."""
    directory = DataDirectory(tmp_path / "new" / "data")
    directory.write([entry(1)])

    files = {file.name: file for file in (tmp_path / "new" / "data").iterdir()}

    assert stat.S_IMODE((tmp_path / "new" / "data").stat().st_mode) == 0o700
    assert "cluster.sqlite-wal" in files
    assert {stat.S_IMODE(file.stat().st_mode) for file in files.values()} == {0o600}
    directory.close()


def test_a_file_that_others_could_read_is_made_private(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    file = tmp_path / "cluster.sqlite"
    file.chmod(0o644)

    DataDirectory(tmp_path).close()

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_emptied_file_is_not_a_new_cluster(tmp_path: Path) -> None:
    DataDirectory(tmp_path).close()
    (tmp_path / "cluster.sqlite").write_bytes(b"")

    with pytest.raises(DataDirectoryError, match=r"is empty now: restore .* or remove it"):
        DataDirectory(tmp_path)


def test_a_process_killed_at_the_first_start_leaves_no_empty_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(data_directory_module, "_TABLES", "SELECT no_such_function()")
        with pytest.raises(DataDirectoryError):
            DataDirectory(tmp_path)

    DataDirectory(tmp_path).close()  # begins again


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, list[Entry]]:
    """A file of some pages, and what it has."""
    path = tmp_path_factory.mktemp("large")
    directory = DataDirectory(path)
    for number in range(1, 200):
        name = f"ns/{number % 60}"
        replaces = number - 60 if number > 60 else 0
        text = b'{"data":"%s"}' % (b"x" * (number * 7 % 900))
        directory.write([entry(number, name, replaces=replaces, raw=text)], forget=number // 2)
    entries = list(directory.history().entries)
    directory.close()
    return (path / "cluster.sqlite").read_bytes(), entries


def test_a_changed_byte_is_noticed_or_changes_nothing(
    large: tuple[bytes, list[Entry]], tmp_path: Path
) -> None:
    """One sentence with the next step, never another error, never other objects."""
    content, entries = large
    source = random.Random(1)
    messages = []
    for number in range(400):
        damaged = bytearray(content)
        for _ in range(source.choice((1, 1, 1, 4, 64))):
            damaged[source.randrange(len(damaged))] = source.randrange(256)
        if number % 10 == 0:
            damaged = damaged[: source.randrange(len(damaged))]
        if number % 10 == 1:
            page = 4096 * source.randrange(len(damaged) // 4096)
            damaged[page : page + 4096] = bytes(4096)
        path = tmp_path / str(number)
        path.mkdir()
        (path / "cluster.sqlite").write_bytes(damaged)
        try:
            directory = DataDirectory(path)
            try:
                assert list(directory.history().entries) == entries
                directory.write([entry(200, "ns/new")])
            finally:
                directory.close()
        except DataDirectoryError as error:
            messages.append(str(error))
        except sqlite3.Error as error:  # while it is written; the journal reports it
            messages.append(f"{path}: {error}")
    assert len(messages) > 200
    assert all(str(tmp_path) in message and "\n" not in message for message in messages)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as a killed process leaves it: the changes are in the log."""
    path, copy = (tmp_path_factory.mktemp(name) for name in ("running", "killed"))
    directory = DataDirectory(path)
    for number in range(1, 30):
        directory.write([entry(number, f"ns/{number}", raw=b'{"data":"%s"}' % (b"x" * 3000))])
    for file in path.iterdir():
        shutil.copy(file, copy / file.name)
    directory.close()
    return copy


def _damage(log: bytearray, place: int) -> None:
    log[place] ^= 255


def _zero_salt(log: bytearray) -> None:
    log[32 + 5 * (4096 + 24) + 9] ^= 255


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda log: log.clear(), "the log is missing or empty"),
        (lambda log: log.__delitem__(slice(20, None)), "the log is cut off"),
        (lambda log: _damage(log, 9), "the head of the log is damaged"),
        (lambda log: _damage(log, 40), "the log is damaged"),
        (lambda log: _damage(log, len(log) // 2), "the log is damaged"),
        (_zero_salt, "the log is damaged"),
    ],
)
def test_a_damaged_log_of_a_killed_process_is_refused_and_left(
    killed: Path, tmp_path: Path, change: Callable[[bytearray], None], problem: str
) -> None:
    """SQLite would read it up to there, and forget the rest without a word."""
    path = tmp_path / "copy"
    shutil.copytree(killed, path)
    log = path / "cluster.sqlite-wal"
    content = bytearray(log.read_bytes())
    change(content)
    log.write_bytes(content)

    for _ in range(2):
        with pytest.raises(DataDirectoryError, match=rf"is damaged.* \({problem}\): restore"):
            DataDirectory(path)
    assert log.read_bytes() == content


def test_a_log_that_was_removed_is_missed(killed: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy"
    shutil.copytree(killed, path)
    (path / "cluster.sqlite-wal").unlink()

    with pytest.raises(DataDirectoryError, match="the log is missing or empty"):
        DataDirectory(path)


def test_a_transaction_that_was_not_over_is_no_damage(killed: Path, tmp_path: Path) -> None:
    """The power failed while it was written: no client was told of it."""
    path = tmp_path / "copy"
    shutil.copytree(killed, path)
    log = path / "cluster.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-5000])

    directory = DataDirectory(path)

    assert len(kept(directory)) == 28
    directory.close()
    assert not log.exists()
    DataDirectory(path).close()


def test_a_missing_change_is_noticed(tmp_path: Path) -> None:
    directory = DataDirectory(tmp_path)
    directory.write([entry(number, f"ns/{number}") for number in range(1, 9)])
    directory.close()
    with closing(sqlite3.connect(tmp_path / "cluster.sqlite")) as other:
        other.execute("DELETE FROM changes WHERE version = 5")
        other.commit()

    directory = DataDirectory(tmp_path)
    with pytest.raises(DataDirectoryError, match="change 5 is missing"):
        list(directory.history().entries)
    directory.close()


def test_a_file_without_checksums_gets_them(tmp_path: Path) -> None:
    """The format of earlier versions of this program."""
    directory = DataDirectory(tmp_path)
    directory.write([entry(1), entry(2, "ns/b")])
    directory.close()
    with closing(sqlite3.connect(tmp_path / "cluster.sqlite")) as other:
        other.executescript(
            "ALTER TABLE changes DROP COLUMN checksum; ALTER TABLE history DROP COLUMN checksum;"
            "PRAGMA user_version = 1"
        )

    for _ in range(2):
        directory = DataDirectory(tmp_path)
        assert kept(directory) == [(1, "ns/a"), (2, "ns/b")]
        directory.close()
