"""The production example in a process of its own, as a pod runs it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self
from urllib.error import HTTPError
from urllib.request import urlopen

import yaml

ROOT: Final = Path(__file__).parents[3]
DEPLOY: Final = ROOT / "examples/production_controller/deploy"
FREE_PORTS: Final = (
    "--health-probe-bind-address=127.0.0.1:0",
    "--metrics-bind-address=127.0.0.1:0",
)
"""Appended where several processes share a machine: the last one of an option counts."""

WORKS: Final = "starting 2 workers"
STANDS_BY: Final = "stands by"


def deployment() -> dict[str, Any]:
    """The manifest by which it runs in a cluster."""
    manifest: dict[str, Any] = yaml.safe_load((DEPLOY / "deployment.yaml").read_text())
    return manifest


def container_command() -> list[str]:
    """What a container of the Deployment runs: the image's entry point, with the arguments."""
    (container,) = deployment()["spec"]["template"]["spec"]["containers"]
    entrypoint = json.loads(dockerfile()["ENTRYPOINT"][-1])
    return [*entrypoint, *container["args"]]


def dockerfile() -> dict[str, list[str]]:
    """The arguments of each instruction, in their order."""
    found: dict[str, list[str]] = {}
    for name, arguments in re.findall(r"^([A-Z]+) (.+)$", (ROOT / "Dockerfile").read_text(), re.M):
        found.setdefault(name, []).append(arguments)
    return found


class Program:
    """A running process and the lines that it has logged, as JSON. A context manager."""

    def __init__(self, command: Sequence[str], kubeconfig: Path, directory: Path) -> None:
        python, *arguments = command
        assert Path(python).name == "python"
        self._popen = subprocess.Popen(
            [sys.executable, *arguments],
            env={
                "KUBECONFIG": str(kubeconfig),
                "PYTHONPATH": str(ROOT),
                "PATH": os.environ["PATH"],
            },
            cwd=directory,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, message: str, timeout: float = 60.0) -> dict[str, Any]:
        """Block until a message has been logged that contains that; returns its line."""

        def found() -> dict[str, Any] | None:
            logged = (json.loads(line) for line in self._lines)
            return next((line for line in logged if message in line["message"]), None)

        with self._changed:
            line = self._changed.wait_for(found, timeout)
            assert line is not None, f"no {message!r} in:\n" + "\n".join(self._lines)
            return line

    def lines(self) -> list[str]:
        with self._changed:
            return list(self._lines)

    def get(self, name: str, path: str) -> tuple[int, str]:
        """Ask one of its servers, ``health`` or ``metrics``."""
        url = self.wait_for(f"{name}: serving")["message"].rpartition(" ")[2]
        try:
            with urlopen(url + path, timeout=30) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def wait(self, timeout: float = 60.0) -> int:
        """Block until it has ended; returns its exit code."""
        code = self._popen.wait(timeout)
        self._reader.join(30)
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._popen.kill()
        self._popen.wait(30)
        self._reader.join(30)
        assert self._popen.stderr is not None
        self._popen.stderr.close()

    def _read(self) -> None:
        assert self._popen.stderr is not None
        for line in self._popen.stderr:
            with self._changed:
                self._lines.append(line.rstrip())
                self._changed.notify_all()
