"""Projects that tests make and import."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.__main__ import main
from tests.operator.conftest import make_world as make_world


@pytest.fixture
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current directory is empty; what is imported from below it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    forget_modules(tmp_path)


def forget_modules(folder: Path) -> None:
    """Forget what was imported from below a folder, as in a new process."""
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(folder)):
            del sys.modules[name]
    importlib.invalidate_caches()


def printed_by_tests(file: str) -> str:
    """Run a test file of the project in the current directory; return what pytest prints."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", file],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    ).stdout


@pytest.fixture
def demo(in_empty_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new project, which is the current directory."""
    assert main(["operator", "init", "demo"]) == 0
    monkeypatch.chdir("demo")
    return in_empty_folder / "demo"
