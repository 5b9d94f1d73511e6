"""The comparison of the two queues: the documentation shows what the example prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_shows_what_the_example_prints() -> None:
    example = ROOT / "examples" / "two_queues.py"
    printed = subprocess.run(
        [sys.executable, str(example)], capture_output=True, text=True, check=True
    ).stdout

    assert f"```\n{printed}```" in (ROOT / "docs" / "queues.md").read_text()
