"""Importing the package is fast."""

from __future__ import annotations

import subprocess
import sys


def test_the_package_is_imported_without_cel() -> None:
    program = (
        "import sys, clientgo.testcluster.schema; print('clientgo.testcluster.cel' in sys.modules)"
    )

    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert finished.stdout.strip() == "False"
