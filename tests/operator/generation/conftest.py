"""Projects that tests make and import."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.__main__ import main


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory is empty; what is imported from below it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        if str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def demo(in_empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, which is the current directory."""
    assert main(["operator", "init", "demo"]) == 0
    monkeypatch.chdir("demo")
    return in_empty_folder / "demo"
