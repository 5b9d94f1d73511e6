"""What is generated is kept up to date, and what people edited is kept."""

from __future__ import annotations

from pathlib import Path

from clientgo.tools.scaffold.manifests.generated_files import (
    generated_differences,
    generated_text,
    write_generated,
)

PARTS = ("crd",)


def _wanted(value: str = "a") -> dict[str, str]:
    return {"crd/a.yaml": generated_text([{"kind": "A", "value": value}])}


def _write(root: Path, wanted: dict[str, str], *, force: bool = False) -> list[str]:
    return write_generated(root, wanted, PARTS, force=force)


def test_a_second_time_nothing_is_written(tmp_path: Path) -> None:
    """OP-GEN-01: the same bytes."""
    assert _write(tmp_path, _wanted()) == ["wrote crd/a.yaml"]
    assert _write(tmp_path, _wanted()) == []


def test_an_unedited_file_is_updated(tmp_path: Path) -> None:
    """OP-GEN-20"""
    _write(tmp_path, _wanted("old"))

    assert _write(tmp_path, _wanted("new")) == ["wrote crd/a.yaml"]
    assert "value: new" in (tmp_path / "crd/a.yaml").read_text()


def test_what_was_edited_is_kept_unless_one_insists(tmp_path: Path) -> None:
    """OP-GEN-20"""
    _write(tmp_path, _wanted())
    file = tmp_path / "crd/a.yaml"
    file.write_text(file.read_text() + "more: 1\n")

    assert _write(tmp_path, _wanted("b")) == [
        "kept crd/a.yaml, which was edited; --force overwrites it"
    ]
    assert "more: 1" in file.read_text()
    assert _write(tmp_path, _wanted("b"), force=True) == ["wrote crd/a.yaml"]
    assert file.read_text() == _wanted("b")["crd/a.yaml"]


def test_a_file_without_the_first_line_belongs_to_its_editor(tmp_path: Path) -> None:
    """OP-GEN-20"""
    _write(tmp_path, _wanted())
    file = tmp_path / "crd/a.yaml"
    file.write_text(file.read_text().partition("\n")[2] + "more: 1\n")

    assert _write(tmp_path, _wanted("b")) == ["kept crd/a.yaml, which is your own"]
    assert list(generated_differences(tmp_path, _wanted("b"), PARTS)) == []


def test_a_left_over_file_is_removed_unless_it_was_edited(tmp_path: Path) -> None:
    """OP-GEN-20"""
    _write(tmp_path, _wanted())
    (tmp_path / "crd/mine.yaml").write_text("kind: Mine\n")

    assert "-value: a\n" in list(generated_differences(tmp_path, {}, PARTS))
    assert _write(tmp_path, {}) == ["removed crd/a.yaml"]
    assert (tmp_path / "crd/mine.yaml").exists()


def test_differences_are_shown_for_what_is_missing_stale_or_edited(tmp_path: Path) -> None:
    """OP-GEN-19"""
    assert "+value: a\n" in list(generated_differences(tmp_path, _wanted(), PARTS))
    _write(tmp_path, _wanted())
    assert list(generated_differences(tmp_path, _wanted(), PARTS)) == []
    stale = list(generated_differences(tmp_path, _wanted("b"), PARTS))
    assert "-value: a\n" in stale
    assert "+value: b\n" in stale
    file = tmp_path / "crd/a.yaml"
    file.write_text(file.read_text() + "more: 1\n")
    assert "-more: 1\n" in list(generated_differences(tmp_path, _wanted(), PARTS))
