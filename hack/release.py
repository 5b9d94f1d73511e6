"""Build and check a release: ``make release``. Publishes nothing.

``dist/`` gets the wheel and the source archive, an SBOM (CycloneDX) of an installation with all
extras, and ``SHA256SUMS``. Before that, in this order:

- the tag of the commit is the version, if it has one; a version that is no ``.dev`` needs it, and a
  date in the changelog;
- the source archive has every file of the repository, and building it again gives the same bytes;
- twine and check-wheel-contents accept both files;
- a part of the tests passes in the unpacked source archive;
- the wheel is installed on each CPython that is found, with what ``apiserver`` brings and nothing
  else, and runs the first controller of the documentation.

pip needs an index. ``SOURCE_DATE_EPOCH`` is the time of the commit unless it is set.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from clientgo import __version__
from hack.test_matrix import interpreters
from tests.docs.pages import blocks_of
from tests.docs.running import runs

ROOT: Final = Path(__file__).parents[1]
DIST: Final = ROOT / "dist"
PAGE: Final = ROOT / "docs/library/first-controller.md"
TESTED: Final = ("tests/workqueue", "tests/cache", "tests/packaging")
"""The tests that run in the source archive."""


class ReleaseError(Exception):
    """What must hold before a release does not."""


def main() -> int:
    try:
        with tempfile.TemporaryDirectory() as directory:
            release(Path(directory))
    except ReleaseError as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def release(directory: Path) -> None:
    with step("version"):
        check_version(__version__, tags_of_commit(), changed_files())
        check_changelog(__version__, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    with step("build, and build again from the source archive"):
        wheel, archive = build(directory)
    with step("contents"):
        check_contents(wheel, archive)
    with step(f"tests in the source archive: {', '.join(TESTED)}"):
        run(sys.executable, "-m", "pytest", "-q", "-n", "2", *TESTED, cwd=directory / "unpacked")
    for version, interpreter in sorted(interpreters().items()):
        with step("install on Python {}.{}, run the first controller".format(*version)):
            python = environment(directory / "python{}.{}".format(*version), interpreter)
            install(python, wheel, "apiserver")
            run_first_controller(python)
    with step("SBOM"):
        python = environment(directory / "all", sys.executable)
        install(python, wheel, ",".join(sorted(extras())))
        describe(python, DIST / f"{wheel.stem}.cdx.json")
    write_checksums()


def check_version(version: str, tags: list[str], changed: list[str]) -> None:
    """Raise :class:`ReleaseError` unless the commit can be released as this version."""
    if changed:
        raise ReleaseError(f"commit or remove these first: {', '.join(changed)}")
    releases = [tag for tag in tags if re.fullmatch(r"v\d.*", tag)]
    if wrong := [tag for tag in releases if tag != f"v{version}"]:
        raise ReleaseError(
            f"the tag {wrong[0]} differs from clientgo.__version__, which is {version}"
        )
    if ".dev" not in version and not releases:
        raise ReleaseError(f"version {version} needs its tag: git tag v{version}")
    if not releases:
        print(f"{version} has no tag: this is no release")


def check_changelog(version: str, text: str) -> None:
    """Raise :class:`ReleaseError` if a release has no date in the changelog."""
    dated = re.search(rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    if ".dev" not in version and not dated:
        raise ReleaseError(f"CHANGELOG.md has no line '## {version} - YYYY-MM-DD'")


def tags_of_commit() -> list[str]:
    return _git("tag", "--points-at", "HEAD").split()


def changed_files() -> list[str]:
    return [line[3:] for line in _git("status", "--porcelain").splitlines()]


def build(directory: Path) -> tuple[Path, Path]:
    """Build into ``dist/``; return the wheel and the source archive."""
    os.environ.setdefault("SOURCE_DATE_EPOCH", _git("log", "-1", "--format=%ct").strip())
    for old in DIST.glob("*"):
        old.unlink()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(DIST), str(ROOT))
    (wheel,), (archive,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        files.extractall(directory, filter="data")
    unpacked = (directory / archive.name.removesuffix(".tar.gz")).rename(directory / "unpacked")
    again = directory / "again"
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(again), str(unpacked))
    for file in (wheel, archive):
        if file.read_bytes() != (again / file.name).read_bytes():
            raise ReleaseError(f"{file.name} differs if it is built again")
    return wheel, archive


def check_contents(wheel: Path, archive: Path) -> None:
    with tarfile.open(archive) as files:
        packed = {name.partition("/")[2] for name in files.getnames()}
    if missing := set(_git("ls-files").splitlines()) - packed:
        raise ReleaseError(f"the source archive does not have {', '.join(sorted(missing))}")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(archive))
    run(str(Path(sys.executable).with_name("check-wheel-contents")), str(wheel))


def environment(directory: Path, interpreter: str) -> Path:
    """Make an empty virtual environment; return its Python."""
    run(interpreter, "-m", "venv", str(directory))
    return directory / "bin" / "python"


def install(python: Path, wheel: Path, extras: str) -> None:
    pip = (str(python), "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", f"{wheel}[{extras}]")
    run(*pip, "check")


def run_first_controller(python: Path) -> None:
    """Run the blocks of the page as a program; raise :class:`ReleaseError` for another output."""
    blocks = blocks_of(PAGE)
    program = python.parents[1] / "first_controller.py"
    program.write_text("\n".join(block.code for block in blocks if runs(block)))
    expected = "".join(block.code for block in blocks if block.mark == "output")
    server = (str(python), "-I", "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0", "--")
    printed = run(*server, str(python), "-I", str(program), cwd=program.parent)
    if not printed.endswith(expected):
        raise ReleaseError(f"{PAGE.name} printed {printed!r}, not {expected!r}")


def extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return list(project["optional-dependencies"])


def describe(python: Path, sbom: Path) -> None:
    """Write the SBOM of an environment, without pip and setuptools, which Python brings."""
    run(str(python), "-m", "pip", "uninstall", "--quiet", "--yes", "pip", "setuptools")
    project = python.parents[1] / "pyproject.toml"
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project.write_text(text.replace('dynamic = ["version"]', f'version = "{__version__}"'))
    program = str(Path(sys.executable).with_name("cyclonedx-py"))
    subject = ("--pyproject", str(project), "--mc-type", "library")
    output = ("--output-reproducible", "--output-format", "JSON", "--output-file", str(sbom))
    run(program, "environment", *subject, *output, str(python))


def write_checksums() -> None:
    """Write ``SHA256SUMS``, for ``sha256sum --check``."""
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(DIST.iterdir())
    ]
    (DIST / "SHA256SUMS").write_text("".join(lines))
    print("".join(lines), end="")


@contextmanager
def step(name: str) -> Iterator[None]:
    print(f"== {name}", flush=True)
    began = time.monotonic()
    yield
    print(f"   {time.monotonic() - began:.1f} s", flush=True)


def run(*command: str, **options: Any) -> str:
    """Run a command and return what it prints. Raises :class:`ReleaseError` with its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _git(*arguments: str) -> str:
    return run("git", *arguments, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
