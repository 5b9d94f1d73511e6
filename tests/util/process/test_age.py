"""How long the process has been running."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from clientgo.util.process import process_age


def test_it_is_read_from_the_files_of_linux(tmp_path: Path) -> None:
    """OP-MET-15: also if the name of the program has spaces and brackets."""
    ticks = os.sysconf("SC_CLK_TCK")
    (tmp_path / "self").mkdir()
    stat = f"7 (a (b) c) S {' '.join(['0'] * 18)} {40 * ticks} 0 0"
    (tmp_path / "self/stat").write_text(stat)
    (tmp_path / "uptime").write_text("100.25 7.00\n")

    assert process_age(tmp_path) == pytest.approx(60.25)


def test_without_them_it_counts_from_the_import(tmp_path: Path) -> None:
    """OP-MET-15."""
    since_import = process_age(tmp_path)

    assert 0 <= since_import <= process_age(tmp_path) <= time.monotonic()
    assert process_age() > since_import - 0.1, "the process is older, up to the ticks of its clock"
