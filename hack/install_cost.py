#!/usr/bin/env python3
"""Print what an installation of clientgo costs, as the table of docs/evidence/dependencies.md.

``python -m hack.install_cost [SOURCE]`` installs SOURCE (this repository, or what pip takes) with
no extra and with some of them, each into a virtual environment of its own. Sizes are those of
site-packages without pip, with bytecode. Times are those of the processor, memory is the growth of
the resident set; both are the least of several processes. Linux only; pip needs an index.
"""

from __future__ import annotations

import pkgutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
EXTRAS: Final = ("", "metrics", "stream", "operator", "kubernetes", "apiserver")
GROUPS: Final = ("observe", "testcluster", "util")
"""Packages that only hold public packages."""
_RUNS: Final = 7

_PROGRAM: Final = """
import importlib, sys, time
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before, started = resident(), time.process_time()
try:
    package = importlib.import_module(sys.argv[1])
    names = [getattr(package, name) for name in getattr(package, "__all__", ())]
except ModuleNotFoundError:
    sys.exit()
if not names and hasattr(package, "__path__"):
    sys.exit()
print(time.process_time() - started, resident() - before)
"""


class Import(NamedTuple):
    """What it costs a process to import a package: seconds, and bytes of memory."""

    seconds: float
    resident: int


class Environment:
    """A virtual environment with clientgo and one extra of it."""

    def __init__(self, directory: Path, source: str, extra: str) -> None:
        self._python = directory / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", directory], check=True)
        target = f"{source}[{extra}]" if extra else source
        self._run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", target)
        self._run("-m", "pip", "uninstall", "--quiet", "--yes", "setuptools", "pip")
        (self._site,) = (directory / "lib").glob("python3*/site-packages")

    def size(self) -> int:
        """Return the bytes of all packages."""
        return sum(path.stat().st_size for path in self._site.rglob("*") if path.is_file())

    def packages(self) -> list[str]:
        """Return the names of the packages that were installed with clientgo."""
        names = (path.name.partition("-")[0] for path in self._site.glob("*.dist-info"))
        return sorted(name for name in names if name != "clientgo")

    def importing(self, package: str) -> Import | None:
        """Return the least that all names of a package cost in several processes.

        None if it has no names, or an extra of it is missing.
        """
        runs = [self._run("-I", "-c", _PROGRAM, package).split() for _ in range(_RUNS)]
        if not all(runs):
            return None
        return Import(min(float(run[0]) for run in runs), min(int(run[1]) for run in runs))

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [self._python, *arguments], check=True, stdout=subprocess.PIPE, text=True
        )
        return done.stdout


def tables(source: str, directory: Path) -> Iterator[str]:
    """Yield the lines of both tables."""
    made = {extra: Environment(directory / (extra or "none"), source, extra) for extra in EXTRAS}
    yield "| installed | MB | packages besides clientgo |"
    yield "|---|---|---|"
    for extra, environment in made.items():
        names = environment.packages()
        listed = ": " + ", ".join(names) if len(names) < 8 else ""
        name = f"clientgo[{extra}]" if extra else "clientgo"
        yield f"| `{name}` | {environment.size() / 1e6:.1f} | {len(names)}{listed} |"
    yield ""
    yield "| `import` | ms | MB of memory |"
    yield "|---|---|---|"
    for name in public_packages():
        costs = ((made[extra].importing(name), extra) for extra in ("", "apiserver", "metrics"))
        for cost, extra in costs:
            if cost:
                needed = f", with `{extra}`" if extra else ""
                yield f"| `{name}`{needed} | {cost.seconds * 1e3:.0f} | {cost.resident / 1e6:.1f} |"
                break


def public_packages() -> Iterator[str]:
    """Yield the names of all packages that programs import."""
    for group in ("", *GROUPS):
        folder = ROOT / "clientgo" / group
        for found in pkgutil.iter_modules([str(folder)]):
            if found.name not in (*GROUPS, "__main__", "api", "tools"):
                yield ".".join(filter(None, ("clientgo", group, found.name)))
    yield "clientgo.api.core_v1"


def main() -> None:
    source = sys.argv[1] if len(sys.argv) > 1 else str(ROOT)
    with tempfile.TemporaryDirectory() as directory:
        for line in tables(source, Path(directory)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
