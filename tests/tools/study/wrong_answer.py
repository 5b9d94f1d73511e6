"""What a learner writes into the file of an exercise, and the sentence that helps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WrongAnswer:
    """The solution with ``right`` replaced by ``wrong``."""

    number: int
    name: str
    right: str
    wrong: str
    help: str

    def text(self, solution: str) -> str:
        assert self.right in solution, f"the solution of {self.number} has changed"
        return solution.replace(self.right, self.wrong)
