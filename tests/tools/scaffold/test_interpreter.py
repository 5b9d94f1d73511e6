"""A new project is worked on with the interpreter that began it, if that has all it takes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import clientgo
from clientgo.tools.scaffold import interpreter
from clientgo.tools.scaffold.interpreter import local_makefile

SOURCE = Path(clientgo.__file__).resolve().parents[1]


def test_the_interpreter_is_named_so_that_nothing_is_fetched() -> None:
    """OP-GEN-23"""
    assert f"PYTHON ?= {sys.executable}\n" in local_makefile()


@pytest.mark.parametrize(("finds", "path"), [(True, False), (False, True)])
def test_an_import_path_is_kept_for_the_project(
    monkeypatch: pytest.MonkeyPatch, finds: bool, path: bool
) -> None:
    """OP-GEN-23"""
    monkeypatch.setattr(interpreter, "_finds_by_itself", lambda source: finds)

    assert (f"export PYTHONPATH := {SOURCE}:" in local_makefile()) is path


def test_without_what_tests_need_an_environment_is_made_with_this_clientgo(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OP-GEN-23"""
    monkeypatch.setattr(interpreter, "find_spec", lambda name: None)

    assert local_makefile().splitlines()[1:] == [f"CLIENTGO := -e {SOURCE}"]
