"""Docstrings have a form that the site can show."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hack.site.docstrings import as_markdown
from tests.docs.pages import ROOT

FILES = sorted((ROOT / "clientgo").rglob("*.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _docstrings(file: Path) -> Iterator[tuple[str, str]]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)):
            yield getattr(node, "name", file.stem), text


def test_no_docstring_shows_the_marks_of_a_literal_block() -> None:
    """A block after ``::`` is indented, and neither ``::`` nor a lone colon is left in the page."""
    wrong = [
        f"{file.relative_to(ROOT)}: {name}: {line}"
        for file in FILES
        for name, text in _docstrings(file)
        for line in as_markdown(text).splitlines()
        if re.fullmatch(r"\s*:\s*|(?! ).*::", line)
    ]

    assert wrong == []


@pytest.mark.parametrize(
    ("docstring", "shown"),
    [
        ("Do it::\n\n    do()", "Do it:\n\n    do()"),
        ("Do it.\n\n::\n\n    do()\n\nDone.", "Do it.\n\n\n\n    do()\n\nDone."),
        ("See :class:`~a.b.Name`.", "See `a.b.Name`."),
    ],
)
def test_a_docstring_becomes_markdown(docstring: str, shown: str) -> None:
    assert as_markdown(docstring) == shown
