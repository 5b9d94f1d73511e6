"""The fixtures that the package brings, used as the page on faults shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from clientgo.meta.decoding import decode
from clientgo.testcluster.server.faults import CloseWatches, Fault

DOCUMENT = Path(__file__).parents[2] / "docs" / "testing" / "faults.md"


def test_the_example_of_the_page_on_faults_passes(tmp_path: Path) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.DOTALL | re.M)
    (tmp_path / "test_example.py").write_text(example)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(DOCUMENT.parents[2])},  # for sample_controller
        capture_output=True,
        text=True,
        timeout=300,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    assert "1 passed" in run.stdout


def test_what_the_page_on_faults_posts_is_a_fault() -> None:
    (body,) = re.findall(r"-d '(.*?)'", DOCUMENT.read_text(), re.DOTALL)

    assert isinstance(decode(body, Fault), CloseWatches)  # type: ignore[arg-type]
