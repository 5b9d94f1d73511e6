"""``clientgo study exercises``: thirteen exercises with the loop, and a check for each.

::

    clientgo study exercises
    clientgo study start 1       # writes ten_edits.py here
    clientgo study check 1       # runs it, and says what happened
    clientgo study hint 1
    clientgo study solution 1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from clientgo.tools.study.exercises import EXERCISES, Exercise, ExerciseError
from clientgo.util.text.terminal import CommandParser, ExitStatus, complain


def configure(parser: CommandParser) -> None:
    """Add the commands of the exercises below ``clientgo study``."""
    commands = parser.add_subparsers(title="exercises", metavar="COMMAND")
    listing = commands.add_parser("exercises", help="list them", description="List them.")
    listing.set_defaults(run=_list)
    for name, run, help_text in (
        ("start", _start, "write the file of an exercise into this directory"),
        ("check", _check, "run your file, and say what was expected and what happened"),
        ("hint", _hint, "print a hint"),
        ("solution", _solution, "print a solution"),
    ):
        description = f"{help_text.capitalize()}."
        command = commands.add_parser(name, help=help_text, description=description)
        command.add_argument("number", type=int, choices=range(1, len(EXERCISES) + 1), metavar="N")
        command.set_defaults(run=run)
        if name == "check":
            command.add_argument(
                "file", type=Path, nargs="?", metavar="FILE", help="(default: as start named it)"
            )


def _list(_options: argparse.Namespace) -> int:
    for exercise in EXERCISES:
        print(f"{exercise.number}  {exercise.title}\n   {exercise.task}")
    return 0


def _start(options: argparse.Namespace) -> int:
    exercise = _exercise(options)
    file = Path(f"{exercise.name}.py")
    try:
        with file.open("x", encoding="utf-8") as made:
            made.write(exercise.template.read_text(encoding="utf-8"))
    except OSError as error:
        complain("clientgo study start", f"{error}; use another directory")
        return ExitStatus.USAGE
    print(f"Edit {file}, then run: clientgo study check {exercise.number}")
    return 0


def _check(options: argparse.Namespace) -> int:
    exercise = _exercise(options)
    try:
        outcome = exercise.run(options.file or Path(f"{exercise.name}.py"))
    except ExerciseError as error:
        complain("clientgo study check", error)
        return ExitStatus.USAGE
    print(exercise.report(outcome))
    return ExitStatus.OK if outcome.passed else ExitStatus.FAILED


def _hint(options: argparse.Namespace) -> int:
    print(_exercise(options).hint)
    return 0


def _solution(options: argparse.Namespace) -> int:
    print(_exercise(options).solution.read_text(encoding="utf-8"), end="")
    return 0


def _exercise(options: argparse.Namespace) -> Exercise:
    number: int = options.number
    return EXERCISES[number - 1]
