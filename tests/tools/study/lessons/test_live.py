"""A lesson with a controller that runs: it waits for the answer, and can begin again."""

from __future__ import annotations

import http.client
import json
from dataclasses import replace
from urllib.parse import urlsplit

import pytest

from clientgo.tools.study.lessons.catalog import LESSONS, lesson_called
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.live import live_lesson
from clientgo.tools.study.lessons.stage import Stage
from clientgo.tools.study.server import PageServer
from tests.tools.study.reading import Reader

TEN_EDITS, TOMBSTONE = lesson_called("ten-edits"), lesson_called("tombstone")


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_run_waits_for_the_answer_and_then_lets_the_controller_go(lesson: Lesson) -> None:
    with live_lesson(lesson) as (session, live):
        reader = Reader(session.recording)

        live.begin(live.new_number())
        asked = reader.wait_for("the question", lambda line: line.get("what") in ("ask", "failed"))
        assert asked["what"] == "ask", asked
        live.answer()

        end = reader.wait_for("the end", lambda line: line.get("what") in ("end", "failed"))
        assert end.get("counts") == [[count.label, count.expected] for count in lesson.counts]
        live.end()
        assert session.pacing.mode == "running"


def test_the_controller_is_held_until_the_answer() -> None:
    with live_lesson(TOMBSTONE) as (session, live):
        reader, modes = Reader(session.recording), []

        def answered() -> None:
            reader.wait_for_hop("study.lesson", what="ask")
            modes.append(session.pacing.mode)

        TOMBSTONE.perform(Stage(session, live._controller, answered))

        assert modes == ["paused"]
        assert not reader.has("handler.call", tombstone=True), "before the answer"
        reader.wait_for_hop("handler.call", tombstone=True)


def test_another_run_ends_the_one_before_and_begins_without_its_objects() -> None:
    with live_lesson(TEN_EDITS) as (session, live):
        reader = Reader(session.recording)
        live.begin(1)
        reader.wait_for_hop("study.lesson", what="ask")

        live.begin(2)
        reader.wait_for_hop("study.lesson", what="run", run=2)
        assert not reader.has("study.lesson", what="end")
        reader.wait_for_hop("study.lesson", what="ask")
        live.answer()

        end = reader.wait_for_hop("study.lesson", what="end")
        assert end["counts"] == [[count.label, count.expected] for count in TEN_EDITS.counts]


@pytest.mark.thread_failure
def test_a_script_that_fails_is_said_and_holds_nothing() -> None:
    def fail(stage: Stage) -> None:
        stage.hold()
        raise ValueError("no such Foo")

    with live_lesson(replace(TOMBSTONE, script=fail)) as (session, live):
        reader = Reader(session.recording)
        live.begin(1)
        failed = reader.wait_for_hop("study.lesson", what="failed")
        live.end()
        assert failed["text"] == "no such Foo"
        assert session.pacing.mode == "running"


def test_the_page_begins_a_run_and_answers() -> None:
    with (
        live_lesson(TOMBSTONE) as (session, live),
        PageServer(session.recording, title="x", session=session, lesson=live) as server,
    ):
        reader = Reader(session.recording)
        page = _request(server.url, "GET", "")
        assert f">{TOMBSTONE.title}</h2>" in page
        assert '"lesson": {"run": 1}' in page

        assert _request(server.url, "POST", "lesson", {"begin": 1}) == "{}"
        reader.wait_for_hop("study.lesson", what="ask")
        assert _request(server.url, "POST", "lesson", {"answered": True}) == "{}"
        reader.wait_for_hop("study.lesson", what="end")


def _request(url: str, method: str, path: str, body: object = None) -> str:
    where = urlsplit(url)
    connection = http.client.HTTPConnection(where.netloc, timeout=30)
    connection.request(
        method,
        where.path + path,
        None if body is None else json.dumps(body),
        {"Content-Type": "application/json"},
    )
    text = connection.getresponse().read().decode()
    connection.close()
    return text
