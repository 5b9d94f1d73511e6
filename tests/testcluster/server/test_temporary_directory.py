"""What a killed server leaves behind is removed by the next one."""

from __future__ import annotations

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.temporary_directory import TemporaryDirectory


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The system's directory for temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


def start_program(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """A server, and its temporary directory."""
    program = subprocess.Popen(
        [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"],
        env={**os.environ, "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert program.stdout is not None
    program.stdout.readline()
    found = re.search(r"--kubeconfig (\S+)", program.stdout.readline())
    assert found is not None
    return program, Path(found[1]).parent


def test_the_directory_of_a_killed_server_is_removed_by_the_next(temporary: Path) -> None:
    killed, abandoned = start_program(temporary)
    with killed:
        killed.send_signal(signal.SIGKILL)
    assert (abandoned / "token").exists()

    with EmbeddedAPIServer() as server:
        assert not abandoned.exists()
        assert list(temporary.iterdir()) == [server.kubeconfig.parent]


def test_the_directory_of_a_running_server_stays(temporary: Path) -> None:
    running, used = start_program(temporary)
    with running:
        with EmbeddedAPIServer():
            pass
        assert (used / "kubeconfig").exists()
        running.terminate()
        assert running.wait(30) == 0
    assert not used.exists()


def test_what_was_not_made_by_a_server_stays(temporary: Path) -> None:
    (temporary / "clientgo-apiserver-mine").mkdir()
    target = temporary / "target"
    target.mkdir()
    (target / "lock").touch()
    (temporary / "clientgo-apiserver-link").symlink_to(target)

    TemporaryDirectory().remove()

    names = {path.name for path in temporary.iterdir()}
    assert names == {"clientgo-apiserver-mine", "clientgo-apiserver-link", "target"}


def test_only_the_user_can_read_it() -> None:
    directory = TemporaryDirectory()

    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    directory.remove()
    directory.remove()
    assert not directory.path.exists()
