"""The Dockerfiles, read as far as that goes without a daemon.

The sizes in docs/evidence/dependencies.md are of their build stages, run by hand.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.packaging.installed import ROOT, required

_TEMPLATES: Final = ROOT / "clientgo/tools/scaffold/templates"
CONSTRAINTS: Final = ROOT / "constraints.txt"


@dataclass(frozen=True)
class Image:
    dockerfile: Path
    ignore: Path

    def __str__(self) -> str:
        return str(self.dockerfile.relative_to(ROOT))

    def stages(self) -> list[list[tuple[str, str]]]:
        """The instructions of each stage."""
        text = re.sub(r"^#.*\n", "", self.dockerfile.read_text(), flags=re.MULTILINE)
        text = text.replace("\\\n", " ")
        instructions = [
            (line.split()[0], " ".join(line.split()[1:])) for line in text.splitlines() if line
        ]
        starts = [n for n, (word, _) in enumerate(instructions) if word == "FROM"]
        return [instructions[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]

    def only(self, word: str) -> str:
        """The one such instruction of the last stage."""
        (found,) = (value for each, value in self.stages()[-1] if each == word)
        return found


IMAGES: Final = [
    Image(ROOT / "Dockerfile", ROOT / ".dockerignore"),
    Image(ROOT / "examples/cronjob/Dockerfile", ROOT / "examples/cronjob/Dockerfile.dockerignore"),
    Image(_TEMPLATES / "Dockerfile.tmpl", _TEMPLATES / "dockerignore.tmpl"),
]
images = pytest.mark.parametrize("image", IMAGES, ids=str)


@images
def test_packages_are_downloaded_with_hashes_and_installed_without_an_index(image: Image) -> None:
    build, _ = image.stages()
    pip = [value for word, value in build if word == "RUN" and value.startswith("pip ")]

    assert [command.split()[1] for command in pip if "--python" not in command] == ["download"]
    assert "--require-hashes" in pip[0]
    assert "--no-deps" in pip[0]
    assert pip[0].endswith("-r constraints.txt")
    assert all("--no-index --find-links /wheels" in command for command in pip[1:])


@images
def test_the_program_is_alone_in_its_image_and_not_root(image: Image) -> None:
    """OP-GEN-23"""
    _, last = image.stages()
    words = [word for word, _ in last]

    assert next(value for word, value in last if word == "COPY") == "--from=build /venv /venv"
    assert "RUN" not in words
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", image.only("USER"))
    assert "PYTHONDONTWRITEBYTECODE=1" in image.only("ENV"), "the root filesystem may be read-only"
    assert words.index("USER") < words.index("ENTRYPOINT")


@images
def test_the_health_check_asks_the_port_on_which_the_program_answers(image: Image) -> None:
    (port,) = re.findall(r"127\.0\.0\.1(:\d+)/healthz", image.only("HEALTHCHECK"))
    (module,) = re.findall(r'"-m", "([\w.{}]+)"\]', image.only("ENTRYPOINT"))

    if module == "{{package}}":
        main = (_TEMPLATES / "main.py.tmpl").read_text()
        assert f'health="{port}"' in main
    elif module == "examples.cronjob":
        assert f'"--health", default="{port}"' in (ROOT / "examples/cronjob/main.py").read_text()
    else:
        assert image.only("CMD") == f'["--health-probe-bind-address={port}"]'
    assert module == "{{package}}" or find_spec(module)


@images
def test_what_is_copied_exists_and_is_in_the_context(image: Image) -> None:
    allowed = [line[1:] for line in image.ignore.read_text().splitlines() if line.startswith("!")]
    sources = [
        source
        for stage in image.stages()
        for word, value in stage
        if word == "COPY" and "--from" not in value
        for source in value.split()[:-1]
    ]

    for source in sources:
        if source != ".":
            assert any(fnmatch(source, pattern) for pattern in allowed), source
        if image.dockerfile.suffix != ".tmpl":
            assert (ROOT / source).exists()


def pins() -> dict[str, str]:
    """The version of each package of constraints.txt. Each has a hash."""
    entries = CONSTRAINTS.read_text().replace("\\\n", " ").splitlines()
    for entry in entries:
        assert re.fullmatch(r"\S+==\S+( +--hash=sha256:[0-9a-f]{64})+", entry), entry[:80]
    return dict(entry.split()[0].split("==") for entry in entries)


def test_every_package_of_an_image_has_its_hashes() -> None:
    """With all that they need, as the metadata of what is installed here says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    direct = [
        *project["build-system"]["requires"],
        *project["project"]["dependencies"],
        *(requirement for extra in ("metrics", "operator") for requirement in extras[extra]),
        "tzdata",
    ]
    pinned = pins()

    for text in direct:
        requirement = Requirement(text)
        assert requirement.specifier.contains(pinned[canonicalize_name(requirement.name)]), text
        for needed in required(distribution(requirement.name), ()):
            assert canonicalize_name(needed.name) in pinned, needed.name


def test_a_new_project_has_the_same_hashes() -> None:
    assert (_TEMPLATES / "constraints.txt.tmpl").read_text() == CONSTRAINTS.read_text()


@pytest.mark.parametrize("image", IMAGES[:2], ids=str)
def test_what_the_build_reads_is_copied(image: Image) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    read = {"pyproject.toml", project["project"]["readme"], *project["project"]["license-files"]}
    copied = {
        source
        for word, value in image.stages()[0]
        if word == "COPY"
        for source in value.split()[:-1]
    }

    assert copied == {"constraints.txt", *read, *packages}
