"""The page on the architecture names files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "clientgo"
PAGE = (ROOT / "docs/reference/architecture.md").read_text()
SERVER = (ROOT / "docs/evidence/apiserver.md").read_text()


def folders_of(package: Path) -> set[str]:
    return {path.name for path in package.iterdir() if (path / "__init__.py").exists()}


def test_the_page_shows_the_tree_first_and_is_short() -> None:
    assert PAGE.startswith("# Architecture\n\n```text\nclientgo/\n")
    assert len(PAGE.splitlines()) <= 150


def test_every_package_is_in_the_tree() -> None:
    tree = PAGE[: PAGE.index("```\n")]

    assert {name for name in folders_of(LIBRARY) if f"{name}/" not in tree} == set()


def test_every_file_in_the_walks_exists() -> None:
    walks = [
        walk for page in (PAGE, SERVER) for walk in re.split(r"^### ", page, flags=re.MULTILINE)[1:]
    ]
    start = {"A PATCH": LIBRARY / "testcluster/server"}
    named = [
        next((path for title, path in start.items() if walk.startswith(title)), LIBRARY) / name
        for walk in walks
        for name in re.findall(r"`([a-z_/]+\.py)`", walk)
    ]

    assert len(named) > 50
    assert [path for path in named if not path.is_file()] == []


def test_every_folder_of_a_package_is_in_the_table_and_exists() -> None:
    rows = re.findall(r"^\| ((?:`[a-z_]+`(?:, )?)+) \| .* \| (.*) \|$", PAGE, re.MULTILINE)
    packages = {name for names, _ in rows for name in re.findall(r"`([a-z_]+)`", names)}

    assert packages >= folders_of(LIBRARY)
    for names, text in rows:
        packages_of_row = [LIBRARY / package for package in re.findall(r"`([a-z_]+)`", names)]
        folders = {
            folder for path in packages_of_row if path.is_dir() for folder in folders_of(path)
        }
        inner = {
            folder
            for path in packages_of_row
            for outer in folders
            if (path / outer).is_dir()
            for folder in folders_of(path / outer)
        }
        named = set(re.findall(r"`([a-z_]+)/`", text))
        assert folders <= named <= folders | inner, names
