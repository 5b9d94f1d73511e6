"""A new project is worked on with the interpreter that began it, if that has all it takes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import Distribution
from pathlib import Path

import pytest

import clientgo
from clientgo.tools.scaffold import interpreter
from clientgo.tools.scaffold.interpreter import clientgo_url, local_makefile, types_hint
from clientgo.tools.scaffold.new_files import project_files

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

    assert local_makefile().splitlines()[1:] == [f"CLIENTGO ?= {SOURCE.as_uri()}"]
    monkeypatch.setattr(interpreter, "_printed_by_a_new_interpreter", lambda code: "/elsewhere")
    assert types_hint() == ""  # it would be about an interpreter that the project does not use


@pytest.mark.parametrize(
    ("recorded", "url"),
    [
        ('{"url": "file:///w/clientgo.whl", "archive_info": {}}', "file:///w/clientgo.whl"),
        (
            '{"url": "https://git.example.com/c", "vcs_info": {"vcs": "git", "commit_id": "4a09"}}',
            "git+https://git.example.com/c@4a09",
        ),
        (None, ""),  # it came from an index
    ],
)
def test_a_project_gets_its_clientgo_from_where_this_one_came(
    recorded: str | None, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clientgo, "__file__", str(tmp_path / "site-packages/clientgo/__init__.py"))
    metadata = tmp_path / "clientgo-0.2.0.dist-info"
    metadata.mkdir()
    if recorded:
        (metadata / "direct_url.json").write_text(recorded)
    monkeypatch.setattr(interpreter, "distribution", lambda name: Distribution.at(metadata))

    assert clientgo_url() == url
    assert (f"CLIENTGO ?= {url}\n" in local_makefile()) is bool(url)


def test_a_new_project_names_no_package_that_others_may_publish(tmp_path: Path) -> None:
    """An index may get a package called clientgo that is not this one."""
    project = tomllib.loads(project_files("demo", "demo", "example.com")["pyproject.toml"])[
        "project"
    ]

    assert "clientgo" not in str([project["dependencies"], project["optional-dependencies"]])


@pytest.mark.parametrize("shown", [True, False])
def test_an_installation_that_hides_its_types_is_named_with_the_way_out(
    monkeypatch: pytest.MonkeyPatch, shown: bool
) -> None:
    """OP-GEN-23: a type checker looks into directories and follows no import hook."""
    path = f"/usr/lib/python3\n{SOURCE if shown else '/elsewhere'}\n"
    monkeypatch.setattr(interpreter, "_printed_by_a_new_interpreter", lambda code: path)

    hint = types_hint()
    assert ("" if shown else f"pip install -e {SOURCE}") in hint
    assert bool(hint) is not shown


def test_an_editable_installation_puts_the_directory_on_the_path(tmp_path: Path) -> None:
    """OP-GEN-23: type checkers and editors follow no hook."""
    pytest.importorskip("hatchling")
    for name in ("pyproject.toml", "PACKAGE.md", "clientgo/__init__.py"):
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text((SOURCE / name).read_text())
    code = "from hatchling.build import build_editable; build_editable('..')"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path / "project", check=True)

    [wheel] = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        [path] = [name for name in files.namelist() if name.endswith(".pth")]
        assert files.read(path).decode().strip() == str(tmp_path / "project")


def test_elsewhere_the_makefile_asks_where_clientgo_is_and_installs_it_from_there(
    tmp_path: Path,
) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(project_files("demo", "demo", "example.com")["Makefile"])
    (tmp_path / "pyproject.toml").write_text("")

    def planned(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = ["make", "--dry-run", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    for unknown in (["test"], ["wheels", f"PYTHON={sys.executable}"]):
        assert "say where clientgo is: make CLIENTGO=/path" in planned(*unknown).stderr
    repository = "git+https://git.example.com/clientgo.git@main"
    assert f"operator] @ {repository}' -e" in planned("test", f"CLIENTGO={repository}").stdout
    (tmp_path / "wheels").mkdir()
    wheel = tmp_path / "wheels" / "clientgo-0.2.0-py3-none-any.whl"
    wheel.touch()
    assert f"operator] @ {wheel.as_uri()}' -e" in planned("test").stdout
