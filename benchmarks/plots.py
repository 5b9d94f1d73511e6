"""Which cells of a result are drawn, each as a picture: bars, or lines over sizes or workers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grid import Figure
from clientgo.testing.bench import charts


@dataclass(frozen=True)
class Chart:
    """Which figures a chart shows. ``over`` names the x axis of lines, ``things`` are counted."""

    title: str
    layer: str
    operation: str
    workers: str = ""
    over: str = ""
    things: str = "events"


CHARTS = {
    "queue-one-thread": Chart(
        "Queue: add, get, done in one thread", "queue", "add, get, done", things="keys"
    ),
    "queue-workers": Chart(
        "Queue: one producer", "queue", "threads", "1 producers", "workers", things="keys"
    ),
    "store-size": Chart("Store: objects added", "store", "add", over="objects"),
    "informer-foos": Chart("Watch of Foos, 1 KB", "informer", "watch, Foos of 1 KB"),
    "informer-pods": Chart("Watch of pods, 6 KB", "informer", "watch, pods of 6 KB"),
    "informer-list": Chart(
        "First list in pages, Foos of 1 KB",
        "informer",
        "first list in pages, Foos of 1 KB",
        things="objects",
    ),
    "informer-peers": Chart(
        "Watch, each client in a process of its own", "informer", "watch in a process of its own"
    ),
    "informer-memory": Chart(
        "Most memory of these processes", "informer", "memory of this process"
    ),
    "controller": Chart(
        "Sample controller", "controller", "reconciles", "4 workers", things="Foos"
    ),
}


def draw(result: Mapping[str, Any], directory: Path) -> None:
    """Write a file for each chart whose figures are there."""
    directory.mkdir(parents=True, exist_ok=True)
    figures = [Figure(**each) for each in result["figures"]]
    for name, wanted in CHARTS.items():
        found = [
            each
            for each in figures
            if (each.layer, each.operation) == (wanted.layer, wanted.operation)
            and each.workers.startswith(wanted.workers)
        ]
        if found:
            text = _lines(wanted, found) if wanted.over else _bars(wanted, found)
            (directory / f"{name}.svg").write_text(text, encoding="utf-8")


def _bars(wanted: Chart, figures: Sequence[Figure]) -> str:
    """Return a bar for each implementation, of the largest size."""
    largest = max(each.size for each in figures)
    drawn = [
        charts.Bar(each.implementation, each.value, each.least, each.most, each.is_peer)
        for each in figures
        if each.size == largest
    ]
    unit = f"{figures[0].unit}; median, and from the least to the most of the rounds"
    return charts.bars(_titled(wanted, largest), drawn, unit)


def _lines(wanted: Chart, figures: Sequence[Figure]) -> str:
    """Return a line for each implementation, over sizes or workers."""
    known: dict[str, list[tuple[int, float]]] = {}
    for each in figures:
        place = each.size if wanted.over == "objects" else _workers(each)
        known.setdefault(each.implementation, []).append((place, each.value))
    title = _titled(wanted, 0 if wanted.over == "objects" else figures[0].size)
    return charts.lines(title, known, wanted.over, figures[0].unit)


def _workers(figure: Figure) -> int:
    return int(re.findall(r"\d+", figure.workers)[-1])


def _titled(wanted: Chart, size: int) -> str:
    return f"{wanted.title}; {size:,} {wanted.things}" if size else wanted.title
