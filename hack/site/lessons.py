"""The lessons of the site: each is run when the site is built, and becomes a page that plays it.

``python -m hack.site.lessons`` writes their list into the page of all lessons.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import cache
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File

from clientgo.tools.study.lessons.catalog import LESSONS, MORE, TEN
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.page import Site, site_page
from clientgo.tools.study.lessons.recorder import record
from clientgo.tools.study.page import asset, names
from hack.site.links import DOCS

PAGE: Final = "learn/index.md"
_LIST: Final = re.compile(r"(<!-- lessons -->\n).*(<!-- end of lessons -->)", re.DOTALL)
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


def with_list(markdown: str, shown: Callable[[Lesson], str] = lambda one: one.title) -> str:
    """Return the text of the page of all lessons with their list; its titles are ``shown`` so."""
    ten, more = (
        "\n".join(f"1. {shown(one)}<br>{one.question}" for one in lessons)
        for lessons in (TEN, MORE)
    )
    return _LIST.sub(rf"\1\n{ten}\n\nFor readers who want more:\n\n{more}\n\n\2", markdown)


def with_lessons(markdown: str, uri: str) -> str:
    """Return the text of a page with its lessons: a concept begins with them."""
    if uri == PAGE:
        return with_list(markdown, lambda one: f"[{one.title}]({one.name}/index.html)")
    links = [
        f"[{one.title}](../learn/{one.name}/index.html)"
        for one in LESSONS
        if f"{one.concept[0]}.md" == uri
    ]
    title, _, rest = markdown.partition("\n")
    return f"{title}\n\n**Play it.** {' · '.join(links)}\n{rest}" if links else markdown


if __name__ == "__main__":
    page = DOCS / PAGE
    page.write_text(with_list(page.read_text()))
