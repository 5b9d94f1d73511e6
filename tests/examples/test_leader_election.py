"""The page on elections shows the example as it is, and a standby takes over when it is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.apiserver import EmbeddedAPIServer

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "leader_election.py"


def test_the_page_shows_the_example_as_it_is() -> None:
    page = (ROOT / "docs" / "leader-election.md").read_text()

    assert f"```python\n{EXAMPLE.read_text()}```" in page


def _start(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(EXAMPLE), url]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, bufsize=1
    )


def _read_until(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if text in line)


@pytest.fixture
def processes() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate(timeout=30)


def test_a_standby_works_when_the_leader_was_stopped(
    processes: list[subprocess.Popen[str]],
) -> None:
    """LE-18."""
    with EmbeddedAPIServer() as server:
        processes.append(leader := _start(server.url))
        assert "term 0" in _read_until(leader, "works")
        processes.append(standby := _start(server.url))
        _read_until(standby, "sees")

        leader.send_signal(signal.SIGTERM)

        assert "led" in _read_until(leader, "ends and")
        assert "term 1" in _read_until(standby, "works")
        assert leader.wait(timeout=30) == 0
