"""Each lesson runs as it says, and what it teaches is seen on the hops of its run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clientgo.tools.study.exercises.catalog import EXERCISES
from clientgo.tools.study.lessons.catalog import LESSONS, lesson_called
from clientgo.tools.study.lessons.lesson import Lesson
from clientgo.tools.study.lessons.lesson import hops as number_of
from clientgo.tools.study.lessons.marks import LessonError, Line
from clientgo.tools.study.lessons.recorder import Run, check, record
from clientgo.tools.study.lessons.stage import Stage
from tests.tools.study.lessons.runs import asked_at, hops, place, run_of

DOCS = Path(__file__).parents[4] / "docs"
LONGEST = 30
"""Words of a sentence."""


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_asks_once_and_counts_what_it_teaches(lesson: Lesson) -> None:
    run = run_of(lesson.name)

    whats = [mark["what"] for mark in run.shown if mark["hop"] == "study.lesson"]
    assert whats[:2] == ["begin", "say"]
    assert (whats.count("ask"), whats[-1]) == (1, "end")
    assert "say" in whats[whats.index("ask") :]
    assert run.counts == [(count.label, count.expected) for count in lesson.counts]


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_a_lesson_leads_to_a_concept_and_an_exercise_in_short_sentences(lesson: Lesson) -> None:
    path, title = lesson.concept
    assert (DOCS / f"{path}.md").read_text().startswith(f"# {title}\n")
    assert lesson.exercise in {exercise.number for exercise in EXERCISES}

    texts = [mark["text"] for mark in run_of(lesson.name).marks("say")]
    texts += [lesson.sentence, lesson.question]
    texts += [text for answer in lesson.answers for text in (answer.text, answer.reply)]
    sentences = [one for text in texts for one in re.split(r"(?<=[.?:]) ", text)]
    assert [one for one in sentences if len(one.split()) > LONGEST] == []


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_each_fault_that_the_picture_shows_is_lifted(lesson: Lesson) -> None:
    actions = hops(run_of(lesson.name), "study.action")

    shown = [line["fault"] for line in actions if line.get("fault")]
    assert [name for line in actions for name in line.get("lifted", [])] == shown


def test_a_run_with_other_numbers_is_refused() -> None:
    lesson = lesson_called("tombstone")
    run = run_of(lesson.name)
    wrong = replace(lesson.counts[-1], expected=7)

    with pytest.raises(LessonError, match="teaches Deployments created: 7, and its run has 1"):
        check(replace(run, lesson=replace(lesson, counts=[*lesson.counts[:-1], wrong])))


def test_a_step_without_its_effect_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def script(stage: Stage) -> None:
        monkeypatch.setattr("clientgo.tools.study.lessons.stage.TIMEOUT", 0.0)
        stage.wait("queue.add")

    lesson = replace(lesson_called("tombstone"), script=script)

    with pytest.raises(LessonError, match=r"queue.add .*not seen; the last hops are"):
        record(lesson)


def test_a_count_looks_at_the_fields_and_the_condition() -> None:
    count = number_of("queue.add", lambda line: line["key"] != "a", of="foos")
    lines = [
        {"hop": "queue.add", "of": "foos", "key": "a"},
        {"hop": "queue.add", "of": "foos", "key": "b"},
        {"hop": "queue.add", "of": "other", "key": "b"},
        {"hop": "queue.get", "of": "foos", "key": "b"},
    ]

    assert count(lines) == 1


# What each lesson teaches


def test_a_tombstone_has_the_last_state_that_the_cache_knew() -> None:
    run = run_of("tombstone")
    (changed, deleted) = hops(run, "study.object", key="default/web-2")[:2]
    (tombstone,) = hops(run, "handler.call", tombstone=True)

    assert (changed["type"], deleted["type"]) == ("MODIFIED", "DELETED")
    assert int(tombstone["version"]) < int(changed["version"]) < int(deleted["version"])
    assert place(run, deleted) < asked_at(run) < place(run, tombstone)
    (added,) = hops(run, "queue.add")
    assert added["key"] == "default/foo-2"


def test_what_is_created_after_the_list_comes_by_the_watch() -> None:
    run = run_of("list-then-watch")
    (bookmark,) = hops(run, "watch.event", of="Foo", type="BOOKMARK")
    (created,) = hops(run, "study.object", key="default/foo-3")
    (event,) = hops(run, "watch.event", key="default/foo-3")

    assert int(bookmark["version"]) < int(created["version"])
    assert place(run, bookmark) < place(run, created) < asked_at(run) < place(run, event)
    assert [line["delta"] for line in hops(run, "fifo.append", key="default/foo-3")] == ["Added"]


def test_the_delta_fifo_keeps_each_change_and_the_work_queue_merges_keys() -> None:
    run = run_of("delta-fifo")
    changes = hops(run, "fifo.append", key="default/foo-1")
    (popped,) = hops(run, "fifo.pop", key="default/foo-1")

    assert popped["deltas"] == ["Updated"] * 3
    assert place(run, changes[-1]) < asked_at(run) < place(run, popped)
    versions = [line["version"] for line in changes]
    assert [line["version"] for line in hops(run, "handler.call", key="default/foo-1")] == versions
    outcomes = [line["outcome"] for line in hops(run, "queue.add", key="default/foo-1")]
    assert outcomes == ["new", "known", "known"]


def test_a_sync_reads_an_old_version_and_the_next_one_the_new() -> None:
    run = run_of("stale-cache")
    new = hops(run, "study.object", resource="foos")[0]["version"]
    first, second = hops(run, "sync.start")
    reads = [
        line
        for line in hops(run, "cache.get", of="Foo")
        if line["thread"] in (first["thread"], second["thread"])
    ]

    assert [line["version"] == new for line in reads] == [False, True]
    written = [line["object"]["spec"]["replicas"] for line in _deployments(run)]
    assert written == [5, 1, 3]
    assert asked_at(run) < place(run, first)


def _deployments(run: Run) -> list[Line]:
    return hops(run, "study.object", resource="deployments")


def test_ten_edits_are_merged_before_and_while_the_key_is_processed() -> None:
    run = run_of("ten-edits")
    outcomes = [line["outcome"] for line in hops(run, "queue.add")]

    assert outcomes == ["new", "known", "known", "while_processing", *["known"] * 7]
    assert [line["again"] for line in hops(run, "queue.done")] == [True, False]
    last_edit = hops(run, "study.object", resource="foos")[-1]["version"]
    (first, second) = hops(run, "sync.start")
    read = [line["version"] for line in hops(run, "cache.get", of="Foo")]
    assert read.count(last_edit) >= 2
    assert place(run, hops(run, "queue.get")[0]) < asked_at(run) < place(run, first)
    assert place(run, hops(run, "request.sent")[-1]) < place(run, second)


def test_no_two_workers_process_the_dirty_key() -> None:
    run = run_of("dirty")
    taken = [line["hop"] for line in run.shown if line["hop"] in ("queue.get", "queue.done")]

    assert taken == ["queue.get", "queue.done"] * 2
    (dirty,) = hops(run, "queue.add", outcome="while_processing")
    (start, _) = hops(run, "sync.start")
    (end, _) = hops(run, "sync.end")
    assert place(run, start) < place(run, dirty) < asked_at(run) < place(run, end)
    assert [line["object"]["spec"]["replicas"] for line in _deployments(run)] == [2, 4]


def test_each_back_off_is_twice_the_one_before_and_another_key_goes_on() -> None:
    run = run_of("back-off")
    failed = hops(run, "queue.add_rate_limited")
    (other,) = hops(run, "sync.end", key="default/foo-2")
    last_try = hops(run, "queue.get", key="default/foo-1")[-1]

    assert [line["delay"] for line in failed] == pytest.approx([0.005 * 2**n for n in range(10)])
    assert place(run, failed[-1]) < place(run, other) < place(run, last_try)
    assert other["at"] - failed[-1]["at"] < failed[-1]["delay"]
    (forgotten,) = hops(run, "queue.forget", key="default/foo-1")
    assert place(run, last_try) < place(run, forgotten)


def test_a_child_leads_to_its_owner_and_is_repaired() -> None:
    run = run_of("owner")
    (call, *_) = hops(run, "handler.call")
    added = hops(run, "queue.add")

    assert (call["of"], call["key"]) == ("Deployment", "default/web-1")
    assert {line["key"] for line in added} == {"default/foo-1"}
    assert asked_at(run) < place(run, call) < place(run, added[0])
    assert [line["object"]["spec"]["replicas"] for line in _deployments(run)] == [5, 1]


def test_a_watch_is_resumed_after_the_last_version_that_was_seen() -> None:
    run = run_of("resume")
    (again,) = hops(run, "request.sent", of="Foo")
    (opened,) = hops(run, "watch.opened", of="Foo")
    changed = hops(run, "study.object", resource="foos")

    assert f"resourceVersion={opened['version']}&" in again["path"]
    assert int(opened["version"]) < min(int(line["version"]) for line in changed)
    events = [line["version"] for line in hops(run, "watch.event", of="Foo")]
    assert events == [line["version"] for line in changed]
    assert hops(run, "fifo.append", delta="Replaced") == []


def test_a_relist_calls_the_handler_for_each_object() -> None:
    run = run_of("relist")
    (gone,) = hops(run, "watch.event", of="Foo", type="ERROR")
    ended = hops(run, "watch.ended", of="Foo")[-1]
    calls = {line["key"]: line["event"] for line in hops(run, "handler.call", of="Foo")}

    assert "too old resource version" in ended["reason"]
    assert place(run, gone) < asked_at(run)
    assert calls == {
        "default/foo-1": "update",
        "default/foo-2": "resync",
        "default/foo-3": "delete",
        "default/foo-4": "add",
    }
    wrote = {line["key"] for line in hops(run, "request.sent", of="foos")}
    assert wrote == {"default/foo-1", "default/foo-4"}


def test_a_frozen_watch_brings_nothing_and_shows_nothing() -> None:
    run = run_of("frozen-watch")
    new = hops(run, "study.object", resource="foos")[0]["version"]
    before = run.shown[: asked_at(run)]

    assert {line["hop"] for line in before} <= {"study.lesson", "study.action", "study.object"}
    assert [line["version"] for line in hops(run, "watch.event", of="Foo")] == [new]
    assert _deployments(run)[-1]["object"]["spec"]["replicas"] == 3


def test_a_resync_comes_from_the_cache_and_sends_no_request() -> None:
    run = run_of("resync")

    assert {line["delta"] for line in hops(run, "fifo.append")} == {"Sync"}
    assert {line["event"] for line in hops(run, "handler.call")} == {"resync"}
    assert hops(run, "request.sent") == []
    assert {line["key"] for line in hops(run, "queue.add")} == {"default/foo-1", "default/foo-2"}


def test_a_conflict_is_a_failed_sync_and_the_next_one_reads_the_new_version() -> None:
    run = run_of("conflict")
    new = hops(run, "study.object", resource="foos", type="MODIFIED")[0]["version"]
    failed, synced = hops(run, "sync.end")
    (refused,) = hops(run, "request.answered", status=409)

    assert (failed["error"].partition(":")[0], synced["error"]) == ("ConflictError", "")
    assert asked_at(run) < place(run, refused) < place(run, failed)
    reads = hops(run, "cache.get", of="Foo", thread=synced["thread"])
    assert reads[-1]["version"] == new
    assert _deployments(run)[-1]["object"]["spec"]["replicas"] == 3
