#!/usr/bin/env python3
"""Run the tests of the library on every CPython that is found: ``make test-matrix``.

Each Python from 3.11 to 3.14 on the path, or of pyenv, runs with the newest dependencies; 3.11
also with the oldest that pyproject.toml allows. ``PYTHONS`` names interpreters
instead, with spaces between. Left out are the recordings and the suites of other programs: they
test the embedded server, which `make test` does; and what needs the tools of the documentation.

Free-threaded CPython 3.14 runs the tests of the library without its global lock, and without
google-re2, which has no wheels for it.

``QUICK=1`` is what `.ci/run` has time for after `make test`: some packages, on every
other CPython than the one that runs this program, but for the free-threaded one.
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
FREE_THREADED = (
    "aio",
    "cache",
    "client",
    "control_loop",
    "informers",
    "leaderelection",
    "meta",
    "models",
    "observe",
    "record",
    "rest",
    "sharding",
    "util",
    "workqueue",
)
"""What runs threads: the tests of these packages run without the global lock."""
NOT_FREE_THREADED = (
    # need google-re2, for patterns in schemas
    "aio/test_client.py::test_a_command_in_a_container_awaits",
    "client/streams/test_exec.py",
    "client/streams/test_logs.py",
    "client/streams/test_port_forward.py",
    "observe/trace/test_life_of_a_foo.py",
    "observe/trace/test_outputs.py::test_the_example_prints_the_way_of_a_key",
    "util/text/test_go_regexp.py",
    # There a thread allocates more, and a collection begins when a quarter of the heap is new.
    "workqueue/test_memory.py",
    "workqueue/test_reentrance.py::test_a_finalizer_that_the_collector_runs_inside_the_queue_may_add",
)
LEFT_OUT = (
    "conformance",
    "clients",
    "docs",
    "soak",
    "testcluster/server",
    "tools/study/lessons/test_site.py",
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
    free_threaded: bool = False

    @property
    def name(self) -> str:
        kind = "t" if self.free_threaded else "-oldest" if self.oldest else ""
        return "{}.{}".format(*self.version) + kind

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
    if not _quick():
        for version, interpreter in interpreters(free_threaded=True).items():
            if version == LAST:  # the dependencies have no wheels for earlier ones
                yield Environment(version, interpreter, free_threaded=True)


def _quick() -> bool:
    return os.environ.get("QUICK", "") not in ("", "0")


def interpreters(*, free_threaded: bool = False) -> dict[tuple[int, int], str]:
    """Return a path for each version of CPython that is found."""
    found: dict[tuple[int, int], str] = {}
    for candidate in _candidates():
        version = _version(candidate, free_threaded)
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
        for name in (f"python3.{minor}", f"python3.{minor}t"):
            if on_path := shutil.which(name):
                yield on_path


def _version(interpreter: str, free_threaded: bool) -> tuple[int, int] | None:
    """The version of a CPython that can make virtual environments; None for anything else."""
    program = (
        "import sys, sysconfig, venv, ensurepip; print(sys.implementation.name, "
        "sysconfig.get_config_var('Py_GIL_DISABLED') or 0, *sys.version_info[:2])"
    )
    try:
        done = subprocess.run(
            [interpreter, "-c", program], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    name, without_lock, major, minor = done.stdout.split()
    is_wanted = name == "cpython" and bool(int(without_lock)) == free_threaded
    return (int(major), int(minor)) if is_wanted else None


def _passes(environment: Environment) -> bool:
    print(f"== {environment.name} ({environment.interpreter})", flush=True)
    python = _install(environment)
    variables = dict(os.environ)
    if environment.free_threaded:
        chosen = [f"tests/{name}" for name in FREE_THREADED]
        chosen += [f"--deselect=tests/{name}" for name in NOT_FREE_THREADED]
        variables["PYTHON_GIL"] = "0"  # also if an extension module asks for the lock
    elif _quick():
        chosen = [f"tests/{name}" for name in QUICK]
    else:
        chosen = [f"--ignore=tests/{name}" for name in LEFT_OUT]
    command = [python, "-m", "pytest", "-q", "-n", "3", "--dist", "worksteal", *chosen]
    return not subprocess.run(
        [*command, *shlex.split(os.environ.get("PYTEST_ARGS", ""))], cwd=ROOT, env=variables
    ).returncode


def _install(environment: Environment) -> str:
    python = str(environment.folder / "bin" / "python")
    stamp = environment.folder / ".installed"
    project = ROOT / "pyproject.toml"
    if stamp.exists() and stamp.stat().st_mtime > project.stat().st_mtime:
        return python
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pinned = [*_oldest(project)] if environment.oldest else ["--upgrade"]
    wanted = [*_with_wheels(project)] if environment.free_threaded else [f".[{EXTRAS}]"]
    subprocess.run(
        [environment.interpreter, "-m", "venv", "--clear", "--upgrade-deps", environment.folder],
        check=True,
    )
    subprocess.run([*pip, "--group", "test", *pinned, "-e", *wanted], cwd=ROOT, check=True)
    stamp.touch()
    return python


def _oldest(project: Path) -> Iterator[str]:
    """The lower bounds of all dependencies that users get, as exact versions."""
    for requirement in _requirements(project):
        if bound := re.match(r"([\w.-]+)>=([\w.]+)", requirement):
            yield f"{bound[1]}=={bound[2]}"


def _with_wheels(project: Path) -> Iterator[str]:
    """The project, and the dependencies that have wheels for free-threaded CPython."""
    yield ".[stream]"
    for requirement in _requirements(project):
        if not requirement.startswith(("google-re2", "clientgo[")):
            yield requirement


def _requirements(project: Path) -> list[str]:
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    return [
        *declared["dependencies"],
        *(requirement for name in EXTRAS.split(",") for requirement in extras[name]),
    ]


if __name__ == "__main__":
    sys.exit(main())
