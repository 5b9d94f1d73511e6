"""The reference of the public names has a page for each package, and no other."""

from __future__ import annotations

import importlib
import re

from tests.docs.pages import DOCS, ROOT

GROUPS = ("testcluster", "tools", "observe", "util")
"""Folders of packages."""

NOT_A_LIBRARY = {"api", "cli", "codegen", "fields", "text", *GROUPS}
"""Packages that export nothing: generated types, commands, modules that are named one by one."""


PAGES = sorted((DOCS / "reference/api").glob("*.md"))
SHOWN = [
    name for page in PAGES for name in re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
]


def test_every_package_is_on_one_page() -> None:
    found = [*(ROOT / "clientgo").glob("*/__init__.py")]
    for group in GROUPS:
        found += (ROOT / "clientgo" / group).glob("*/__init__.py")
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in found
        if path.parent.name not in NOT_A_LIBRARY
    }

    assert sorted(SHOWN) == sorted(packages | {"clientgo.control_loop"})


def test_every_module_on_a_page_can_be_imported() -> None:
    for name in SHOWN:
        module = importlib.import_module(name)
        assert module.__doc__, name
        assert all(hasattr(module, public) for public in getattr(module, "__all__", ())), name
