"""Each lesson in Chromium: it stops at its question, points at one pill, and counts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from clientgo.tools.study.lessons.catalog import LESSONS, lesson_called
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.live import live_lesson
from clientgo.tools.study.lessons.marks import LessonError
from clientgo.tools.study.lessons.page import Site, site_page
from clientgo.tools.study.lessons.stage import Stage
from clientgo.tools.study.page import asset, names
from clientgo.tools.study.server import PageServer
from tests.tools.study.chromium import OVERLAPS, PHONE, WIDE, chromium, needs_chromium, opened
from tests.tools.study.lessons.runs import run_of

pytestmark = [needs_chromium, pytest.mark.browser]

STILL = {"reduced_motion": "reduce"}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None: ...


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve the lessons as a site does; return the address of the folder ``learn``."""
    folder = tmp_path_factory.mktemp("site")
    write(folder / "learn/page", {name: asset(name) or "" for name in names()})
    for lesson in LESSONS:
        page = site_page(run_of(lesson.name), Site(docs="../../", learn="../", page="../page/"))
        write(folder / "learn" / lesson.name, {"index.html": page})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/learn/"
    server.shutdown()
    thread.join()
    server.server_close()


def write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def phase(page: Any) -> str:
    found: str = page.evaluate("document.body.dataset.lesson")
    return found


def wait_for(page: Any, *phases: str) -> str:
    page.wait_for_function(
        "phases => phases.includes(document.body.dataset.lesson)", arg=list(phases)
    )
    return phase(page)


def press_until(page: Any, wanted: str) -> None:
    """Press the main button until the lesson is where it is wanted; nothing moves meanwhile."""
    while wait_for(page, "ready", "reading", wanted) != wanted:
        page.click("#lesson-main")


def counted(page: Any) -> list[tuple[str, int]]:
    rows = page.locator("#counts tbody tr").all()
    return [(row.locator("th").inner_text(), int(row.locator("td").inner_text())) for row in rows]


VISIBLE = """(pill) => {
  const area = pill.getBoundingClientRect();
  const there = document.elementFromPoint(area.x + area.width / 2, area.y + area.height / 2);
  return pill.contains(there);
}"""
"""True if the middle of an element is in the window, and nothing covers it."""

RING = """(pill) => {
  const { fill, stroke } = getComputedStyle(pill.querySelector("rect"));
  return fill === stroke ? fill : "a ring of another colour";
}"""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
@pytest.mark.parametrize(
    ("size", "scheme"), [(WIDE, "light"), (PHONE, "dark")], ids=["wide", "phone"]
)
def test_a_lesson_stops_at_its_question_points_at_a_pill_and_counts(
    browser: Any, site: str, lesson: Lesson, size: tuple[int, int], scheme: str
) -> None:
    (ask,) = run_of(lesson.name).marks("ask")
    with opened(browser, f"{site}{lesson.name}/", size, color_scheme=scheme, **STILL) as page:
        press_until(page, "asking")
        assert page.inner_text("#question") == lesson.question
        assert not page.locator(".sentence").is_visible()  # it would tell the answer
        (pointed,) = page.query_selector_all(".pill.pointed:not(.leaving)")
        name = ask["pill"].rpartition("/")[2]
        assert name in pointed.query_selector("text").inner_html()
        assert pointed.evaluate(VISIBLE)
        assert pointed.evaluate(RING) == "a ring of another colour"
        assert page.evaluate(OVERLAPS) == []

        page.locator("#answers button").nth(lesson.right).click()
        assert page.inner_text("#reply") == f"Yes. {lesson.answers[lesson.right].reply}"
        assert page.query_selector(".pill.pointed") is None

        press_until(page, "over")
        assert counted(page) == run_of(lesson.name).counts
        assert page.inner_text(".sentence") == lesson.sentence
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        panel = page.locator("#lesson").bounding_box()
        assert panel["x"] + panel["width"] <= size[0]
        assert page.evaluate(OVERLAPS) == []


def test_a_lesson_is_played_with_the_keyboard_and_moves(browser: Any, site: str) -> None:
    lesson = lesson_called("tombstone")
    with opened(browser, f"{site}tombstone/") as page:
        wait_for(page, "ready")
        page.clock.install()
        page.keyboard.press("Space")
        assert phase(page) == "playing"
        page.clock.run_for(60_000)
        assert phase(page) == "asking"

        wrong = (lesson.right + 1) % 3
        page.keyboard.press(str(wrong + 1))
        right = f"The right answer is {'ABC'[lesson.right]}. {lesson.answers[lesson.right].reply}"
        assert page.inner_text("#reply") == f"No. {lesson.answers[wrong].reply} {right}"
        page.clock.run_for(60_000)
        assert phase(page) == "over"
        assert counted(page) == run_of("tombstone").counts


def test_a_lesson_is_paused_stepped_and_stepped_back(browser: Any, site: str) -> None:
    with opened(browser, f"{site}tombstone/") as page:
        wait_for(page, "ready")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        assert phase(page) == "paused"
        position = page.evaluate("Study.current.position")

        page.keyboard.press("ArrowRight")
        assert page.evaluate("Study.current.position") == position + 1
        page.keyboard.press("ArrowLeft")
        assert page.evaluate("Study.current.position") == position
        assert page.inner_text("#lesson-main") == "Continue"


def test_a_lesson_is_read_without_scripts(browser: Any, site: str) -> None:
    with opened(browser, f"{site}tombstone/", PHONE, java_script_enabled=False) as page:
        shown = page.locator("body").inner_text()
        assert all(mark["text"] in shown for mark in run_of("tombstone").marks("say"))
        assert lesson_called("tombstone").question in shown
        assert not page.locator("#stage").is_visible()
        assert page.locator("#lesson").bounding_box()["width"] <= PHONE[0]


def test_a_live_lesson_that_fails_before_its_begin_says_so(
    browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(stage: Stage, *foos: str) -> None:
        raise LessonError("no such Foo")

    monkeypatch.setattr(Stage, "prepare", fail)
    lesson = lesson_called("tombstone")
    with (
        live_lesson(lesson) as (session, live),
        PageServer(session.recording, title="x", session=session, lesson=live) as server,
        opened(browser, server.url) as page,
    ):
        wait_for(page, "over")
        assert page.locator("#caption").inner_text() == "The lesson can't go on: no such Foo"


def test_a_live_lesson_ends_with_the_buttons_of_the_study(browser: Any) -> None:
    lesson = lesson_called("tombstone")
    with (
        live_lesson(lesson) as (session, live),
        PageServer(session.recording, title="x", session=session, lesson=live) as server,
        opened(browser, server.url, **STILL) as page,
    ):
        press_until(page, "asking")
        assert not page.locator("#actions").is_visible()
        page.keyboard.press("1")
        press_until(page, "over")

        assert counted(page) == [(count.label, count.expected) for count in lesson.counts]
        assert page.locator("#pause").is_visible()
        page.click("[data-action=create]")
        page.wait_for_function("Study.current.lines.some((one) => one.action === 'create')")

        page.click("#lesson-main")
        press_until(page, "asking")
