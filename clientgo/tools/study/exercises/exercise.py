"""What an exercise is: a file to complete, a check that runs it, and what the check found."""

from __future__ import annotations

import importlib.util
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.observe.trace import Hop, by_key
from clientgo.util.copies import CopyableError

_FOLDER = Path(__file__).parent


class ExerciseError(CopyableError):
    """The learner's file cannot be run."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a check looked at; for a prediction, what the learner expected."""

    what: str
    expected: object
    happened: object

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

    def run(self, file: Path) -> Outcome:
        """Check a file. Raises :class:`ExerciseError` if it cannot be run."""
        with _quiet():
            return self.check(_loaded(file))

    def report(self, outcome: Outcome) -> str:
        """What was expected, what happened, and where to look."""
        lines = [f"Exercise {self.number}: {self.title}", ""]
        for finding in outcome.findings:
            lines.append(f"{'ok  ' if finding.ok else 'FAIL'}  {finding.what}")
            if not finding.ok:
                lines.append(f"        expected: {_said(finding.expected)}")
                lines.append(f"        happened: {_said(finding.happened)}")
        if outcome.passed:
            return "\n".join([*lines, "", "Passed."])
        if outcome.hops:
            lines += ["", "What happened, hop by hop:", "", by_key(outcome.hops)]
        lines += ["", f"Look at {self.look}.", f"A hint: clientgo study hint {self.number}"]
        return "\n".join(lines)


def predicted(module: Any, name: str) -> Any:
    """What the learner predicts. Raises :class:`ExerciseError` without a prediction."""
    prediction = asked(module, name)
    if prediction is None:
        raise ExerciseError(f"write your prediction of {name} into the file, then check again")
    return prediction


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


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave the library's log out: the report says what happened."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
