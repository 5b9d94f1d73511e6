"""The runs of the lessons, each recorded once a process."""

from __future__ import annotations

from functools import cache
from typing import Any

from clientgo.tools.study.lessons.catalog import lesson_called
from clientgo.tools.study.lessons.marks import Line, matches
from clientgo.tools.study.lessons.recorder import Run, record


@cache
def run_of(name: str) -> Run:
    return record(lesson_called(name))


def hops(run: Run, hop: str, **fields: Any) -> list[Line]:
    """Return the hops of a run that have these fields."""
    return [line for line in run.shown if matches(line, hop, fields)]


def place(run: Run, line: Line) -> int:
    return run.shown.index(line)


def asked_at(run: Run) -> int:
    """Return where the question is."""
    (ask,) = run.marks("ask")
    return place(run, ask)
