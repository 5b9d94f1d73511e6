"""The lessons of the site: each is run when the site is built, and becomes a page that plays it."""

from __future__ import annotations

import logging
from functools import cache
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File

from clientgo.tools.study.lessons.catalog import LESSONS, MORE, TEN
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.page import Site, site_page
from clientgo.tools.study.lessons.recorder import record
from clientgo.tools.study.page import asset, names

PAGE: Final = "learn/index.md"
_PLACE: Final = "<!-- lessons -->"
_SITE: Final = Site(docs="../../", learn="../", page="../page/")


@cache
def lesson_pages() -> dict[str, str]:
    """Run the lessons; return their pages, and the files of the pages, by where they are.

    Raises:
        LessonError: a lesson does not run as it says.
    """
    shared = {f"learn/page/{name}": asset(name) or "" for name in names()}
    logging.disable()  # lessons fail on purpose
    try:
        runs = [record(one) for one in LESSONS]
    finally:
        logging.disable(logging.NOTSET)
    return shared | {f"learn/{run.lesson.name}/index.html": site_page(run, _SITE) for run in runs}


def lesson_files(config: MkDocsConfig) -> list[File]:
    """Return the files of the lessons, for the site."""
    return [File.generated(config, uri, content=text) for uri, text in lesson_pages().items()]


def _item(lesson: Lesson) -> str:
    return f"1. [{lesson.title}]({lesson.name}/index.html)<br>{lesson.question}"


def with_lessons(markdown: str, uri: str) -> str:
    """Return the text of a page with its lessons: a concept begins with them."""
    if uri == PAGE:
        ten, more = ("\n".join(map(_item, lessons)) for lessons in (TEN, MORE))
        return markdown.replace(_PLACE, f"{ten}\n\nFor readers who want more:\n\n{more}")
    links = [
        f"[{one.title}](../learn/{one.name}/index.html)"
        for one in LESSONS
        if f"{one.concept[0]}.md" == uri
    ]
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n**Play it.** {' · '.join(links)}\n{rest}" if links else markdown
