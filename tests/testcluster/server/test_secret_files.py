"""Keys and tokens in a data directory, and changes that it could not keep."""

from __future__ import annotations

import logging
import os
import signal
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clientgo.__main__ import main
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.storage.data_directory import DataDirectory, DataDirectoryError
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

SECRETS = ("token", "server.key", "clients.key", "service-account.key")


def secure(directory: Path) -> EmbeddedAPIServer:
    return EmbeddedAPIServer(data_dir=directory, authorization="RBAC", service_accounts=True)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with all keys and tokens."""
    directory = tmp_path / "data"
    server = secure(directory)
    with server:
        server._signing_key()
    assert {*SECRETS} <= {*os.listdir(directory)}
    return directory


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_secrets_are_for_their_owner_only(data: Path) -> None:
    assert {mode_of(data / name) for name in SECRETS} == {0o600}


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_that_others_can_use_is_made_private(
    data: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    (data / name).chmod(0o664)
    content = (data / name).read_bytes()

    with secure(data):
        assert mode_of(data / name) == 0o600

    assert (data / name).read_bytes() == content
    [warning] = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert str(data / name) in warning


@pytest.mark.parametrize(
    ("name", "make"),
    [
        *((name, Path.mkdir) for name in (*SECRETS, "server.crt", "clients.crt")),
        *((name, os.mkfifo) for name in SECRETS),
    ],
)
def test_what_is_no_file_is_refused(
    data: Path, name: str, make: Callable[[Path], object], capsys: pytest.CaptureFixture[str]
) -> None:
    (data / name).unlink()
    make(data / name)

    with pytest.raises(DataDirectoryError) as refusal:
        secure(data).start()
    options = ("--data-dir", str(data), "--authorization-mode", "RBAC", "--service-accounts")
    assert main(["apiserver", "--listen", "127.0.0.1:0", *options]) == 1

    assert str(data / name) in str(refusal.value)
    error = capsys.readouterr().err
    assert (str(data / name) in error, "can't listen" in error) == (True, False)


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_behind_a_link_that_others_can_make_is_refused(data: Path, name: str) -> None:
    """The other user could choose a file whose content is known."""
    data.chmod(0o1777)
    (data / name).rename(data.parent / name)
    (data / name).symlink_to(data.parent / name)

    with pytest.raises(DataDirectoryError, match="a directory that others can write"):
        secure(data).start()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_of_another_user_is_refused(data: Path, name: str) -> None:
    os.chown(data / name, 12345, 12345)

    with pytest.raises(DataDirectoryError, match="it belongs to another user"):
        secure(data).start()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
def test_a_cluster_of_another_user_is_refused(data: Path) -> None:
    os.chown(data / "cluster.sqlite", 12345, 12345)

    with pytest.raises(DataDirectoryError, match="belongs to another user"):
        secure(data).start()


def test_a_cluster_that_cannot_be_made_private_is_refused(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, _: int) -> None:
        raise PermissionError(1, "Operation not permitted", str(path))

    monkeypatch.setattr(Path, "chmod", refuse)

    with pytest.raises(DataDirectoryError, match=r"cluster\.sqlite"):
        secure(data).start()


def fail(*_: Any) -> None:
    raise sqlite3.OperationalError("database or disk is full")


def test_a_server_knows_that_its_last_changes_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = EmbeddedAPIServer(data_dir=tmp_path)
    with server:
        assert not server.has_lost_changes
        monkeypatch.setattr(DataDirectory, "write", fail)
        assert Api(server.url).call("POST", CONFIGMAPS, configmap("a")).status == 500
    assert server.has_lost_changes
    monkeypatch.undo()
    with server:
        assert not server.has_lost_changes
    assert not server.has_lost_changes


@pytest.mark.parametrize(
    ("command", "status"), [(["true"], 1), (["false"], 1), (["sh", "-c", "exit 3"], 3)]
)
def test_the_program_fails_if_its_last_changes_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: list[str], status: int
) -> None:
    monkeypatch.setattr(DataDirectory, "write", fail)
    options = ("--insecure-loopback", "--data-dir", str(tmp_path))
    assert main(["apiserver", *options, "--", *command]) == status


def test_the_program_fails_too_when_a_signal_stops_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DataDirectory, "write", fail)
    stop = f"import os; os.kill({os.getpid()}, {int(signal.SIGTERM)}); input()"
    options = ("--insecure-loopback", "--data-dir", str(tmp_path))
    assert main(["apiserver", *options, "--", sys.executable, "-c", stop]) != 0


def test_a_failure_of_the_file_system_is_one_of_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        monkeypatch.setattr(DataDirectory, "write", fail)
        answer = Api(server.url).call("POST", CONFIGMAPS, configmap("a"))
    assert (answer.status, "No space left" in answer.body["message"]) == (500, True)
