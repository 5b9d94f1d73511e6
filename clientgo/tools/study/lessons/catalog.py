"""All lessons, in order."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.scripts import (
    back_off,
    delta_fifo,
    dirty,
    list_then_watch,
    owner,
    relist,
    resume,
    stale_cache,
    ten_edits,
    tombstone,
)

LESSONS: Final[tuple[Lesson, ...]] = tuple(
    script.LESSON
    for script in (
        list_then_watch,
        delta_fifo,
        stale_cache,
        ten_edits,
        dirty,
        back_off,
        owner,
        resume,
        relist,
        tombstone,
    )
)


def lesson_called(name: str) -> Lesson:
    """Return the lesson of a name. Raises ``KeyError`` if there is none."""
    return {lesson.name: lesson for lesson in LESSONS}[name]
