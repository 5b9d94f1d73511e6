"""The reference of the public names has a page for each package, and no other."""

from __future__ import annotations

import importlib
import re

from tests.docs.pages import DOCS, ROOT

GROUPS = ("testcluster", "tools", "observe", "util")
"""Folders of packages."""

NOT_A_LIBRARY = {"api", "cli", "codegen", "fields", "text", *GROUPS}
"""Packages that export nothing: generated types, commands, modules that are named one by one."""


def test_every_package_has_a_page() -> None:
    found = [*(ROOT / "clientgo").glob("*/__init__.py")]
    for group in GROUPS:
        found += (ROOT / "clientgo" / group).glob("*/__init__.py")
    packages = {path.parent.name.replace("server", "apiserver") for path in found}
    pages = {path.stem for path in (DOCS / "reference/api").glob("*.md")}

    assert pages == packages - NOT_A_LIBRARY | {"control_loop"}


def test_every_page_is_about_a_module_that_can_be_imported() -> None:
    for page in (DOCS / "reference/api").glob("*.md"):
        (name,) = re.findall(r"^::: (\S+)$", page.read_text(), re.MULTILINE)
        module = importlib.import_module(name)
        assert module.__doc__, name
        assert all(hasattr(module, public) for public in getattr(module, "__all__", ())), name
