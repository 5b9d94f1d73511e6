"""The page on the architecture names files and folders that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/reference/architecture.md").read_text()
PACKAGES = {path.name for path in (ROOT / "clientgo").iterdir() if (path / "__init__.py").exists()}


def test_every_file_in_the_walks_exists() -> None:
    named = re.findall(r"`([a-z_/]+\.py)`", PAGE)

    assert len(named) > 50
    assert [name for name in named if not (ROOT / "clientgo" / name).is_file()] == []


def test_every_folder_of_a_package_is_in_the_table_and_exists() -> None:
    rows = re.findall(r"^\| ((?:`[a-z]+`(?:, )?)+) \| (.*/.*) \|$", PAGE, re.MULTILINE)
    named = {
        (package, folder)
        for packages, text in rows
        for package in re.findall(r"`([a-z]+)`", packages)
        for folder in re.findall(r"`([a-z_]+)/`", text)
    }

    assert len({package for package, _ in named}) >= 8
    for packages, text in rows:
        folders = {
            path.name
            for package in re.findall(r"`([a-z]+)`", packages)
            for path in (ROOT / "clientgo" / package).iterdir()
            if (path / "__init__.py").exists()
        }
        if "see [below]" not in text:
            assert folders == set(re.findall(r"`([a-z_]+)/`", text)), packages


def test_every_package_is_in_the_table_of_import_rules() -> None:
    table = PAGE[PAGE.index("| packages | hold |") : PAGE.index("## Objects")]

    assert {name for name in PACKAGES if f"`{name}`" not in table} == set()
