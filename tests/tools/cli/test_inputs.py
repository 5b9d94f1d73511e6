"""What a command line names."""

from __future__ import annotations

from pathlib import Path

import pytest

from clientgo.tools.cli.inputs import UsageError, load_function, read_manifests


def test_an_error_in_the_module_of_a_function_is_one_line_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_with_a_mistake.py").write_text("import os\nos.nothing\n")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match=r"AttributeError: .*module_with_a_mistake\.py, line 2"):
        load_function("module_with_a_mistake:run")


def test_manifests_that_are_nested_too_deeply_are_refused(tmp_path: Path) -> None:
    for text in ("a: " + "[" * 2_000 + "]" * 2_000, "a: " + "[" * 50_000):
        file = tmp_path / "deep.yaml"
        file.write_text(text)

        with pytest.raises(UsageError, match=r"deep\.yaml can't be read"):
            read_manifests([file])
