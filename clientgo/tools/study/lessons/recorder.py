"""Runs of lessons: what the site is built from, and what tests look at."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Final

from clientgo.tools.study.lessons.late_controller import LateController, lesson_target
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.marks import MARK, LessonError, Line
from clientgo.tools.study.lessons.stage import Stage
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import Session

_OF_THE_SCRIPT: Final = ("study.held", "study.released", "study.pace")
"""Hops of the threads that a script holds; a lesson is not about them."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of a lesson: the lines of its recording, up to its end."""

    lesson: Lesson
    lines: Sequence[Line]

    @property
    def shown(self) -> Sequence[Line]:
        """The lines after the preparation."""
        return self.lines[_first(self.lines, "begin") :]

    def marks(self, what: str) -> list[Line]:
        """Return the marks of a kind."""
        return [line for line in self.lines if line["hop"] == MARK and line["what"] == what]

    @property
    def counts(self) -> list[tuple[str, int]]:
        """What was counted, by label."""
        (end,) = self.marks("end")
        return [(label, number) for label, number in end["counts"]]


def record(lesson: Lesson) -> Run:
    """Run a lesson on a server of its own.

    Raises:
        LessonError: a step had not the effect that the script waits for, or the run has other
            numbers than the lesson teaches.
    """
    controller, recording = LateController(), Recording()
    with Session(lesson_target(controller), recording, beside=lambda _: nullcontext()) as session:
        lesson.perform(Stage(session, controller))
    lines = [*_shown(recording)]
    run = Run(lesson, lines[: _first(lines, "end") + 1])
    check(run)
    return run


def check(run: Run) -> None:
    """Raise :class:`LessonError` if a run has other numbers than its lesson teaches."""
    for count, (label, counted) in zip(run.lesson.counts, run.counts, strict=True):
        if counted != count.expected:
            raise LessonError(
                f"lesson {run.lesson.name} teaches {label}: {count.expected}, "
                f"and its run has {counted}"
            )


def _shown(recording: Recording) -> Iterator[Line]:
    for encoded in recording.lines():
        line = json.loads(encoded)
        if line["hop"] not in _OF_THE_SCRIPT:
            yield line


def _first(lines: Sequence[Line], what: str) -> int:
    return next(n for n, line in enumerate(lines) if line.get("what") == what)
