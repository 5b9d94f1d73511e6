"""Laying out generated Python beside files that other people wrote."""

from __future__ import annotations

import logging
import stat
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.layout import laid_out, write_whole
from clientgo.codegen.manifests import manifest_text
from sample_controller.types import Foo

TEXT = "import sys\nimport os\nx = [1,\n  2]\n"
IN_ORDER = "import os\nimport sys\n\nx = [1, 2]\n"


def test_code_of_the_current_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ruff.py").write_text("open('it_ran', 'w')")

    assert laid_out(TEXT, tmp_path / "out.py") == IN_ORDER
    assert not (tmp_path / "it_ran").exists()


@pytest.mark.parametrize(
    ("configuration", "reason"),
    [
        ('required-version = "==0.0.1"', "Required version `==0.0.1` does not match"),
        ("[[[ broken", "Failed to parse"),
        ("no-such-option = 1", "unknown field `no-such-option`"),
    ],
)
def test_a_configuration_that_ruff_refuses_is_reported_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, configuration: str, reason: str
) -> None:
    (tmp_path / "ruff.toml").write_text(configuration)

    with caplog.at_level(logging.WARNING):
        assert laid_out(TEXT, tmp_path / "out.py") == IN_ORDER

    (record,) = caplog.records
    message = record.getMessage()
    assert message.startswith(
        f"{tmp_path}/out.py is laid out without its project's configuration: ruff failed"
    )
    assert reason in message
    assert "\n" not in message


def test_types_are_written_whatever_the_projects_ruff_is(tmp_path: Path) -> None:
    """An old file once became an empty one, with status 0."""
    (tmp_path / "ruff.toml").write_text('required-version = "==0.0.1"')
    crd, out = tmp_path / "crd.yaml", tmp_path / "out.py"
    crd.write_text(manifest_text([custom_resource_definition(Foo)]))
    out.write_text("# the old one\n")

    assert main(["gen", "types", "--crd", str(crd), "--out", str(out)]) == 0

    assert "class FooSpec(APIModel):" in out.read_text()


def test_a_file_that_cannot_be_written_stays_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "out.py"
    file.write_text("# the old one\n")

    with pytest.raises(UnicodeEncodeError):
        write_whole(file, "# the new one\n\ud800")

    assert file.read_text() == "# the old one\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_file_that_is_replaced_keeps_its_mode_and_the_link_to_it(tmp_path: Path) -> None:
    file, link = tmp_path / "real.py", tmp_path / "link.py"
    file.write_text("# the old one\n")
    file.chmod(0o640)
    link.symlink_to(file)

    write_whole(link, "# the new one\n")

    assert link.is_symlink()
    assert file.read_text() == "# the new one\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["types", "--crd", "{no}"], "no.yaml: no such file"),
        (["types", "--crd", "{empty}"], "empty.yaml holds no manifest"),
        (["types", "--crd", "{yaml}"], "bad.yaml is no YAML"),
        (["types", "--crd", "{crd}", "--out", "{folder}"], "is a directory"),
        (["types", "--crd", "{crd}", "--version", "v7"], "has no version 'v7'; it has v1alpha1"),
        (["types", "--openapi", "{crd}"], "this is no OpenAPI v3 document"),
        (["crd", "no.such.module"], "no.such.module"),
        (["crd", "json"], "json"),
        (["crd", "1+1"], "1+1"),
        (["clients", "json", "--out", "{folder}"], "json"),
    ],
)
def test_a_mistake_is_one_sentence_and_a_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    files = {
        "no": tmp_path / "no.yaml",
        "empty": tmp_path / "empty.yaml",
        "yaml": tmp_path / "bad.yaml",
        "crd": tmp_path / "crd.yaml",
        "folder": tmp_path,
    }
    files["empty"].write_text("")
    files["yaml"].write_text("{[")
    files["crd"].write_text(manifest_text([custom_resource_definition(Foo)]))

    status = main(["gen", *(argument.format(**files) for argument in arguments)])

    told = capsys.readouterr().err
    assert status == 1
    assert told.startswith("clientgo gen: ")
    assert message in told
    assert "Traceback" not in told
