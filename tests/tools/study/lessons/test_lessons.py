"""Each lesson runs as it says, and what it teaches is seen on the hops of its run."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from clientgo.tools.study.exercises.catalog import EXERCISES
from clientgo.tools.study.lessons.catalog import LESSONS, lesson_called
from clientgo.tools.study.lessons.lesson import Count, Lesson
from clientgo.tools.study.lessons.marks import LessonError
from clientgo.tools.study.lessons.recorder import check, record
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
    count = Count("x", 1, "queue.add", {"of": "foos"}, lambda line: line["key"] != "a")
    lines = [
        {"hop": "queue.add", "of": "foos", "key": "a"},
        {"hop": "queue.add", "of": "foos", "key": "b"},
        {"hop": "queue.add", "of": "other", "key": "b"},
        {"hop": "queue.get", "of": "foos", "key": "b"},
    ]

    assert count.of(lines) == 1


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
