"""The names that a page for users of another library gives are there."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.docs.pages import DOCS

_ROW = re.compile(r"^\| .* \| (.*) \| `(clientgo\.[\w.]+)` \|$", re.MULTILINE)
_NAME = re.compile(r"`(?:except )?(\w+)(?=[`(.])")
ROWS = _ROW.findall((DOCS / "coming-from/client-go.md").read_text())


@pytest.mark.parametrize(("cell", "module"), ROWS, ids=[cell for cell, _ in ROWS])
def test_the_names_of_a_row_can_be_imported(cell: str, module: str) -> None:
    names = set(_NAME.findall(cell)) - {"client"}

    assert names or "client." in cell
    assert [name for name in names if not hasattr(import_module(module), name)] == []
