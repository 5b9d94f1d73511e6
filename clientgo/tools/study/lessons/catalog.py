"""All lessons, in order: the ten, and those for readers who want more."""

from __future__ import annotations

from typing import Final

from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.scripts import (
    back_off,
    conflict,
    delta_fifo,
    dirty,
    frozen_watch,
    list_then_watch,
    owner,
    relist,
    resume,
    resync,
    stale_cache,
    ten_edits,
    tombstone,
)

TEN: Final[tuple[Lesson, ...]] = (
    list_then_watch.LESSON,
    delta_fifo.LESSON,
    stale_cache.LESSON,
    ten_edits.LESSON,
    dirty.LESSON,
    back_off.LESSON,
    owner.LESSON,
    resume.LESSON,
    relist.LESSON,
    tombstone.LESSON,
)
MORE: Final[tuple[Lesson, ...]] = (frozen_watch.LESSON, resync.LESSON, conflict.LESSON)
LESSONS: Final = TEN + MORE


def lesson_called(name: str) -> Lesson:
    """Return the lesson of a name. Raises ``KeyError`` if there is none."""
    return {lesson.name: lesson for lesson in LESSONS}[name]
