#!/usr/bin/env python3
"""Run the tests of the library on every CPython that is found: ``make test-matrix``.

Each Python from 3.11 to 3.14 on the path, or of pyenv, runs with the newest dependencies; 3.11
also with the oldest that pyproject.toml allows. ``PYTHONS`` names interpreters
instead, with spaces between. Left out are the recordings and the suites of other programs: they
test the embedded server, which `make test` does.

``QUICK=1`` is what `.ci/run` has time for after `make test`: some packages, on every
other CPython than the one that runs this program.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FIRST, LAST = (3, 11), (3, 14)
EXTRAS = "apiserver,kubernetes,metrics,operator,otel,schema"
QUICK = ("cache", "field", "informers", "rest", "util", "workqueue")
"""Threads, signals, sockets, copies and deep objects: where versions of Python differed."""
LEFT_OUT = (
    "conformance",
    "clients",
    "docs",
    "soak",
    "testcluster/server",
    "benchmarks",
    "packaging",
    "typing",
)


@dataclass(frozen=True)
class Environment:
    """A Python with dependencies."""

    version: tuple[int, int]
    interpreter: str
    oldest: bool = False

    @property
    def name(self) -> str:
        return "{}.{}".format(*self.version) + ("-oldest" if self.oldest else "")

    @property
    def folder(self) -> Path:
        return ROOT / ".venv-matrix" / self.name


def main() -> int:
    environments = list(_environments())
    if not environments:
        print("no", "other " * _quick() + "CPython from 3.11 to 3.14 was found", file=sys.stderr)
        return 0 if _quick() else 1
    print("testing on", ", ".join(each.name for each in environments), flush=True)
    failed = [each.name for each in environments if not _passes(each)]
    for each in environments:
        print(f"{each.name:12} {'FAILED' if each.name in failed else 'passed'}")
    return 1 if failed else 0


def _environments() -> Iterator[Environment]:
    found = interpreters()
    if _quick():
        found.pop(sys.version_info[:2], None)
    for version in sorted(found):
        if version == FIRST and not _quick():  # the oldest releases have no wheels for later ones
            yield Environment(version, found[version], oldest=True)
        yield Environment(version, found[version])


def _quick() -> bool:
    return os.environ.get("QUICK", "") not in ("", "0")


def interpreters() -> dict[tuple[int, int], str]:
    """Return a path for each version of CPython that is found."""
    found: dict[tuple[int, int], str] = {}
    for candidate in _candidates():
        version = _version(candidate)
        if version is not None and FIRST <= version <= LAST:
            found.setdefault(version, candidate)
    return found


def _candidates() -> Iterator[str]:
    if named := os.environ.get("PYTHONS", "").split():
        yield from named
        return
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    for minor in range(FIRST[1], LAST[1] + 1):
        yield from map(str, sorted(pyenv.glob(f"3.{minor}.*/bin/python"), reverse=True))
        if on_path := shutil.which(f"python3.{minor}"):
            yield on_path


def _version(interpreter: str) -> tuple[int, int] | None:
    """The version of a CPython that can make virtual environments; None for anything else."""
    program = "import sys, venv, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        done = subprocess.run(
            [interpreter, "-c", program], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    name, major, minor = done.stdout.split()
    return (int(major), int(minor)) if name == "cpython" else None


def _passes(environment: Environment) -> bool:
    print(f"== {environment.name} ({environment.interpreter})", flush=True)
    python = _install(environment)
    if _quick():
        chosen = [f"tests/{name}" for name in QUICK]
    else:
        chosen = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    command = [python, "-m", "pytest", "-q", "-n", "3", "--dist", "worksteal", *chosen]
    return not subprocess.run(
        [*command, *shlex.split(os.environ.get("PYTEST_ARGS", ""))], cwd=ROOT
    ).returncode


def _install(environment: Environment) -> str:
    python = str(environment.folder / "bin" / "python")
    stamp = environment.folder / ".installed"
    project = ROOT / "pyproject.toml"
    if stamp.exists() and stamp.stat().st_mtime > project.stat().st_mtime:
        return python
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = [*_oldest(project)] if environment.oldest else ["--upgrade"]
    subprocess.run(
        [environment.interpreter, "-m", "venv", "--clear", "--upgrade-deps", environment.folder],
        check=True,
    )
    subprocess.run([*pip, "-e", f".[{EXTRAS}]", "--group", "test", *pinned], cwd=ROOT, check=True)
    stamp.touch()
    return python


def _oldest(project: Path) -> Iterator[str]:
    """The lower bounds of all dependencies that users get, as exact versions."""
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    for requirement in [
        *declared["dependencies"],
        *(r for name in EXTRAS.split(",") for r in extras[name]),
    ]:
        if bound := re.match(r"([\w.-]+)>=([\w.]+)", requirement):
            yield f"{bound[1]}=={bound[2]}"


if __name__ == "__main__":
    sys.exit(main())
