"""What came of it: each perturbation of each write, and how to repeat one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from clientgo.testcluster.server.faults import ObservedRequest
from clientgo.testing.perturb.writes import Write

Verdict: TypeAlias = Literal["ok", "FAIL", "not reached"]


@dataclass(frozen=True)
class Outcome:
    """How a controller has coped with one perturbation of one write.

    ``problem`` says what differs, ``requests`` are those around the write. A write is "not reached"
    if the disturbed run did not come to it.
    """

    perturbation: str
    write: Write
    verdict: Verdict
    problem: str = ""
    requests: Sequence[ObservedRequest] = ()

    @property
    def name(self) -> str:
        """What ``only`` selects it by."""
        return f"{self.perturbation}: {self.write}"

    def described(self, command: str) -> str:
        """Describe a failure: the perturbation, what differs, the requests, and the command."""
        lines = [f"FAIL {self.name}", "", *_indented(self.problem.splitlines()), ""]
        lines += ["  the requests around it:"]
        lines += _indented(f"  {r.code} {Write(*r[:4])}" for r in self.requests)
        lines += ["", "  repeat it with:", f"    {command.replace('ONLY', repr(self.name))}"]
        return "\n".join(lines)


@dataclass(frozen=True)
class Report:
    """All outcomes. ``command`` repeats one, with its name for ONLY."""

    writes: Sequence[Write]
    outcomes: Sequence[Outcome]
    command: str = "perturb(..., only=ONLY)"

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes in which something differs."""
        return [outcome for outcome in self.outcomes if outcome.verdict == "FAIL"]

    def check(self) -> None:
        """Raise AssertionError with all failures, if there are any."""
        if self.failures:
            texts = [outcome.described(self.command) for outcome in self.failures]
            raise AssertionError("\n\n".join([*texts, self.summary()]))

    def summary(self) -> str:
        """Count the outcomes in a line."""
        counts = {
            verdict: sum(outcome.verdict == verdict for outcome in self.outcomes)
            for verdict in ("ok", "FAIL", "not reached")
        }
        return (
            f"{len(self.writes)} writes: {counts['ok']} perturbations passed, "
            f"{counts['FAIL']} failed, {counts['not reached']} not reached"
        )

    def table(self) -> str:
        """Show a row for each write, and a column for each perturbation."""
        columns = list(dict.fromkeys(outcome.perturbation for outcome in self.outcomes))
        cells = {(o.write, o.perturbation): o.verdict for o in self.outcomes}
        shown = {"ok": "ok", "FAIL": "FAIL", "not reached": "-"}
        width = max(len(str(write)) for write in self.writes)
        head = " ".join([" " * width, *columns])
        rows = [
            " ".join(
                [
                    str(write).ljust(width),
                    *(
                        shown.get(cells.get((write, column), ""), "").ljust(len(column))
                        for column in columns
                    ),
                ]
            ).rstrip()
            for write in self.writes
        ]
        return "\n".join([head, *rows])


def _indented(lines: object) -> list[str]:
    return [f"  {line}" for line in lines]  # type: ignore[attr-defined]
