"""The interpreter of a new project on this machine: the one that ran ``init``.

Promises: ``make run`` works right after ``init``, even if clientgo is only on the import path. The
choice is in ``local.mk``, which is not committed; elsewhere the Makefile makes an environment. No
package index has clientgo: ``local.mk`` says from where this one came.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import clientgo

_NEEDED: Final = ("uvicorn", "httptools", "pytest", "prometheus_client")
"""What a project needs beside clientgo, to run on an API server in memory and to be tested."""


def local_makefile() -> str:
    """Return the text of ``local.mk``."""
    source = _source()
    lines = ["# How this machine runs the project; written by clientgo operator init."]
    if url := clientgo_url():
        lines.append(f"CLIENTGO ?= {url}")
    if _is_used():
        lines.append(f"PYTHON ?= {sys.executable}")
        if not _finds_by_itself(source):
            lines.append(f"export PYTHONPATH := {source}:$(PYTHONPATH)")
    return "\n".join(lines) + "\n"


def clientgo_url() -> str:
    """Return from where pip can install this clientgo; empty if that is not known.

    It is the directory of the sources, or what was given to pip: a wheel, or a commit.
    """
    source = _source()
    if (source / "pyproject.toml").exists():
        return source.as_uri()
    try:
        recorded = distribution("clientgo").read_text("direct_url.json")
    except PackageNotFoundError:
        return ""
    origin = json.loads(recorded or "{}")
    if repository := origin.get("vcs_info"):
        return f"{repository['vcs']}+{origin['url']}@{repository['commit_id']}"
    return str(origin.get("url", ""))


def types_hint() -> str:
    """Say how type checkers see the types of this clientgo.

    Empty if they do, or if a new project does not use this interpreter. Type checkers look into the
    directories of an interpreter's path, and follow no import hook.
    """
    if not _is_used():
        return ""
    source = _source()
    directories = _printed_by_a_new_interpreter("import sys; print(*sys.path, sep='\\n')")
    if source in {Path(line).resolve() for line in directories.splitlines() if line}:
        return ""
    return (
        "type checkers and editors do not see the types of this clientgo; they do after: "
        f"{sys.executable} -m pip install -e {source}"
    )


def _source() -> Path:
    """Return the directory from which this clientgo is imported."""
    return Path(clientgo.__file__).resolve().parents[1]


def _is_used() -> bool:
    """Return True if a new project uses this interpreter, and makes no environment."""
    return all(find_spec(name) for name in _NEEDED)


def _finds_by_itself(source: Path) -> bool:
    """Return True if a new interpreter imports this clientgo from any directory."""
    found = _printed_by_a_new_interpreter("import clientgo; print(clientgo.__file__)")
    return bool(found) and Path(found).resolve().parents[1] == source


def _printed_by_a_new_interpreter(code: str) -> str:
    """Return what code prints, without the import path of this process; empty if it fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(sys.executable).parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() if done.returncode == 0 else ""
