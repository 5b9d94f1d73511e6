"""The text of a lesson, as a reader without scripts gets it."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from clientgo.tools.study.lessons.catalog import LESSONS, TEN, lesson_called
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.page import Site, panel, site_page
from clientgo.tools.study.page import asset
from tests.tools.study.lessons.runs import run_of

SITE = Site(docs="../../", learn="../", page="../page/")


class _Reader(HTMLParser):
    """Collects the text of the lesson, and the links of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.texts: list[str] = []
        self._depth = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self._depth += tag == "section"
        self.links += [value for name in ("href", "src") if (value := found.get(name))]

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "section"
        self.texts.append("" if tag in ("a", "b", "code", "span") else " ")

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_the_text_has_the_sentences_the_question_the_answer_and_the_count(lesson: Lesson) -> None:
    run = run_of(lesson.name)

    text = _Reader(site_page(run, SITE)).text

    said = [mark["text"] for mark in run.marks("say")]
    answers = [part for answer in lesson.answers for part in (answer.text, answer.reply)]
    for part in (lesson.title, lesson.sentence, *said, lesson.question, *answers):
        assert part in text
    assert (
        f"The right answer is {'ABC'[lesson.right]}. {lesson.answers[lesson.right].reply}" in text
    )
    for label, number in run.counts:
        assert re.search(rf"{re.escape(label)}\s*{number}\b", text)


def test_the_right_answer_cannot_be_told_by_its_place() -> None:
    places = [lesson.right for lesson in TEN]

    assert sorted(places.count(place) for place in range(3)) == [3, 3, 4]


def test_the_page_holds_its_run_and_finds_its_files() -> None:
    run = run_of("tombstone")

    page = site_page(run, SITE)

    (recording,) = re.findall(r'id="recording">(.*?)</script>', page, re.DOTALL)
    assert [json.loads(line) for line in recording.splitlines()] == run.lines
    files = [one for one in _Reader(page).links if one.startswith(SITE.page)]
    assert {asset(one.removeprefix(SITE.page)) is not None for one in files} == {True}
    assert "../page/lesson.js" in files


def test_links_lead_to_the_concept_the_exercise_and_the_other_lessons() -> None:
    links = _Reader(site_page(run_of("tombstone"), SITE)).links

    assert {"../../", "../", "../../concepts/tombstones/", "../../walkthrough/exercises/"} <= {
        *links
    }


def test_a_live_lesson_names_the_pages_and_says_nothing_before_it_has_run() -> None:
    text = _Reader(panel(lesson_called("tombstone"))).text

    assert "Tombstones (docs/concepts/tombstones.md)" in text
    assert "410 Gone" not in text
