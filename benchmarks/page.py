"""What the documentation's page says of a result: clients, queues, targets, plots, machine.

Every figure of that part of the page comes from the result. Rows whose figures are not in it are
left out, so that a result of some layers can be shown too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from benchmarks.grid import RESULTS, Figure, load
from benchmarks.plots import CHARTS
from clientgo.testing.bench.charts import short

BEGIN, END = "<!-- measured: make bench-full -->", "<!-- end of measured -->"
PLOTS = "../assets/benchmarks"
CLIENT_GO: Final = RESULTS / "client-go.json"
"""Figures of the last run on a machine with a Go toolchain: ours and client-go's."""

REAL_SERVER: Final = RESULTS / "real-server.json"
"""Figures of the last run of :mod:`benchmarks.real_server`."""


_APART: Final = "watch in a process of its own"
_START: Final = "start to the first event"
_START_CPU: Final = "start by processor time"
_CPU: Final = "the same by processor time"
_MEMORY: Final = "memory of this process"


@dataclass(frozen=True)
class Row:
    """A figure beside a target: a ratio to a peer, or the value itself."""

    text: str
    layer: str
    operation: str
    implementation: str
    peer: str = ""
    target: float = 0.0
    workers: str = ""
    of_workers: str = ""
    """The figure is divided by the one for so many workers."""


def _watches(kind: str, spec_read: float) -> Iterator[Row]:
    for form, loop, targets in (
        ("typed", "Structs", {"header": 1.3, "spec read": spec_read}),
        ("unstructured", "dicts", {"all read": 0.5}),
    ):
        for what, target in targets.items():
            yield Row(
                f"watch, {kind}, {form}, {what}", "informer",
                f"watch, {kind}", f"informer, {form}, {what}", f"bare loop to {loop}", target,
            )  # fmt: skip


def _lists(kind: str) -> Iterator[Row]:
    for how in ("streamed", "in pages"):
        yield Row(
            f"first list {how}, {kind}", "informer", f"first list {how}, {kind}",
            "informer, typed", "bare loop to Structs", 0.9,
        )  # fmt: skip


TARGETS = (
    Row("queue, one thread", "queue", "add, get, done", "Queue", "queue.Queue", 3),
    *(
        Row("priority queue, one thread", "queue", "add, get, done", "PriorityQueue", peer, target)
        for peer, target in (("queue.Queue", 1.5), ("queue.PriorityQueue", 2))
    ),
    *(
        Row(f"queue, 1 producer and {count} workers", "queue", "threads", "Queue", "queue.Queue",
            3, f"1 producers, {count} workers")
        for count in ("4", "16")
    ),
    *(
        Row("queue, 16 producers and 16 workers", "queue", "threads", "Queue", peer,
            target, "16 producers, 16 workers")
        for peer, target in (("queue.Queue", 3), ("textbook Condition queue", 1.5))
    ),
    Row("queue, delayed add", "queue", "add_after 1 ms", "RateLimitingQueue", target=300_000),
    Row("queue, failure of a key", "queue", "failed once", "RateLimitingQueue", target=150_000),
    *_watches("Foos of 1 KB", 0.9),
    *_watches("pods of 6 KB", 0.6),
    *_lists("Foos of 1 KB"),
    *_lists("pods of 6 KB"),
    Row("Indexer with 2 indexes, adds", "store", "add", "Indexer, 2 indexes", "dict", 0.25),
    *(
        Row(f"byte to handler, p99 at 80 % load{where}", "informer",
            f"byte to handler, p99, 80 % load{where}", "informer", target=5)
        for where in ("", ", one processor")
    ),
    *(
        Row(f"heap for {what}", "memory", f"heap for {what}, typed", "clientgo", target=target)
        for what, target in (("a Foo of 1 KB", 1_700), ("a pod of 6 KB", 8 * 1024))
    ),
    Row("highest heap of a first list, of what is kept", "memory",
        "peak of a first list, of what is kept", "clientgo", target=1.2),
    Row("full garbage collection with 100,000 cached objects", "memory",
        "full garbage collection with the objects cached", "clientgo", target=20),
    Row("sample controller", "controller", "reconciles",
        "sample controller", "bare threads", 0.9, "4 workers"),
    Row("syncs that compute for 2 ms, two processes", "controller", "syncs of 2 ms",
        "ControlLoop", "", 1.8, "2 processes", "1 processes"),
)  # fmt: skip


def block(
    result: Mapping[str, Any],
    with_go: Mapping[str, Any] | None = None,
    on_real_server: Mapping[str, Any] | None = None,
) -> str:
    """Return what stands between the marks of the page.

    ``with_go`` has the figures of client-go if the result has none, ``on_real_server`` those of
    :mod:`benchmarks.real_server`.
    """
    figures = [Figure(**each) for each in result["figures"]]
    parts = [
        _made_by(result),
        *_clients(figures),
        *_client_go(figures, with_go),
        *_real_server(on_real_server),
        *_queues(figures),
        *(f"![{chart.title}]({PLOTS}/{name}.svg)" for name, chart in CHARTS.items()),
        "## Targets",
        _targets(figures),
        *(f"- Not measured: {what}: {why}." for what, why in result["skipped"].items()),
    ]
    return "\n\n".join(parts)


def _made_by(result: Mapping[str, Any]) -> str:
    machine, versions = result["machine"], result["versions"]
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    text = (
        f"{machine['processor']}, {machine['processors']} processors, {machine['system']}, "
        f"{machine['python']}; {packages}. Commit {result['commit']}, {result['date']}, load "
        f"{result['load']} at the end."
    )
    for layer, run in result.get("later", {}).items():
        text += (
            f" The layer {layer} is of a run of its own: commit {run['commit']}, {run['date']}, "
            f"load {run['load']}."
        )
    if result["load"] > 2 * machine["processors"]:
        text += " Other work ran on the machine: compare processor time."
    return text


def _clients(figures: Sequence[Figure]) -> Iterator[str]:
    """Return a row for each client, and for which sizes ours is the fastest."""
    found = [each for each in figures if each.layer == "informer"]
    sizes = sorted({each.size for each in found if each.operation == _APART}, reverse=True)
    if not sizes:
        return
    columns = [
        (f"{size:,} events, {text}", what, size)
        for size in sizes
        for text, what in (("a second", _APART), ("by CPU", _CPU))
    ]
    columns += [
        ("first event, ms", _START, 0),
        ("by CPU", _START_CPU, 0),
        ("memory, MB", _MEMORY, sizes[0]),
    ]
    cells = {
        (each.implementation, each.operation, each.size): each
        for each in found
        if each.operation in (_APART, _CPU, _START, _START_CPU, _MEMORY)
    }
    names = dict.fromkeys(each for each, _, _ in cells)
    lines = [
        "| watch of 1 KB Foos | " + " | ".join(head for head, _, _ in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for name in names:
        row = [
            _beside(cells.get((name, what, size)), cells.get(("clientgo", what, size)))
            for _, what, size in columns
        ]
        lines.append(f"| {name} | {' | '.join(row)} |")
    yield "\n".join(lines)
    yield " ".join(_place(cells, size) for size in sizes)


def _beside(theirs: Figure | None, ours: Figure | None) -> str:
    if theirs is None:
        return ""
    ratio = ours.ratios.get(theirs.implementation) if ours else None
    return short(theirs.value) + (f" ({_times(ratio)} x)" if ratio else "")


def _times(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2f}"


def _place(cells: Mapping[tuple[str, str, int], Figure], size: int) -> str:
    """Say which clients need less processor time than ours for so many events."""
    rates = {name: each.value for (name, *of), each in cells.items() if of == [_CPU, size]}
    better = [name for name, rate in rates.items() if rate > rates["clientgo"]]
    if not better:
        return f"With {size:,} events ours takes the least processor time."
    return f"With {size:,} events {' and '.join(better)} took less processor time."


def _client_go(figures: Sequence[Figure], with_go: Mapping[str, Any] | None) -> Iterator[str]:
    if with_go is None or any(each.implementation.startswith("client-go") for each in figures):
        return
    found = [Figure(**each) for each in with_go["figures"]]
    size = max(each.size for each in found)
    theirs = [each for each in found if each.size == size]
    ours = {each.operation: each for each in theirs if each.implementation == "clientgo"}
    lines = ["| | clientgo | client-go, typed | client-go, dynamic |", "|---|---|---|---|"]
    for operation, text in (
        (_APART, "events a second"),
        (_CPU, "by processor time"),
        (_MEMORY, "memory, MB"),
    ):
        row = [
            _beside(each, ours[operation])
            for name in ("clientgo", "client-go, typed", "client-go, dynamic")
            for each in theirs
            if (each.operation, each.implementation) == (operation, name)
        ]
        lines.append(f"| {text} | {' | '.join(row)} |")
    versions = with_go["versions"]
    yield (
        f"client-go {versions['client-go']} in an earlier run with a Go toolchain (commit "
        f"{with_go['commit']}, {with_go['date']}), with {size:,} events:"
    )
    yield "\n".join(lines)


def _real_server(result: Mapping[str, Any] | None) -> Iterator[str]:
    """Return a row for each figure of controllers on one API server."""
    if result is None:
        return
    figures = [Figure(**each) for each in result["figures"]]
    names = list(dict.fromkeys(each.implementation for each in figures))
    cells = {(each.operation, each.implementation): each for each in figures}
    lines = [f"| | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for each in figures:
        if each.implementation != names[0]:
            continue
        row = [_beside(cells.get((each.operation, name)), each) for name in names]
        lines.append(f"| {each.operation}, {each.unit} | {' | '.join(row)} |")
    yield (
        f"The sample controller beside others on one kube-apiserver "
        f"({result['versions']['API server']}; commit {result['commit']}, {result['date']}, load "
        f"{result['load']}), {figures[0].size:,} Foos, 2 workers, no limit of requests. Processor "
        "time is that of the controller alone:"
    )
    yield "\n".join(lines)


_QUEUES: Final = ("Queue", "queue.Queue", "queue.SimpleQueue", "textbook Condition queue")


def _queues(figures: Sequence[Figure]) -> Iterator[str]:
    lines = [f"| items a second | {' | '.join(_QUEUES)} |", "|---" * (len(_QUEUES) + 1) + "|"]
    for text, operation, workers in (
        ("one thread", "add, get, done", ""),
        ("1 producer, 4 workers", "threads", "1 producers, 4 workers"),
        ("1 producer, 16 workers", "threads", "1 producers, 16 workers"),
        ("16 producers, 16 workers", "threads", "16 producers, 16 workers"),
    ):
        row = Row(text, "queue", operation, "Queue")
        ours = _find(figures, row, "Queue", workers)
        if ours is not None:
            cells = [_beside(_find(figures, row, name, workers), ours) for name in _QUEUES]
            lines.append(f"| {text} | {' | '.join(cells)} |")
    if lines[2:]:
        yield "\n".join(lines)


def _targets(figures: Sequence[Figure]) -> str:
    lines = ["| | ours | beside | ratio | by CPU | target |", "|---|---|---|---|---|---|"]
    for row in TARGETS:
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
            beside += f": {short(other.value)}"
        value = f"{short(ours.value)} {ours.unit}"
        by_cpu = ours.cpu_ratios.get(row.peer)
        ratios = " | ".join("" if each is None else f"{each:.2f}" for each in (ratio, by_cpu))
        judged = _judged(row, ours, by_cpu or ratio)
        lines.append(f"| {row.text} | {value} | {beside} | {ratios} | {judged} |")
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


def _judged(row: Row, found: Figure, ratio: float | None) -> str:
    """Return the target, and whether it is met, by processor time where that was measured."""
    target = short(row.target)
    if ratio is not None:
        met = ratio >= row.target
    else:
        met = found.value <= row.target if found.smaller_is_better else found.value >= row.target
    return f"{target}: met" if met else f"{target}: missed"


def of_their_own() -> Iterator[Mapping[str, Any] | None]:
    """Return results of other runs than that of the grid, in the order of :func:`block`."""
    for file in (CLIENT_GO, REAL_SERVER):
        yield load(file) if file.exists() else None


def write(page: Path, result: Mapping[str, Any]) -> None:
    """Replace what is between the marks."""
    text = block(result, *of_their_own())
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def written(page: Path) -> str:
    """Return what is between the marks."""
    return page.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
