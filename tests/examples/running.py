"""Running an example as its user does: in a process of its own.

An example that logs a warning or an error fails its test, whatever else it prints.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from clientgo.testcluster.server import EmbeddedAPIServer

ROOT: Final = Path(__file__).parents[2]

_HARMLESS: Final = re.compile(r"\S+Z (DEBUG|INFO) |The API server warns: |$")
"""What standard error may have: lines of a log below WARNING, and what the server says of objects.
Without a set-up, Python writes warnings there as they are."""


def printed_by(example: str, *arguments: str, env: Mapping[str, str] | None = None) -> list[str]:
    """The lines that an example prints until it ends well, without a warning."""
    with Running(example, *arguments, env=env) as running:
        return running.finish()


def kubeconfig_of(server: EmbeddedAPIServer) -> dict[str, str]:
    """The environment of a program that uses this server."""
    return {"KUBECONFIG": str(server.kubeconfig)}


class Running:
    """A process of an example: a file in ``examples``, or a module such as ``webpage``."""

    def __init__(self, example: str, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        file = [str(ROOT / "examples" / example)]
        self._stderr = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed in __exit__
        self._process = subprocess.Popen(
            [
                sys.executable,
                *(file if example.endswith(".py") else ["-m", f"examples.{example}"]),
                *arguments,
            ],
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
        )

    def readline(self) -> str:
        """The next line that it prints; fails if there is none."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it has ended: {self._said()}"
        return line.rstrip("\n")

    def read_until(self, text: str) -> str:
        """The next line that has this text."""
        while text not in (line := self.readline()):
            pass
        return line

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stop(self) -> list[str]:
        """Press Ctrl-C, and return what else it prints; see :meth:`finish`."""
        self.send(signal.SIGINT)
        return self.finish()

    def finish(self) -> list[str]:
        """Wait for the end; fails unless it ends well and has logged no warning or error."""
        output, _ = self._process.communicate(timeout=150)
        said = self._said()
        assert self._process.returncode == 0, said
        complaints = [line for line in said.splitlines() if not _HARMLESS.match(line)]
        assert complaints == [], "\n".join(complaints)
        lines: list[str] = output.splitlines()
        return lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate(timeout=30)
        self._stderr.close()

    def _said(self) -> str:
        self._stderr.seek(0)
        return self._stderr.read()
