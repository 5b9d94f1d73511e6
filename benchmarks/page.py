"""What the documentation's page says of a result: headlines, targets, plots, machine.

Every figure of that part of the page comes from the result. Rows whose figures are not in it are
left out, so that a result of some layers can be shown too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.grid import Figure
from benchmarks.plots import CHARTS
from clientgo.testing.bench.charts import short

BEGIN, END = "<!-- measured: make bench-full -->", "<!-- end of measured -->"
PLOTS = "../assets/benchmarks"


@dataclass(frozen=True)
class Row:
    """A figure that the page shows: a ratio to a peer, or the value itself."""

    text: str
    layer: str
    operation: str
    implementation: str
    peer: str = ""
    target: float = 0.0
    workers: str = ""
    of_workers: str = ""
    """The figure is divided by the one for so many workers."""


def _watches(kind: str) -> Iterator[Row]:
    for form, loop in (("typed", "Structs"), ("unstructured", "dicts")):
        for what, target in (("header", 1.3), ("spec read", 0.9), ("all read", 0.0)):
            yield Row(
                f"watch, {kind}, {form}, {what}", "informer",
                f"watch, {kind}", f"informer, {form}, {what}", f"bare loop to {loop}",
                target if form == "typed" else 0.0,
            )  # fmt: skip
    yield Row(
        f"watch, {kind}, typed, header", "informer",
        f"watch, {kind}", "informer, typed, header", "bare loop that keeps Structs",
    )  # fmt: skip


def _lists(kind: str) -> Iterator[Row]:
    for how in ("streamed", "in pages"):
        for loop, target in (("to Structs", 0.85), ("that keeps Structs", 0.0)):
            yield Row(
                f"first list {how}, {kind}, typed", "informer",
                f"first list {how}, {kind}", "informer, typed", f"bare loop {loop}", target,
            )  # fmt: skip


def _reads(kind: str) -> Iterator[Row]:
    for form in ("typed", "unstructured"):
        yield Row(
            f"first read of a body, {kind}, {form}", "informer",
            f"decoding, {kind}, {form}", f"first read of it, {form}, spec read",
            f"header of an event, {form}", 1 / 1.2,
        )  # fmt: skip


_QUEUES = ("queue.Queue", "queue.SimpleQueue", "textbook Condition queue")
_APART = "watch in a process of its own"
_CLIENTS = (
    "client-go, typed",
    "client-go, dynamic",
    "kubernetes",
    "cloudcoil",
    "lightkube",
    "kr8s",
)
HEADLINES = (
    *(
        Row("watch of 1 KB Foos, headers", "informer", _APART, "clientgo", each)
        for each in _CLIENTS
    ),
    *(
        Row("the same, by processor time", "informer", "the same by processor time",
            "clientgo", each)
        for each in _CLIENTS
    ),
    *(
        Row("most memory of that process", "informer", "memory of this process",
            "clientgo", each)
        for each in _CLIENTS
    ),
    *(
        Row("queue, 1 producer and 4 workers", "queue", "threads", "Queue", each,
            workers="1 producers, 4 workers")
        for each in _QUEUES
    ),
)  # fmt: skip
_COUNTS = ("4", "8", "16")
TARGETS = (
    Row("queue, one thread", "queue", "add, get, done", "Queue", "queue.Queue", 3),
    *(
        Row("priority queue, one thread", "queue", "add, get, done", "PriorityQueue", peer, target)
        for peer, target in (("queue.Queue", 1.5), ("queue.PriorityQueue", 2))
    ),
    *(
        Row(f"queue, 1 producer and {count} workers", "queue", "threads", "Queue", peer,
            target, f"1 producers, {count} workers")
        for count in _COUNTS
        for peer, target in (("queue.Queue", 3), ("queue.SimpleQueue", 0.1))
    ),
    *(
        Row("queue, 16 producers and 16 workers", "queue", "threads", "Queue", peer,
            target, "16 producers, 16 workers")
        for peer, target in (("queue.Queue", 3), ("textbook Condition queue", 1.5))
    ),
    Row("queue, delayed add", "queue", "add_after 1 ms", "RateLimitingQueue", target=300_000),
    Row("queue, failure of a key", "queue", "failed once", "RateLimitingQueue", target=150_000),
    Row("queue, 16 workers", "queue", "threads", "Queue", "", 0.5,
        "1 producers, 16 workers", "1 producers, 1 workers"),
    *_watches("Foos of 1 KB"),
    *_watches("pods of 6 KB"),
    *_lists("Foos of 1 KB"),
    *_lists("pods of 6 KB"),
    *_reads("Foos of 1 KB"),
    *_reads("pods of 6 KB"),
    Row("byte to handler, p99 at 1 % load", "informer", "byte to handler, p99, 1 % load",
        "informer"),
    Row("byte to handler, p99 at 80 % load", "informer", "byte to handler, p99, 80 % load",
        "informer", target=10),
    *(
        Row(f"heap for {what}, {form}", "memory", f"heap for {what}, {form}", "clientgo",
            target=target)
        for what, target in (("a Foo of 1 KB", 1.6 * 1024), ("a pod of 6 KB", 8 * 1024))
        for form in ("typed", "unstructured")
    ),
    Row("highest heap of a first list, of what is kept", "memory",
        "peak of a first list, of what is kept", "clientgo", target=1.2),
    Row("heap for a queued key", "memory", "heap for a queued key", "clientgo"),
    Row("heap that a key leaves that failed three times", "memory",
        "heap that is left by a key that failed three times", "clientgo"),
    Row("heap that a relist leaves", "memory", "heap that is left by each of 10 relists",
        "clientgo"),
    Row("full garbage collection with 100,000 cached objects", "memory",
        "full garbage collection with the objects cached", "clientgo", target=20),
    Row("sample controller", "controller", "reconciles",
        "sample controller", "bare threads", 0.8, "4 workers"),
    Row("syncs that compute for 2 ms, two processes", "controller", "syncs of 2 ms",
        "ControlLoop", "", 1.8, "2 processes", "1 processes"),
)  # fmt: skip


def block(result: Mapping[str, Any]) -> str:
    """Return what stands between the marks of the page."""
    figures = [Figure(**each) for each in result["figures"]]
    machine, versions = result["machine"], result["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [
        f"{machine['processor']}, {machine['processors']} processors, {machine['system']}, "
        f"{machine['python']}; {packages}. Commit {result['commit']}, {result['date']}, load "
        f"{result['load']} at the end.",
        _table(figures, HEADLINES, "| | ours | beside | times as fast, or as small |"),
        *(f"![{chart.title}]({PLOTS}/{name}.svg)" for name, chart in CHARTS.items()),
        "## Targets",
        _table(figures, TARGETS, "| | ours | beside | ratio | target | |"),
        *(f"- Not measured: {what}: {why}." for what, why in result["skipped"].items()),
    ]
    return "\n\n".join(parts)


def _table(figures: Sequence[Figure], rows: Sequence[Row], head: str) -> str:
    columns = head.count("|") - 1
    lines = [head, "|" + "---|" * columns]
    for row in rows:
        if (ours := _find(figures, row, row.implementation, row.workers)) is None:
            continue
        beside, ratio = "", None
        if row.peer:
            other, ratio = _find(figures, row, row.peer, row.workers), ours.ratios.get(row.peer)
            beside = row.peer
        elif row.of_workers:
            other = _find(figures, row, row.implementation, row.of_workers)
            ratio, beside = other and ours.value / other.value, row.of_workers
        if beside:
            if other is None or ratio is None:
                continue
            beside += f": {short(other.value)} {other.unit}"
        value = f"{short(ours.value)} {ours.unit}"
        if ours.least < ours.most:
            value += f" ({short(ours.least)} to {short(ours.most)})"
        cells = [row.text, value, beside, "" if ratio is None else f"{ratio:.2f} x"]
        cells += _judged(row, ours, ratio)
        lines.append(f"| {' | '.join(cells[:columns])} |")
    return "\n".join(lines)


def _find(figures: Sequence[Figure], row: Row, implementation: str, workers: str) -> Figure | None:
    """Return the figure of the largest size."""
    cell = (row.layer, row.operation, implementation, workers)
    fitting = [
        each
        for each in figures
        if (each.layer, each.operation, each.implementation, each.workers) == cell
    ]
    return max(fitting, key=lambda each: each.size, default=None)


def _judged(row: Row, found: Figure, ratio: float | None) -> tuple[str, str]:
    """Return the target, and whether it is met or by how much it is missed."""
    if not row.target:
        return "", ""
    if ratio is not None:
        met, judged = ratio >= row.target, f"missed: {ratio / row.target:.2f} of the target"
        return f"{row.target:.2f} x", "met" if met else judged
    factor = found.value / row.target
    if found.smaller_is_better:
        judged = "met" if factor <= 1 else f"missed: {factor:.2f} times as much"
    else:
        judged = "met" if factor >= 1 else f"missed: {factor:.2f} of the target"
    return f"{short(row.target)} {found.unit}", judged


def write(page: Path, text: str) -> None:
    """Replace what is between the marks."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def written(page: Path) -> str:
    """Return what is between the marks."""
    return page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
