"""What an exercise is: a file to complete, a check that runs it, and what the check found."""

from __future__ import annotations

import importlib.util
import linecache
import logging
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from clientgo.observe.trace import Hop, by_key
from clientgo.util.copies import CopyableError

_FOLDER = Path(__file__).parent

LIMIT: Final = 2.5
"""Seconds that a check may take. A check waits for no timer, so only a file that blocks takes
longer."""

MOST_HOPS: Final = 40
"""Hops of a report: what repeats itself need not be read twice."""


class ExerciseError(CopyableError):
    """The learner's file cannot be run."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check looked at; for a prediction, what the learner expected.

    ``help`` says what a wrong answer misses.
    """

    what: str
    expected: object
    happened: object
    help: str = ""

    @property
    def ok(self) -> bool:
        return self.expected == self.happened


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a check found, and the trace of the run."""

    findings: Sequence[Finding]
    hops: Sequence[Hop] = ()

    @property
    def passed(self) -> bool:
        return all(finding.ok for finding in self.findings)


@dataclass(frozen=True, slots=True)
class Exercise:
    """One exercise. ``name`` is that of its files, ``look`` says where to read on."""

    number: int
    name: str
    title: str
    task: str
    hint: str
    look: str
    check: Callable[[Any], Outcome]

    @property
    def template(self) -> Path:
        """The file that the learner begins with."""
        return _FOLDER / "templates" / f"{self.name}.py"

    @property
    def solution(self) -> Path:
        return _FOLDER / "solutions" / f"{self.name}.py"

    def run(self, file: Path, limit: float = LIMIT) -> Outcome:
        """Check a file, and say where it blocks if that takes more than ``limit`` seconds.

        Then the thread of the check goes on in the background. Raises :class:`ExerciseError` if
        the file cannot be run.
        """
        with _quiet():
            return _within(limit, file, lambda: self.check(_loaded(file)))

    def report(self, outcome: Outcome) -> str:
        """What was expected, what happened, and where to look."""
        lines = [f"Exercise {self.number}: {self.title}", ""]
        for finding in outcome.findings:
            lines.append(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.what}")
            if not finding.ok:
                lines.append(f"        expected: {_said(finding.expected)}")
                lines.append(f"        happened: {_said(finding.happened)}")
                lines += [f"        {finding.help}"] if finding.help else []
        if outcome.passed:
            return "\n".join([*lines, "", "Passed."])
        if outcome.hops:
            shown, rest = outcome.hops[:MOST_HOPS], outcome.hops[MOST_HOPS:]
            lines += ["", "What happened, hop by hop:", "", by_key(shown)]
            lines += [f"... and {len(rest)} more hops"] if rest else []
        lines += ["", f"Look at {self.look}.", f"A hint: clientgo study hint {self.number}"]
        return "\n".join(lines)


def predicted(module: Any, name: str) -> Any:
    """What the learner predicts. Raises :class:`ExerciseError` without a prediction."""
    prediction = asked(module, name)
    if prediction is None:
        raise ExerciseError(f"write your prediction of {name} into the file, then check again")
    return list(prediction) if isinstance(prediction, tuple) else prediction


def asked(module: Any, name: str) -> Any:
    """What the learner's file calls ``name``. Raises :class:`ExerciseError` without one."""
    try:
        return getattr(module, name)
    except AttributeError as error:
        raise ExerciseError(f"the file has no {name}; take it from the template again") from error


def _said(value: object) -> str:
    return {"True": "yes", "False": "no", "[]": "nothing", "{}": "nothing", "": "nothing"}.get(
        str(value), str(value)
    )


def _loaded(file: Path) -> Any:
    spec = importlib.util.spec_from_file_location("exercise", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise ExerciseError(f"{file} is no Python file; clientgo study start N makes one")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ExerciseError(f"{file} cannot be imported: {error!r}") from error
    return module


def _within(limit: float, file: Path, check: Callable[[], Outcome]) -> Outcome:
    result: Future[Outcome] = Future()

    def work() -> None:
        try:
            result.set_result(check())
        except BaseException as error:  # noqa: BLE001 - the learner's code may raise anything
            line = _line_of(file, error)
            if line and not isinstance(error, ExerciseError):
                result.set_result(
                    Outcome([Finding(f"line {line} does not raise", "", repr(error))])
                )
            else:
                result.set_exception(error)

    thread = threading.Thread(target=work, name="exercise", daemon=True)
    thread.start()
    try:
        outcome = result.result(limit)
    except FutureTimeoutError:
        if result.done():
            raise
        return Outcome([_blocked(file, limit)])
    thread.join()
    return outcome


def _line_of(file: Path, error: BaseException) -> int:
    """Return the line of the file that has raised an error; 0 if it comes from elsewhere."""
    lines = [
        at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename == str(file)
    ]
    return lines[-1] or 0 if lines else 0


def _blocked(file: Path, limit: float) -> Finding:
    """Say which line of the file the check waits for."""
    line = 0
    frames: list[FrameType | None] = [*sys._current_frames().values()]
    for frame in frames:
        while frame is not None and frame.f_code.co_filename != str(file):
            frame = frame.f_back
        line = frame.f_lineno if frame else line
    text = linecache.getline(str(file), line).strip()
    return Finding(
        f"the check ends within {limit:g} s",
        True,
        f"line {line} does not end: {text}" if line else "your code has returned, but not stopped",
        "Code of a controller ends when its queue or its stop event says so, and does not sleep.",
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave the library's log out: the report says what happened."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
