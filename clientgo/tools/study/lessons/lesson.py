"""What a lesson is: a script, a question about it, and what is counted in its run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from clientgo.tools.study.lessons.marks import Line, matches
from clientgo.tools.study.lessons.stage import Stage


@dataclass(frozen=True, slots=True)
class Answer:
    """One of three answers to choose from, and what to reply to it."""

    text: str
    reply: str


Counter = Callable[[Sequence[Line]], int]
"""Counts something in the lines of a run."""


@dataclass(frozen=True, slots=True)
class Count:
    """A number that a run has. ``expected`` is what the lesson teaches."""

    label: str
    expected: int
    of: Counter


def hops(name: str, where: Callable[[Line], bool] = lambda _: True, **fields: Any) -> Counter:
    """Count the hops of a name that have these fields, and for which ``where`` is true."""
    return lambda lines: sum(matches(line, name, fields) and where(line) for line in lines)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A lesson. ``name`` is the end of its address, ``right`` the place of the right answer.

    ``concept`` is a page of the documentation, as its path without the ending and its title.
    """

    name: str
    title: str
    sentence: str
    question: str
    answers: tuple[Answer, Answer, Answer]
    right: int
    counts: Sequence[Count]
    concept: tuple[str, str]
    exercise: int
    script: Callable[[Stage], None]

    def perform(self, stage: Stage) -> None:
        """Run the script, and leave what was counted as its last mark. Blocks.

        Raises:
            LessonError: a step has not the effect that the script waits for.
        """
        stage.clear()
        self.script(stage)
        shown = stage.shown()
        stage.end([(count.label, count.of(shown)) for count in self.counts])
