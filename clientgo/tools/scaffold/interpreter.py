"""The interpreter of a new project on this machine: the one that ran ``init``.

Promises: ``make run`` works right after ``init``, even if clientgo is only on the import path. The
choice is in ``local.mk``, which is not committed; elsewhere the Makefile makes an environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import clientgo

_NEEDED: Final = ("uvicorn", "httptools", "pytest", "prometheus_client")
"""What a project needs beside clientgo, to run on an API server in memory and to be tested."""


def local_makefile() -> str:
    """Return the text of ``local.mk``."""
    source = Path(clientgo.__file__).resolve().parents[1]
    lines = ["# How this machine runs the project; written by clientgo operator init."]
    if all(find_spec(name) for name in _NEEDED):
        lines.append(f"PYTHON ?= {sys.executable}")
        if not _finds_by_itself(source):
            lines.append(f"export PYTHONPATH := {source}:$(PYTHONPATH)")
    elif (source / "pyproject.toml").exists():
        lines.append(f"CLIENTGO := -e {source}")
    return "\n".join(lines) + "\n"


def _finds_by_itself(source: Path) -> bool:
    """Return True if a new interpreter imports this clientgo from any directory."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    found = subprocess.run(
        [sys.executable, "-c", "import clientgo; print(clientgo.__file__)"],
        cwd=Path(sys.executable).parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode == 0 and Path(found.stdout.strip()).resolve().parents[1] == source
