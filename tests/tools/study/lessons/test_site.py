"""Where the lessons are on the site: their list, and a button on the page of each concept."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from clientgo.tools.study.lessons.catalog import LESSONS
from hack.site import hooks, lessons
from hack.site.links import DOCS
from tests.tools.study.lessons.runs import run_of


def built(uri: str) -> str:
    """Return the text of a page, as it is built."""
    page: Any = SimpleNamespace(meta={}, file=SimpleNamespace(src_uri=uri))
    return hooks.on_page_markdown((DOCS / uri).read_text(), page)


def test_the_list_has_each_lesson_with_its_question() -> None:
    text = built("learn/index.md")

    for lesson in LESSONS:
        assert f"1. [{lesson.title}]({lesson.name}/index.html)<br>{lesson.question}\n" in text


def test_the_list_in_the_repository_is_current() -> None:
    """``make tables`` writes it."""
    text = (DOCS / lessons.PAGE).read_text()

    assert lessons.with_list(text) == text
    assert f"1. {LESSONS[0].title}<br>{LESSONS[0].question}\n" in text


def test_a_concept_begins_with_its_lessons() -> None:
    text = built("concepts/reflector.md")

    title, _, links, *_ = text.splitlines()
    assert title == "# Reflector"
    assert links.startswith("**Play it.** [The connection is cut](../learn/resume/index.html)")
    assert "[410 Gone and the relist](../learn/relist/index.html)" in links
    assert "Play it" not in built("concepts/crds.md")


def test_the_site_has_a_page_for_each_lesson_and_their_files_once(monkeypatch: Any) -> None:
    monkeypatch.setattr(lessons, "record", lambda lesson: run_of(lesson.name))
    lessons.lesson_pages.cache_clear()

    found = lessons.lesson_pages()

    pages = {name for name in found if name.endswith(".html")}
    assert pages == {f"learn/{lesson.name}/index.html" for lesson in LESSONS}
    assert "learn/page/lesson.js" in found
    assert all('src="../page/lesson.js"' in found[name] for name in pages)
    lessons.lesson_pages.cache_clear()
