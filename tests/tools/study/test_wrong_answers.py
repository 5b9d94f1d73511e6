"""The commonest wrong answers to each exercise: none passes, each report has what helps.

A wrong answer is the solution with one part replaced.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clientgo.tools.study.exercises import EXERCISES
from tests.tools.study.wrong_answer import WrongAnswer
from tests.tools.study.wrong_answers_caches import WRONG_OF_CACHES
from tests.tools.study.wrong_answers_loops import WRONG_OF_LOOPS
from tests.tools.study.wrong_answers_queues import WRONG_OF_QUEUES

WRONG = (*WRONG_OF_CACHES, *WRONG_OF_QUEUES, *WRONG_OF_LOOPS)


@pytest.mark.parametrize("answer", WRONG, ids=lambda one: f"{one.number}-{one.name}")
def test_a_wrong_answer_fails_with_the_sentence_that_helps(
    answer: WrongAnswer, tmp_path: Path
) -> None:
    exercise = EXERCISES[answer.number - 1]
    file = tmp_path / "mine.py"
    file.write_text(answer.text(exercise.solution.read_text()))

    outcome = exercise.run(file, limit=60.0)  # a busy machine is no wrong answer
    report = exercise.report(outcome)

    assert not outcome.passed, report
    assert answer.help in report, report
    assert len(report.splitlines()) < 90, "nobody reads on"


def test_each_exercise_has_five_wrong_answers_or_more() -> None:
    few = [
        one.number
        for one in EXERCISES
        if len([answer for answer in WRONG if answer.number == one.number]) < 5
    ]

    assert few == []
