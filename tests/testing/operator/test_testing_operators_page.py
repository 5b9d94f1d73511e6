"""The tests on the page about testing operators pass, as a reader would run them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

DOCUMENT = Path(__file__).parents[3] / "docs" / "operators" / "testing.md"
BLOCKS = re.findall(r"^```python ?(\S*)\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE)


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    """OP-TST-02, OP-TST-04, OP-TST-06, OP-TST-07"""
    for number, (name, code) in enumerate(BLOCKS):
        (tmp_path / (name or f"test_page_{number}.py")).write_text(code)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "5 passed" in run.stdout


def test_how_short_they_are() -> None:
    """A reconciler in ten lines of test, a controller with faults in twenty."""
    code = {name or str(number): text for number, (name, text) in enumerate(BLOCKS)}
    _, _, one_run = code["1"].partition("def test_a_page_has_its_text")
    _, _, controller = code["2"].partition("def new_manager")
    assert len(one_run.split("\n\n\n")[0].splitlines()) <= 10
    assert len(controller.splitlines()) <= 20
