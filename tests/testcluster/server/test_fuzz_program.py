"""A short run of ``python -m tests.testcluster.server.fuzz``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.testcluster.server.fuzz.__main__ import main


@pytest.mark.parametrize("round_", [0, 1])
def test_random_requests_find_nothing(
    round_: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Round 1 keeps its cluster in a directory, and reads it again."""
    options = ["--requests", "100", "--patience", "90", "--save", str(tmp_path)]

    status = main(["--seed", "suite", "--round", str(round_), "--minutes", "5", *options])

    assert status == 0, capsys.readouterr().out
