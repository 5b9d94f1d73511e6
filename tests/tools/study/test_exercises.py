"""``clientgo study check``: each template fails with a message that helps, each solution passes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.tools.study.exercises import EXERCISES, Exercise, ExerciseError, Outcome

each = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: f"{one.number}-{one.name}")

PREDICTIONS = {
    "SYNCS: int | None = None": "SYNCS = 11",
    "ADDS_THAT_CHANGED_SOMETHING: int | None = None": "ADDS_THAT_CHANGED_SOMETHING = 11",
    "DELTA_FIFO: list[str] | None = None": "DELTA_FIFO = ['c: Added']",
    "REAL_FIFO: list[str] | None = None": "REAL_FIFO = ['c: Added']",
    "IN_THE_CACHE: int | None = None": "IN_THE_CACHE = 1",
    "HANDLER_THAT_BLOCKS: int | None = None": "HANDLER_THAT_BLOCKS = 11",
    "CALLS_OF_THE_OTHER_HANDLER: int | None = None": "CALLS_OF_THE_OTHER_HANDLER = 1",
    "DELAYS: list[float] | None = None": "DELAYS = [1, 1, 1, 1]",
}
"""Wrong predictions, for those that the templates leave open."""

EXPECTED = {
    1: ["your SYNCS", "expected: 11", "happened: 2", "outcome=while_processing"],
    2: ["writes by handlers", "happened: 3", "It only enqueues the key", "handler.call"],
    3: ["happened: nothing", "Without queue.done(key)", "queue.get", "outcome=while_processing"],
    4: ['"replicas": 3', '"replicas": 4'],
    5: ["NoMetadataError", "tombstone=True"],
    6: ["how often all objects were listed", "happened: 3"],
    7: ["your DELTA_FIFO", "happened: ['a: Added Updated', 'b: Added Deleted', 'c: Added']"],
    8: ["default/good does not wait", "the worker takes the next key", "happened: nothing"],
    9: ["old writes default/b", "expected: LeadershipLostError"],
    10: ["Delete only if wait_for_cache_sync", "happened: nothing"],
    11: ["your IN_THE_CACHE", "happened: 11", "its events wait in memory"],
    12: ["at most two syncs of the new Foo", "makes each write an event"],
    13: ["the child's controller", "happened: none", "new_controller_ref(foo)"],
}
"""What the report of each template says."""


def with_predictions(exercise: Exercise, folder: Path) -> Path:
    text = exercise.template.read_text()
    for open_, wrong in PREDICTIONS.items():
        text = text.replace(open_, wrong)
    file = folder / f"{exercise.name}.py"
    file.write_text(text)
    return file


@each
def test_a_solution_passes(exercise: Exercise) -> None:
    outcome = exercise.run(exercise.solution, limit=60.0)

    assert outcome.passed, exercise.report(outcome)
    assert exercise.report(outcome).endswith("Passed.")
    assert len(outcome.hops) > 0, "the trace of the run"


@each
def test_a_template_fails_and_says_what_happened_and_where_to_look(
    exercise: Exercise, tmp_path: Path
) -> None:
    outcome = exercise.run(with_predictions(exercise, tmp_path), limit=60.0)
    report = exercise.report(outcome)

    assert not outcome.passed
    for text in (*EXPECTED[exercise.number], f"Look at {exercise.look}", "hop by hop"):
        assert text in report, report


@pytest.mark.parametrize("number", [1, 7, 8, 11])
def test_a_prediction_comes_before_the_run(number: int) -> None:
    """What happens is not shown to someone who has not predicted it."""
    exercise = EXERCISES[number - 1]

    with pytest.raises(ExerciseError, match="write your prediction of"):
        exercise.run(exercise.template)


@each
def test_what_an_exercise_refers_to_exists(exercise: Exercise) -> None:
    root = Path(__file__).parents[3]
    places = [word.strip(".,") for word in exercise.look.split() if "/" in word]

    assert places
    assert [place for place in places if not (root / place).is_file()] == []
    assert exercise.task
    assert exercise.hint
    assert exercise.number == EXERCISES.index(exercise) + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def work(queue, sync:\n", "cannot be imported: SyntaxError"),
        ("raise ValueError('no')\n", "cannot be imported: ValueError"),
        ("def other(): pass\n", "has no work"),
    ],
)
def test_a_file_that_cannot_be_run_says_why(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)

    with pytest.raises(ExerciseError, match=message):
        EXERCISES[2].run(file)


def test_an_exception_of_the_learner_s_code_is_part_of_the_report(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def work(queue, sync): queue.take()\n")
    outcome: Outcome = EXERCISES[2].run(file)

    assert "AttributeError" in EXERCISES[2].report(outcome)


def test_a_file_that_blocks_is_reported_with_its_line(tmp_path: Path) -> None:
    """In a process of its own: nothing ends the thread of the check."""
    file = tmp_path / "mine.py"
    file.write_text("def work(queue, sync):\n    while True:\n        pass\n")

    run = subprocess.run(
        [sys.executable, "-m", "clientgo", "study", "check", "3", str(file)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert run.returncode == 1
    assert "the check ends within 2.5 s" in run.stdout
    assert "does not end: " in run.stdout
    assert run.stderr == ""


def test_the_commands_lead_through_an_exercise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert main(["study", "exercises"]) == 0
    assert "9  two leaders" in capsys.readouterr().out
    assert main(["study", "start", "3"]) == 0
    assert "clientgo study check 3" in capsys.readouterr().out
    assert main(["study", "start", "3"]) == 2, "an edited file is not overwritten"
    assert "File exists" in capsys.readouterr().err
    assert main(["study", "check", "3"]) == 1
    assert "FAIL" in capsys.readouterr().out
    assert main(["study", "hint", "3"]) == 0
    assert "finally" in capsys.readouterr().out
    assert main(["study", "solution", "3"]) == 0
    (tmp_path / "forgotten_done.py").write_text(capsys.readouterr().out)
    assert main(["study", "check", "3"]) == 0
    assert "Passed." in capsys.readouterr().out
    assert main(["study", "check", "3", "nowhere.py"]) == 2
    assert "nowhere.py is no Python file" in capsys.readouterr().err
