"""Runs kubectl against the embedded server.

Promises: no configuration of the user's is read or written. A command that fails raises with what
it has printed; a command that hangs is killed after `TIMEOUT`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

TIMEOUT = 30.0
"""Seconds that a command may take; they take a quarter of one."""


class KubectlError(Exception):
    """A command that failed; ``output`` is what it has printed."""

    def __init__(self, arguments: tuple[str, ...], output: str, status: int) -> None:
        super().__init__(f"kubectl {' '.join(arguments)}: exit status {status}: {output}")
        self.output = output
        self.status = status


class Kubectl:
    """The kubectl program, told to talk to one server."""

    def __init__(self, kubeconfig: Path, home: Path, editor: Path | None = None) -> None:
        self._environment = {
            "KUBE_EDITOR": str(editor or ""),
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
        }

    def __call__(self, *arguments: str, stdin: object = None) -> str:
        """What a command prints; ``stdin`` is an object to hand it as JSON.

        Raises:
            KubectlError: it failed.
        """
        done = subprocess.run(
            ["kubectl", *arguments],
            input=json.dumps(stdin) if stdin is not None else None,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            raise KubectlError(arguments, done.stdout + done.stderr, done.returncode)
        return done.stdout

    def json(self, *arguments: str) -> Any:
        """What a command prints with ``-o json``."""
        return json.loads(self(*arguments, "-o", "json"))

    def table(self, *arguments: str) -> list[list[str]]:
        """What a command prints, as lines of cells; no cell may hold two spaces in a row."""
        lines = self(*arguments).splitlines()
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in lines]

    @contextmanager
    def following(self, *arguments: str) -> Iterator[Iterator[str]]:
        """The lines of a command that goes on printing until the block is left."""
        with subprocess.Popen(
            ["kubectl", *arguments], env=self._environment, stdout=subprocess.PIPE, text=True
        ) as process:
            guard = threading.Timer(TIMEOUT, process.kill)
            guard.start()
            try:
                assert process.stdout is not None
                yield iter(process.stdout.readline, "")
            finally:
                guard.cancel()
                process.kill()


def version() -> tuple[int, int] | None:
    """Major and minor version of the kubectl on PATH; None if there is none."""
    if shutil.which("kubectl") is None:
        return None
    done = subprocess.run(
        ["kubectl", "version", "--client", "-o", "json"],
        capture_output=True,
        check=True,
        timeout=TIMEOUT,
    )
    client = json.loads(done.stdout)["clientVersion"]
    return int(client["major"]), int(client["minor"].rstrip("+"))
