"""The grid: layer x operation x size x workers x implementation, each cell with its peers.

Every figure is printed when it is measured. Both sides of a ratio ran in turn in the same run. The
result can be written as JSON with machine, versions and commit, and compared with an earlier one.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Any

from clientgo.testing.bench import Comparison, compare
from clientgo.testing.bench.measure import Side, machine

PACKAGES = (
    "clientgo",
    "kubernetes",
    "msgspec",
    "urllib3",
    "lightkube",
    "kr8s",
    "cloudcoil",
    "kubex",
    "new-pykube",
)
RESULTS = Path(__file__).parent / "results"
SLOWER = 1.25
"""A ratio or rate that is worse by more than this is reported."""


class Scale(StrEnum):
    """How large the grid is, and how long each cell may take."""

    TINY = "tiny"
    QUICK = "quick"
    FULL = "full"


@dataclass(frozen=True)
class Figure:
    """One cell for one implementation: the median, and the rounds' range."""

    layer: str
    operation: str
    size: int
    workers: str
    implementation: str
    unit: str
    value: float
    least: float
    most: float
    ratios: dict[str, float] = field(default_factory=dict)
    """How many times as good as each peer: as fast, or as small."""
    cpu_ratios: dict[str, float] = field(default_factory=dict)
    """The same by processor time, where that was measured."""
    smaller_is_better: bool = False
    is_peer: bool = False
    """Not ours: it is not reported when it has become slower."""

    @property
    def cell(self) -> str:
        """Return what this figure is about; the same in every run."""
        parts = (self.layer, self.operation, f"{self.size:,}" if self.size else "", self.workers)
        return ", ".join(filter(None, (*parts, self.implementation)))


class Grid:
    """Measures cells and keeps the figures."""

    def __init__(self, scale: Scale) -> None:
        self.scale = scale
        self.figures: list[Figure] = []
        self.skipped: dict[str, str] = {}
        """Why something could not be measured."""
        self.versions = dict(versions())

    def pick(self, *, tiny: Any, quick: Any, full: Any) -> Any:
        """Return the value for this scale."""
        return {Scale.TINY: tiny, Scale.QUICK: quick, Scale.FULL: full}[self.scale]

    def compare(
        self,
        layer: str,
        operation: str,
        size: int,
        sides: Mapping[str, Side],
        *,
        peers: Sequence[str] = (),
        workers: str = "",
        unit: str = "items/s",
        count: int | None = None,
    ) -> Comparison:
        """Measure the sides in turn; those that are no peers get their ratio to each peer.

        ``count`` things of ``unit`` are done in a round; as many as the cell's size, if not given.
        """
        count = size if count is None else count
        rounds = self.pick(tiny=1, quick=9, full=21)
        budget = self.pick(tiny=0.0, quick=1.0, full=5.0)
        found = compare(count, sides, rounds=rounds, budget=budget)
        for name, seconds in found.seconds.items():
            rates = [count / each for each in seconds]
            ratios = {} if name in peers else {peer: found.ratio(name, peer) for peer in peers}
            by_cpu = {peer: found.cpu_ratio(name, peer) for peer in ratios}
            measured = (statistics.median(rates), min(rates), max(rates), ratios, by_cpu)
            cell = (layer, operation, size, workers, name, unit)
            self.add(Figure(*cell, *measured, is_peer=name in peers))
        return found

    def add(self, figure: Figure) -> None:
        """Keep a figure and print it."""
        self.figures.append(figure)
        ratios = "".join(f"  {ratio:.2f}x {peer}" for peer, ratio in figure.ratios.items())
        spread = f"({number(figure.least)} to {number(figure.most)})"
        line = f"{figure.cell}: {number(figure.value)} {figure.unit} {spread}{ratios}"
        print(line, flush=True)

    def skip(self, what: str, why: str) -> None:
        """Note what can't be measured here."""
        self.skipped[what] = why
        print(f"{what}: skipped, {why}", flush=True)

    def result(self) -> dict[str, Any]:
        """Return everything as JSON."""
        return {
            "machine": machine(),
            "versions": self.versions,
            "commit": commit(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "scale": self.scale,
            "load": round(os.getloadavg()[0], 1),
            "figures": [asdict(each) for each in self.figures],
            "skipped": self.skipped,
        }


def number(value: float) -> str:
    """Return a number with three digits that matter."""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def versions() -> Iterator[tuple[str, str]]:
    """Return the version of each package that is measured, if it is installed."""
    for name in PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            continue


def commit() -> str:
    """Return the commit of the working tree, with a plus if something has changed since."""
    command = ["git", "describe", "--always", "--dirty=+"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def slower(new: Mapping[str, Any], old: Mapping[str, Any]) -> str:
    """Return in one line what became slower than in an earlier result of the same machine."""
    if new["machine"] != old["machine"]:
        return "no comparison: the committed result is of another machine"
    before = {Figure(**each).cell: Figure(**each) for each in old["figures"]}
    worse = []
    for each in (Figure(**figure) for figure in new["figures"]):
        known = before.get(each.cell)
        factor = _worse_by(each, known) if known else 1.0
        if factor > SLOWER:
            worse.append(f"{each.cell} ({factor:.1f} times)")
    then = f"at {old['commit']} (load {old['load']}, now {new['load']})"
    if not worse:
        return f"nothing is slower by more than a quarter than {then}"
    return f"slower than {then}: {'; '.join(worse)}"


def _worse_by(new: Figure, old: Figure) -> float:
    """Return by which factor a figure is worse: by its first ratio, or by its value."""
    for peer, ratio in new.ratios.items():
        if peer in old.ratios and ratio:
            return old.ratios[peer] / ratio
    if new.is_peer or not (new.value and old.value):
        return 1.0
    return new.value / old.value if new.smaller_is_better else old.value / new.value


def merged(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result with the layers of a later run in place of its own, and what run that was."""
    layers = {each["layer"] for each in later["figures"]}
    kept = [each for each in earlier["figures"] if each["layer"] not in layers]
    run = {name: later[name] for name in ("commit", "date", "load")}
    return {
        **earlier,
        "figures": kept + later["figures"],
        "later": {**earlier.get("later", {}), **dict.fromkeys(sorted(layers), run)},
    }


def load(file: Path) -> dict[str, Any]:
    """Read a result."""
    read: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return read
