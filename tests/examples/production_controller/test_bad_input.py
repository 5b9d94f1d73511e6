"""What is wrong around the program is said once, in one line."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.examples.production_controller.program import Program

PROGRAM = ("python", "-m", "examples.production_controller", "--log-format=json")


def test_an_option_that_does_not_exist_ends_the_program_with_2_and_one_line(tmp_path: Path) -> None:
    with Program([*PROGRAM, "--nonsense"], tmp_path, tmp_path) as program:
        assert program.wait() == 2

    assert program.lines() == [
        "usage: python -m examples.production_controller [--help] [OPTIONS]",
        "production_controller: error: unrecognized arguments: --nonsense",
    ]


def test_a_server_that_cannot_be_reached_is_said_once_by_each_informer(tmp_path: Path) -> None:
    with Program([*PROGRAM, "--master=http://127.0.0.1:1"], tmp_path / "none", tmp_path) as program:
        program.wait_for("Foo reflector")
        program.wait_for("Deployment reflector")
        program.send(signal.SIGTERM)

        assert program.wait() == 0
    refused = [line for line in program.lines() if "trying again until it works" in line]
    assert len(refused) == 2
    assert all("connection refused; is the API server up" in line for line in refused)
    assert not [line for line in program.lines() if "Traceback" in line]
