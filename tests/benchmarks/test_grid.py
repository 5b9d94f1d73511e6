"""The grid of benchmarks runs, with sizes at which nothing is worth timing."""

from __future__ import annotations

import gc
import json
import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import page
from benchmarks.__main__ import LAYERS
from benchmarks.grid import RESULTS, Figure, Grid, Scale, load, merged, slower
from benchmarks.plots import draw
from clientgo.testing.bench.measure import Side, Stopwatch

pytestmark = pytest.mark.usefixtures("frozen_heap")

PAGE = Path(__file__).parents[2] / "docs/evidence/benchmarks.md"
RUN = {
    "machine": {"processor": "a", "processors": 2, "system": "Linux", "python": "CPython 3.11"},
    "versions": {"msgspec": "0.22"},
    "date": "2026-01-01",
    "load": 0.5,
    "skipped": {"client-go": "no Go toolchain is installed"},
}
FIGURE = Figure("queue", "add, get, done", 20, "", "Queue", "items/s", 100.0, 90.0, 110.0)


def result(*figures: Figure, machine: str = "this") -> dict[str, Any]:
    return {
        "machine": machine,
        "commit": "abc",
        "load": 0.5,
        "figures": json.loads(json.dumps([asdict(each) for each in figures])),
    }


@pytest.mark.parametrize("layer", LAYERS)
def test_every_cell_of_a_layer_can_be_measured(layer: str) -> None:
    grid = Grid(Scale.TINY)

    LAYERS[layer](grid)

    cells = [(each.cell, each.unit) for each in grid.figures]
    assert cells
    assert len(set(cells)) == len(cells)
    assert {each.layer for each in grid.figures} == {layer}
    assert set(grid.result()) >= {"machine", "versions", "commit", "figures"}
    assert gc.get_freeze_count(), "each later collection would look at all tests"


def test_a_figure_has_its_ratios_by_time_and_by_processor_time() -> None:
    def side(wall: float, cpu: float) -> Stopwatch:
        watch = Stopwatch()
        watch.wall, watch.cpu = wall, cpu
        return watch

    grid = Grid(Scale.TINY)
    sides: dict[str, Side] = {"ours": lambda: side(1.0, 0.5), "theirs": lambda: side(3.0, 0.25)}

    grid.compare("queue", "add", 10, sides, peers=["theirs"])

    ours, theirs = grid.figures
    assert (ours.ratios, ours.cpu_ratios) == ({"theirs": 3.0}, {"theirs": 0.5})
    assert (theirs.ratios, theirs.cpu_ratios) == ({}, {})


def test_what_became_slower_by_more_than_a_quarter_is_said_in_one_line() -> None:
    old = result(replace(FIGURE, ratios={"queue.Queue": 4.0}))

    assert slower(result(replace(FIGURE, ratios={"queue.Queue": 3.0})), old) == (
        "slower than at abc (load 0.5, now 0.5): queue, add, get, done, 20, Queue (1.3 times)"
    )
    assert slower(result(replace(FIGURE, ratios={"queue.Queue": 3.5})), old).startswith("nothing")


def test_a_figure_without_a_peer_is_compared_by_its_value() -> None:
    milliseconds = replace(FIGURE, unit="ms", smaller_is_better=True)

    assert "1.5 times" in slower(result(replace(milliseconds, value=150.0)), result(milliseconds))
    assert slower(result(replace(milliseconds, value=50.0)), result(milliseconds)).startswith("not")


def test_another_machine_and_a_slower_peer_are_not_reported() -> None:
    worse = replace(FIGURE, value=1.0)

    assert slower(result(worse, machine="other"), result(FIGURE)).startswith("no comparison")
    peer = replace(worse, is_peer=True)
    assert slower(result(peer), result(FIGURE)).startswith("nothing")


def test_a_plot_has_a_bar_for_each_implementation(tmp_path: Path) -> None:
    peer = replace(FIGURE, implementation="queue.Queue", value=25.0, is_peer=True)

    draw(result(FIGURE, peer), tmp_path)

    root = ET.parse(tmp_path / "queue-one-thread.svg").getroot()
    names = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Queue", "queue.Queue", "100", "25"} <= set(names)


def test_a_plot_over_workers_has_a_line_for_each_implementation(tmp_path: Path) -> None:
    threads = replace(FIGURE, operation="threads")
    figures = [
        replace(threads, implementation=name, workers=f"1 producers, {workers} workers")
        for name in ("Queue", "queue.Queue")
        for workers in (1, 4, 16)
    ]

    draw(result(*figures), tmp_path)

    root = ET.parse(tmp_path / "queue-workers.svg").getroot()
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polyline"))) == 2


def test_a_layer_of_a_later_run_replaces_that_of_an_earlier_one_and_is_named() -> None:
    watch = replace(FIGURE, layer="informer", operation="watch")
    earlier = {**result(FIGURE, watch), **RUN}
    later = {**result(replace(watch, value=7.0)), **RUN, "commit": "def", "date": "2026-01-02"}

    both = merged(earlier, later)

    values = {(each["layer"], each["value"]) for each in both["figures"]}
    assert values == {("queue", 100.0), ("informer", 7.0)}
    said = "The layer informer is of a run of its own: commit def, 2026-01-02, load 0.5."
    assert said in page.block(both)
    assert said not in page.block(earlier)


def test_the_page_says_that_the_machine_was_busy() -> None:
    quiet = {**result(FIGURE), **RUN}

    assert "Other work ran" not in page.block(quiet)
    assert "Other work ran on the machine" in page.block({**quiet, "load": 4.5})


def test_the_page_says_which_targets_are_missed() -> None:
    peer = replace(FIGURE, implementation="queue.Queue", value=40.0, is_peer=True)
    met = replace(FIGURE, ratios={"queue.Queue": 3.5})
    pod = ("memory", "heap for a pod of 6 KB, typed", 9, "", "clientgo", "bytes", 9e3, 9e3, 9e3)
    list_ = ("informer", "first list in pages, Foos of 1 KB", 9, "")
    loop = Figure(*list_, "bare loop to Structs", "objects/s", 10.0, 9.0, 11.0, is_peer=True)
    missed = replace(
        loop,
        implementation="informer, typed",
        ratios={loop.implementation: 0.425},
        cpu_ratios={loop.implementation: 0.95},
    )

    heap = Figure(*pod, smaller_is_better=True)
    slow = ("queue", "add_after 1 ms", 9, "", "RateLimitingQueue", "items/s", 6e4, 6e4, 6e4)

    text = page.block({**result(peer, met, heap, loop, missed, Figure(*slow)), **RUN})

    assert "| queue, one thread | 100 items/s | queue.Queue: 40 | 3.50 |  | 3: met |" in text
    assert "| heap for a pod of 6 KB | 9 k bytes |  |  |  | 8.19 k: missed |" in text
    assert "| queue, delayed add | 60 k items/s |  |  |  | 300 k: missed |" in text
    assert "| bare loop to Structs: 10 | 0.42 | 0.95 | 0.9: met |" in text
    assert "- Not measured: client-go: no Go toolchain is installed." in text


def test_the_page_shows_the_committed_result() -> None:
    file = RESULTS / "full.json"
    if not file.exists():
        pytest.skip("no full result is committed")
    assert page.written(PAGE) == page.block(load(file), *page.of_their_own())


def test_the_page_says_for_how_many_events_ours_needs_the_least() -> None:
    def rate(name: str, size: int, value: float, **ratios: float) -> list[Figure]:
        return [
            Figure("informer", operation, size, "", name, "events/s", value, value, value, ratios)
            for operation in ("watch in a process of its own", "the same by processor time")
        ]

    figures = [
        *rate("clientgo", 800, 50.0, lightkube=0.5), *rate("lightkube", 800, 100.0),
        *rate("clientgo", 9_000, 60.0, lightkube=20.0), *rate("lightkube", 9_000, 3.0),
    ]  # fmt: skip

    text = page.block({**result(*figures), **RUN})

    assert "| lightkube | 3 (20 x) | 3 (20 x) | 100 (0.50 x) | 100 (0.50 x) |  |  |  |" in text
    assert (
        "With 9,000 events ours takes the least processor time. "
        "With 800 events lightkube took less processor time."
    ) in text


def test_client_go_is_shown_from_the_last_run_that_had_it() -> None:
    text = page.block({**result(FIGURE), **RUN}, load(page.CLIENT_GO))

    assert "an earlier run with a Go toolchain" in text
    assert "with 40,000 events" in text
    assert "| events a second | 179 k | 24.8 k (7.20 x) | 19.4 k (9.24 x) |" in text
    theirs = replace(FIGURE, implementation="client-go, typed")
    assert "earlier run" not in page.block({**result(theirs), **RUN}, load(page.CLIENT_GO))


def test_controllers_on_a_real_server_are_a_table() -> None:
    cell = ("real server", "most memory", 600, "2 workers")
    ours = Figure(*cell, "clientgo", "MB", 20.0, 20.0, 20.0, {"other": 2.0})
    theirs = Figure(*cell, "other", "MB", 40.0, 40.0, 40.0, is_peer=True)
    run = {**RUN, **result(ours, theirs), "versions": {"API server": "v1.36.2"}}

    text = page.block({**result(FIGURE), **RUN}, None, run)

    assert "on one kube-apiserver (v1.36.2; commit abc, 2026-01-01, load 0.5), 600 Foos" in text
    assert "| | clientgo | other |\n|---|---|---|\n| most memory, MB | 20 | 40 (2.00 x) |" in text


def test_only_what_is_between_the_marks_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "page.md"
    file.write_text(f"before\n{page.BEGIN}\nold\n{page.END}\nafter\n")

    page.write(file, {**result(FIGURE), **RUN})

    new = page.block({**result(FIGURE), **RUN}, *page.of_their_own())
    assert file.read_text() == f"before\n{page.BEGIN}\n\n{new}\n\n{page.END}\nafter\n"
    assert page.written(file) == new
