"""The file that keeps a cluster."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.apiserver.storage import data_directory as data_directory_module
from clientgo.apiserver.storage.data_directory import DataDirectory, DataDirectoryError
from clientgo.apiserver.storage.journal import Entry


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
