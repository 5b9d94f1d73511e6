"""SAMPLE-22: what is generated is committed, and a stale tree is found."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_GENERATED = Path("sample_controller/generated/clientset.py")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the project that may be spoilt."""
    for name in ("clientgo", "sample_controller", "examples/production_controller", "hack"):
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(_ROOT / name, tmp_path / name, ignore=skip)
    shutil.copy(_ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _run(tree: Path, script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [script],
        cwd=tree,
        env={"PYTHON": sys.executable, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_stale_tree_is_shown_and_brought_up_to_date(tree: Path) -> None:
    written = (tree / _GENERATED).read_text()
    (tree / _GENERATED).write_text(written.replace("class Clientset", "class Clientele"))
    left_over = tree / "sample_controller/generated/bars.py"
    left_over.write_text("a kind that is no more\n")

    found = _run(tree, "hack/verify-codegen")
    assert found.returncode == 1
    assert "-class Clientele:" in found.stdout
    assert "+class Clientset:" in found.stdout
    assert "-a kind that is no more" in found.stdout
    assert "2 files are stale; run hack/update-codegen" in found.stdout

    _run(tree, "hack/update-codegen")

    assert (tree / _GENERATED).read_text() == written
    assert not left_over.exists()
    assert _run(tree, "hack/verify-codegen").returncode == 0


def test_a_type_that_no_schema_can_say_stops_the_generator(tree: Path) -> None:
    types = tree / "sample_controller/types.py"
    types.write_text(
        types.read_text().replace("replicas: Annotated[int,", "replicas: Annotated[set,")
    )

    failed = _run(tree, "hack/update-codegen")

    assert failed.returncode == 1
    assert "Foo.spec.replicas: a set hides repeated items" in failed.stderr
