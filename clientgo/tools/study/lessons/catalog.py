"""All lessons, in order."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.scripts.tombstone import LESSON as TOMBSTONE

LESSONS: Final[tuple[Lesson, ...]] = (TOMBSTONE,)


def lesson_called(name: str) -> Lesson:
    """Return the lesson of a name. Raises ``KeyError`` if there is none."""
    return {lesson.name: lesson for lesson in LESSONS}[name]
