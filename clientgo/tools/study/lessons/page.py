"""A lesson as HTML: its text, which a script turns into steps, and its page on a site."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from itertools import takewhile
from typing import Any, Final

from clientgo.tools.study.exercises.catalog import EXERCISES
from clientgo.tools.study.lessons.catalog import LESSONS, MORE, TEN
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.marks import MARK
from clientgo.tools.study.lessons.recorder import Run
from clientgo.tools.study.page import index, template, with_files_in, with_recording

_LETTERS: Final = "ABC"
_NAME: Final = re.compile(r"\b(?:foo|web)-\d+\b")


@dataclass(frozen=True, slots=True)
class Site:
    """Where the pages are, as addresses relative to that of a lesson."""

    docs: str
    learn: str
    page: str
    """The folder of the scripts and style sheets."""


def panel(lesson: Lesson, run: Run | None = None, site: Site | None = None) -> str:
    """Return the text of a lesson, with what was said and counted in its ``run``."""
    before, after = ([], []) if run is None else _told(run)
    counts = [] if run is None else run.counts
    right = lesson.answers[lesson.right]
    wrong = [answer for answer in lesson.answers if answer is not right]
    return template("lesson.html").format(
        number=_number(lesson),
        others=_others(site),
        title=escape(lesson.title),
        sentence=_named(lesson.sentence),
        before=_items(before),
        question=_named(lesson.question),
        answers="\n".join(_answer(lesson, place) for place in range(len(lesson.answers))),
        replies="\n".join(
            [f"<p>The right answer is {_LETTERS[lesson.right]}. {escape(right.reply)}</p>"]
            + [f"<p>{escape(answer.text)} No: {escape(answer.reply)}</p>" for answer in wrong]
        ),
        after=_items(after),
        counts="\n".join(
            f'<tr><th scope="row">{escape(label)}</th><td>{number}</td></tr>'
            for label, number in counts
        ),
        further="\n".join(f"<li>{item}</li>" for item in _further(lesson, site)),
    )


def site_page(run: Run, site: Site) -> str:
    """Return the page of a lesson, which plays its run."""
    lesson = run.lesson
    setup: dict[str, Any] = {
        "live": False,
        "title": f"{lesson.title} - clientgo",
        "subtitle": "Lessons: the sample controller keeps a Deployment for each Foo",
        "lesson": {},
    }
    page = index(setup, panel(lesson, run, site)).replace(
        "<h1>clientgo study</h1>", f'<h1><a href="{site.docs}">clientgo</a></h1>'
    )
    return with_recording(with_files_in(page, site.page), run.lines)


def _number(lesson: Lesson) -> str:
    if lesson in MORE:
        return "For readers who want more"
    return f"Lesson {TEN.index(lesson) + 1} of {len(TEN)}"


def _told(run: Run) -> tuple[list[str], list[str]]:
    """Return the sentences before the question, and those after it."""
    marks = [line for line in run.lines if line["hop"] == MARK]
    before = [*takewhile(lambda mark: mark["what"] != "ask", marks)]
    return _said(before), _said(marks[len(before) :])


def _said(marks: Iterable[Mapping[str, Any]]) -> list[str]:
    return [mark["text"] for mark in marks if mark["what"] == "say"]


def _items(texts: Iterable[str]) -> str:
    return "\n".join(f"<li>{_named(text)}</li>" for text in texts)


def _named(text: str) -> str:
    """Return a text in which no name of an object is broken at its hyphen."""
    return _NAME.sub(r'<b class="name">\g<0></b>', escape(text))


def _answer(lesson: Lesson, place: int) -> str:
    answer, right = lesson.answers[place], " data-right" if place == lesson.right else ""
    return f'<li data-reply="{escape(answer.reply)}"{right}>{_named(answer.text)}</li>'


def _further(lesson: Lesson, site: Site | None) -> Iterable[str]:
    path, title = lesson.concept
    exercise = next(one for one in EXERCISES if one.number == lesson.exercise)
    yield "The concept: " + _link(site, path, title)
    practice = _link(site, "walkthrough/exercises", f"Exercise {exercise.number}")
    yield f"{practice}, {escape(exercise.title)} {_code('study start', exercise.number)}"
    if site is not None:
        yield f"With a controller that runs: {_code('study --lesson', lesson.name)}"
    following = LESSONS[LESSONS.index(lesson) + 1 :]
    if following and site is not None:
        yield f'Next: <a href="{site.learn}{following[0].name}/">{escape(following[0].title)}</a>'


def _code(command: str, argument: object) -> str:
    return f"<code>clientgo {command} {argument}</code>"


def _link(site: Site | None, path: str, title: str) -> str:
    if site is None:
        return f"{escape(title)} (<code>docs/{path}.md</code>)"
    return f'<a href="{site.docs}{path}/">{escape(title)}</a>'


def _others(site: Site | None) -> str:
    if site is None:
        return ""
    return f'<a href="{site.learn}">All lessons</a>'
