"""Short rounds of ``python -m tests.soak``."""

from __future__ import annotations

import pytest

from tests.soak.__main__ import main


@pytest.mark.parametrize("only", ["informers", "queue", "leaders"])
def test_a_short_round_finds_nothing(only: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--round", "0", "--phases", "1", "--seconds", "0.5", "--only", only]

    status = main(["--seed", "suite", "--minutes", "5", *options])

    assert status == 0, capsys.readouterr().out
