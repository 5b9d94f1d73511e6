"""The wheel, installed into virtual environments that hold what its metadata asks for.

The requirements are not downloaded: each environment links the distributions of the development
environment that the wheel's metadata names for the chosen extras, with all that they require, and
nothing else. So a requirement that the metadata does not name is missing, as for a user.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement

ROOT: Final = Path(__file__).parents[2]
_SOURCES: Final = (
    "pyproject.toml",
    "PACKAGE.md",
    "LICENSE",
    "NOTICE",
    "clientgo",
    "sample_controller",
)


def build_wheel(directory: Path) -> Path:
    """Build the wheel from a copy of the sources; return its path."""
    sources, wheels = directory / "sources", directory / "wheels"
    sources.mkdir()
    wheels.mkdir()
    for name in _SOURCES:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, sources / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, sources / name)
    build = f"from hatchling.build import build_wheel; build_wheel({str(wheels)!r})"
    _run(sys.executable, "-c", build, cwd=sources)
    (wheel,) = wheels.iterdir()
    return wheel


class Installed:
    """A virtual environment with the wheel and the packages that it needs with some extras."""

    def __init__(self, directory: Path, *extras: str) -> None:
        self.directory = directory
        self._extras = extras
        venv.create(directory, with_pip=False, symlinks=True)
        self.python = directory / "bin" / "python"
        (self._site,) = (directory / "lib").glob("python3*/site-packages")

    def install(self, wheel: Path) -> None:
        """Install the wheel with pip."""
        _run(
            *(sys.executable, "-m", "pip", "--python", str(self.python), "install", "--quiet"),
            *("--no-deps", "--no-index", "--no-compile", "--disable-pip-version-check"),
            str(wheel),
        )
        self._link_all(required(Distribution.at(self._metadata()), self._extras))

    def install_as(self, other: Installed) -> None:
        """Link what another environment has of the wheel, which is faster."""
        for path in [*other._site.glob("clientgo*"), other._site / "sample_controller"]:
            (self._site / path.name).symlink_to(path)
        self._link_all(required(Distribution.at(self._metadata()), self._extras))

    def add_distribution(self, name: str) -> None:
        """Add a package that is no part of an extra, with all that it requires."""
        self._link_all([distribution(name), *required(distribution(name), ())])

    def run(self, *arguments: str, timeout: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run Python with these arguments, outside of the sources."""
        return subprocess.run(
            [str(self.python), "-I", *arguments],
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def started(self, file: str, **environment: str) -> subprocess.Popen[str]:
        """Start a file in this environment, outside of the sources."""
        return subprocess.Popen(
            [str(self.python), "-I", file],
            cwd=self.directory,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the installed program ``clientgo``."""
        return self.run(str(self.directory / "bin" / "clientgo"), *arguments)

    def _metadata(self) -> Path:
        (found,) = self._site.glob("clientgo-*.dist-info")
        return found

    def _link_all(self, needed: Iterable[Distribution]) -> None:
        for dist in needed:
            for top in {file.parts[0] for file in dist.files or () if ".." not in file.parts}:
                link, target = self._site / top, Path(str(dist.locate_file(top)))
                if not link.exists() and target.exists():
                    link.symlink_to(target)


def required(dist: Distribution, extras: tuple[str, ...]) -> Iterator[Distribution]:
    """All distributions that one requires with these extras, found by their metadata."""
    todo, seen = [(dist, extras)], set()
    while todo:
        dist, extras = todo.pop()
        for text in dist.requires or ():
            requirement = Requirement(text)
            applies = requirement.marker is None or any(
                requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras)
            )
            if not applies:
                continue
            if requirement.name == "clientgo":
                todo.append((dist, tuple(requirement.extras)))
                continue
            found = distribution(requirement.name)
            assert requirement.specifier.contains(found.version, prereleases=True), requirement
            if (requirement.name, *sorted(requirement.extras)) not in seen:
                seen.add((requirement.name, *sorted(requirement.extras)))
                yield found
                todo.append((found, tuple(requirement.extras)))


def files_of(name: str) -> list[Path]:
    """The files of a distribution of the development environment, with bytecode."""
    found = distribution(name)
    return [Path(str(found.locate_file(file))) for file in found.files or ()]


def _run(*command: str, cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
