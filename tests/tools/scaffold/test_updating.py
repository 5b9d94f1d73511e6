"""An older project gets today's files, merged by git."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.operator.errors import ConfigError
from clientgo.tools.scaffold.new_files import RECORD
from clientgo.tools.scaffold.project import read_project
from clientgo.tools.scaffold.updating import GitError, update_project

_OLD_TARGET = "old: ## a target of an older scaffold\n"


def _git(*arguments: str) -> str:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _commit() -> None:
    _git("add", "-A")
    _git("commit", "-q", "-m", "a")


def _older(root: Path, *, with_record: bool) -> None:
    """Make the project one that an older scaffold wrote: with a line more and a line less."""
    for name in ("Makefile", "Dockerfile"):
        file = root / name
        lines = file.read_text().splitlines(keepends=True)
        file.write_text(_OLD_TARGET + "".join(lines[1:]))
    record = root / RECORD
    if with_record:
        texts = json.loads(record.read_text())
        record.write_text(json.dumps({name: (root / name).read_text() for name in texts}))
    else:
        record.unlink()


@pytest.fixture(params=[True, False], ids=["recorded", "from the history"])
def older(demo: Path, request: pytest.FixtureRequest) -> Path:
    """A project of an older scaffold, in git."""
    _git("init", "-q")
    _older(demo, with_record=request.param)
    _commit()
    return demo


def test_what_is_new_is_added_and_what_was_edited_stays(
    older: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    makefile = older / "Makefile"
    makefile.write_text(makefile.read_text() + "\nmine: ## a target of the project\n")
    _commit()

    assert main(["operator", "update"]) == 0

    text = makefile.read_text()
    assert text.startswith("# make run ONCE=1")
    assert _OLD_TARGET not in text
    assert text.endswith("\nmine: ## a target of the project\n")
    assert "review it: git diff" in capsys.readouterr().out
    shown = _git("diff")
    assert f"-{_OLD_TARGET}" in shown
    assert '"Makefile":' not in shown  # the record has long lines that are no help to a reader
    assert "\n+# make run ONCE=1" in _git("diff")


def test_a_second_update_changes_nothing(older: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OP-GEN-20"""
    assert main(["operator", "update"]) == 0
    _commit()

    assert main(["operator", "update"]) == 0

    assert "nothing to update" in capsys.readouterr().out
    assert _git("status", "--porcelain") == ""


def test_what_both_changed_is_a_conflict_to_resolve(
    older: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    makefile = older / "Makefile"
    makefile.write_text(makefile.read_text().replace(_OLD_TARGET, "mine: ## instead\n"))
    _commit()

    assert main(["operator", "update"]) == 1

    said = capsys.readouterr()
    assert "updated Makefile, with conflicts" in said.out
    assert "resolve the conflicts in Makefile" in said.err
    text = makefile.read_text()
    assert "<<<<<<< yours\nmine: ## instead\n||||||| before\n" in text
    assert ">>>>>>> today\n" in text


def test_deleted_files_stay_deleted_and_new_ones_are_written(older: Path) -> None:
    """OP-GEN-20"""
    (older / "Dockerfile").unlink()
    _commit()

    assert main(["operator", "update"]) == 0

    assert not (older / "Dockerfile").exists()
    assert (older / RECORD).exists()


def test_a_new_file_of_the_scaffold_is_written_unless_the_project_has_its_own(demo: Path) -> None:
    """OP-GEN-20"""
    record = demo / RECORD
    texts = json.loads(record.read_text())
    for name in ("README.md", ".dockerignore"):
        del texts[name]
    record.write_text(json.dumps(texts))
    (demo / "README.md").write_text("mine")
    (demo / ".dockerignore").unlink()
    _git("init", "-q")
    _commit()

    update = update_project(read_project(demo))

    assert update.lines == ["wrote .dockerignore", "kept README.md, which is your own"]
    assert (demo / "README.md").read_text() == "mine"


def test_changes_that_are_not_committed_are_refused(older: Path) -> None:
    """OP-GEN-20: the update could not be told from them."""
    (older / "new.txt").write_text("a")

    with pytest.raises(GitError, match=r"not committed \(new.txt\); commit them first"):
        update_project(read_project(older))


def test_without_a_repository_the_message_says_why_it_is_needed(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(demo.parent))

    assert main(["operator", "update"]) == 1

    assert "the project has to be in a repository" in capsys.readouterr().err


def test_a_history_that_is_not_complete_is_no_base(
    demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-GEN-20: its first commit has the files with the edits, which would be lost."""
    _git("init", "-q")
    _older(demo, with_record=False)
    _commit()
    (demo / "Makefile").write_text("mine")
    _commit()
    _git("clone", "-q", "--depth=1", f"file://{demo}", str(tmp_path / "shallow"))
    monkeypatch.chdir(tmp_path / "shallow")

    with pytest.raises(GitError, match="git fetch --unshallow"):
        update_project(read_project(Path()))


def test_a_record_that_cannot_be_read_is_no_empty_one(demo: Path) -> None:
    """OP-GEN-20"""
    (demo / RECORD).write_text("{")
    _git("init", "-q")
    _commit()

    with pytest.raises(ConfigError, match=r"\.scaffold\.json cannot be read"):
        update_project(read_project(demo))
