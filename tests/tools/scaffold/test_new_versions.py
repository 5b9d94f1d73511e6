"""Another version of a kind, and converters between versions."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import yaml

from clientgo.__main__ import main
from clientgo.operator.errors import ConfigError
from clientgo.tools.scaffold.new_files import KindNames
from clientgo.tools.scaffold.new_versions import create_version, stored_version
from clientgo.tools.scaffold.project import read_project
from tests.tools.scaffold.conftest import forget_modules, printed_by_tests

NAMES = KindNames(kind="Demo", group="demo.example.com", version="v1")


def _run(*arguments: str) -> int:
    return main(["operator", *arguments])


def _text(file: str) -> str:
    return Path(file).read_text(encoding="utf-8")


def _replace(file: str, old: str, new: str) -> None:
    text = _text(file)
    assert old in text
    Path(file).write_text(text.replace(old, new), encoding="utf-8")


def _definition() -> dict[str, object]:
    document = yaml.safe_load(_text("config/crd/demos.demo.example.com.yaml"))
    spec: dict[str, object] = document["spec"]
    return spec


def _say(answer: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))


def test_the_user_is_asked_which_version_is_stored(
    demo: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    _say("v1\n", monkeypatch)

    assert _run("create-api", "Demo", "--version", "v1") == 0

    assert "Which version of Demo is stored, v1alpha1 or v1?" in capsys.readouterr().out
    assert stored_version(read_project(demo), "Demo") == "v1"


@pytest.mark.parametrize("answer", ["", "\n"])
def test_without_an_answer_the_stored_version_stays(
    demo: Path,
    answer: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """OP-GEN-20: without a terminal too, which is said."""
    _say(answer, monkeypatch)

    assert _run("create-api", "Demo", "--version", "v1") == 0

    out = capsys.readouterr().out
    assert ("v1alpha1 is stored still; --stored v1 stores v1" in out) is not bool(answer)
    assert stored_version(read_project(demo), "Demo") == "v1alpha1"


def test_what_used_the_stored_version_uses_the_new_one_if_that_is_stored(demo: Path) -> None:
    """OP-GEN-20: the definition has a converter, and the reconciler works on the hub."""
    assert _run("create-webhook", "Demo") == 0
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    forget_modules(demo)
    assert _run("gen", "all") == 0

    spec = _definition()
    assert [(v["name"], v["storage"]) for v in spec["versions"]] == [  # type: ignore[attr-defined]
        ("v1", True),
        ("v1alpha1", False),
    ]
    assert spec["conversion"]["strategy"] == "Webhook"  # type: ignore[index]
    for file in (
        "demo/controllers/demo.py",
        "demo/webhooks/demo.py",
        "tests/test_demo.py",
        "tests/test_demo_webhook.py",
    ):
        assert "demo.api.demo_v1 import" in _text(file), file
    assert "1 passed" in printed_by_tests("tests/test_demo_v1alpha1_conversion.py")


def test_what_uses_the_stored_version_stays_if_it_is_stored_still(demo: Path) -> None:
    """OP-GEN-20"""
    before = _text("demo/controllers/demo.py"), _text("demo/api/demo_v1alpha1.py")

    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1alpha1") == 0
    forget_modules(demo)
    assert _run("gen", "all") == 0

    assert (_text("demo/controllers/demo.py"), _text("demo/api/demo_v1alpha1.py")) == before
    assert "storage=False" in _text("demo/api/demo_v1.py")
    assert "hub=demo_v1alpha1.Demo" in _text("demo/conversion/demo_v1.py")
    assert _run("verify") == 0


def test_a_new_version_has_the_fields_that_its_author_gave_the_kind(demo: Path) -> None:
    """OP-GEN-20: its group and plural too, though the command names others."""
    _replace("demo/api/demo_v1alpha1.py", "    text:", "    size: int = 1\n    text:")
    _replace("demo/api/demo_v1alpha1.py", 'plural="demos"', 'plural="demoes"')

    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0

    text = _text("demo/api/demo_v1.py")
    assert "    size: int = 1\n" in text
    assert 'group="demo.example.com", version="v1", plural="demoes"' in text


@pytest.mark.parametrize("stored", ["v1alpha1", "v1"])
def test_an_only_version_that_does_not_say_that_it_is_stored_says_so_then(
    demo: Path, stored: str
) -> None:
    """OP-GEN-20"""
    _replace("demo/api/demo_v1alpha1.py", ", storage=True", "")

    create_version(read_project(demo), NAMES, stored=stored)

    assert stored_version(read_project(demo), "Demo") == stored


def test_doing_it_again_changes_nothing(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OP-GEN-20"""
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    _replace("demo/conversion/demo_v1alpha1.py", "Keeps", "Mine: keeps")
    capsys.readouterr()

    assert _run("create-api", "Demo", "--version", "v1") == 0
    assert _run("create-webhook", "Demo", "--conversion") == 0

    assert "wrote" not in (out := capsys.readouterr().out)
    assert "change" not in out


def test_when_another_version_is_stored_later_the_old_hubs_converters_are_named(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-20"""
    assert _run("create-api", "Demo", "--version", "v1beta1", "--stored", "v1beta1") == 0
    _replace("demo/conversion/demo_v1alpha1.py", "class ", "# mine\nclass ")
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0

    out = capsys.readouterr().out
    assert "change demo/conversion/demo_v1alpha1.py: v1 is stored now" in out
    assert "hub=demo_v1.Demo" in _text("demo/conversion/demo_v1beta1.py")


@pytest.mark.parametrize(
    ("change", "stored", "problem"),
    [
        (("", ""), "v2", "no version 'v2' that could be stored; it has v1alpha1, v1"),
        (('version="v1alpha1"', "version=OLD"), "v1", "declares its version 0 times"),
        (("@CustomResource(", "@others("), "v1", r"@CustomResource\(storage=True\) above"),
    ],
)
def test_what_cannot_be_done_changes_nothing(
    demo: Path, change: tuple[str, str], stored: str, problem: str
) -> None:
    """OP-GEN-20"""
    _replace("demo/api/demo_v1alpha1.py", *change)
    _replace("demo/api/demo_v1alpha1.py", ", storage=True", "")
    before = {file: file.read_bytes() for file in demo.rglob("*.py")}

    with pytest.raises(ConfigError, match=problem):
        create_version(read_project(demo), NAMES, stored=stored)

    assert {file: file.read_bytes() for file in demo.rglob("*.py")} == before


def test_versions_that_differ_without_a_converter_are_refused(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-CNV-02: a server would drop fields of stored objects, and say nothing."""
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    _replace("demo/api/demo_v1.py", "    text:", "    words: list[str] = []\n    text:")
    main_file = _text("demo/main.py")
    lines = [line for line in main_file.splitlines() if "Converter(" not in line]
    Path("demo/main.py").write_text("\n".join(lines), encoding="utf-8")
    for command in (("gen", "all"), ("gen", "crd"), ("verify",), ("run", "--embedded", "--once")):
        forget_modules(demo)
        capsys.readouterr()

        assert _run(*command) == 1

        assert "spec.words (only in v1)" in (err := capsys.readouterr().err), command
        assert "clientgo operator create-webhook Demo --conversion" in err

    capsys.readouterr()
    assert _run("create-webhook", "Demo", "--conversion") == 0
    assert "changed demo/main.py: manager.webhook(DemoV1" in capsys.readouterr().out
    forget_modules(demo)
    assert sorted(_text("demo/main.py").splitlines()) == sorted(main_file.splitlines())
    assert _run("gen", "all") == 0


def test_converters_that_were_not_edited_follow_the_stored_version(demo: Path) -> None:
    """OP-GEN-20: three versions, of which each was stored once."""
    assert _run("create-api", "Demo", "--version", "v1beta1", "--stored", "v1beta1") == 0
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0

    for version in ("v1alpha1", "v1beta1"):
        assert "hub=demo_v1.Demo" in _text(f"demo/conversion/demo_{version}.py")
        assert f"{version} and v1." in _text(f"tests/test_demo_{version}_conversion.py")
    forget_modules(demo)
    assert _run("gen", "all") == 0


def test_what_exists_is_said_to_exist(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """OP-GEN-20: nothing follows from it."""
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    assert _run("create-webhook", "Demo") == 0
    _replace("demo/main.py", "(DemoV1alpha1Converter())", "(check, DemoV1alpha1Converter())")
    capsys.readouterr()

    for command in (("create-webhook", "Demo"), ("create-webhook", "Demo", "--conversion")):
        assert _run(*command) == 0

    said = capsys.readouterr().out
    assert said == "the webhooks of Demo exist\nthe converters of Demo exist\n"


def test_a_converter_is_called_from_the_start(
    demo: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """OP-GEN-21: a definition that changes later would end the watches of its kind."""
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    forget_modules(demo)
    assert _run("gen", "all") == 0
    capsys.readouterr()

    assert _run("run", "--embedded", "--once") == 0

    assert "Webhooks are registered: demos.demo.example.com" in capsys.readouterr().out
    assert [record.getMessage() for record in caplog.records if record.levelname != "INFO"] == []


def test_definitions_without_a_project_warn_of_it(
    demo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-CNV-02: the converter may be elsewhere."""
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    _replace("demo/api/demo_v1.py", "    text:", "    words: list[str] = []\n    text:")
    forget_modules(demo)

    assert _run("gen", "crd", "-m", "demo.api", "-o", "crds") == 0

    assert "warning: demos.demo.example.com: its versions" in capsys.readouterr().err


def test_a_converter_is_added_to_versions_that_have_none(demo: Path) -> None:
    """OP-GEN-20: create-webhook writes webhooks of the stored version, and converters."""
    assert _run("create-webhook", "Demo", "--conversion") == 1  # there is one version
    assert _run("create-api", "Demo", "--version", "v1", "--stored", "v1") == 0
    Path("demo/conversion/demo_v1alpha1.py").unlink()

    assert _run("create-webhook", "Demo", "--conversion") == 0
    assert _run("create-webhook", "Demo") == 0

    assert "hub=demo_v1.Demo" in _text("demo/conversion/demo_v1alpha1.py")
    assert "from demo.api.demo_v1 import Demo" in _text("demo/webhooks/demo.py")
