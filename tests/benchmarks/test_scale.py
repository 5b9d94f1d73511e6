"""The cost model adds up what was measured, and its program runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.scale import constants as measured_constants
from benchmarks.scale.__main__ import BEGIN, END, PARTS, check, table, write_page
from benchmarks.scale.constants import Sizes
from benchmarks.scale.model import Constants, Load, cost, event_seconds, list_seconds
from benchmarks.scale.run import run

KNOWN = Constants(
    list=10e-6,
    list_kb=1e-6,
    event=10e-6,
    event_kb=2e-6,
    wakeup=100e-6,
    index=1e-6,
    handler=1e-6,
    queue=1e-6,
    body=3e-6,
    body_kb=1e-6,
    relist=12e-6,
    relist_kb=1e-6,
    resync=4e-6,
    heap=1_000,
    heap_kb=1_000,
    heap_body=500,
    heap_body_kb=0,
    heap_index=100,
    event_tenfold=2e-6,
    index_tenfold=1e-6,
)
LOAD = Load(objects=10_000, size=1_000, events_per_second=100)


def test_a_known_load_costs_the_sum_of_its_parts() -> None:
    found = cost(LOAD, KNOWN)

    assert found.memory == pytest.approx(10_000 * (1_000 + 1_000 + 500 + 100))
    assert found.first_list == pytest.approx(10_000 * (11 + 1 + 1 + 5) * 1e-6)
    assert found.cpu == pytest.approx(100 * (12 + 1 + 1 + 5 + 100) * 1e-6)
    assert found.requests_per_second == pytest.approx(1 / 450)
    assert found.bytes_per_second == pytest.approx(100 * 1_000)
    assert (found.first_list_requests, found.first_list_bytes) == (20, 10_000_000)


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("objects", 20_000),
        ("size", 2_000),
        ("events_per_second", 200),
        ("handlers", 2),
        ("indexes", 2),
        ("relists_per_day", 1_000),
        ("resync", 600.0),
        ("sync_cpu", 0.001),
    ],
)
def test_more_work_costs_more_and_no_part_of_it_less(name: str, more: float) -> None:
    before = cost(LOAD, KNOWN)
    after = cost(replace(LOAD, **{name: more}), KNOWN)

    for part in ("memory", "first_list", "cpu", "requests_per_second", "bytes_per_second"):
        assert getattr(after, part) >= getattr(before, part), part
    assert after != before


def test_an_event_costs_more_among_many_objects() -> None:
    def event(objects: int) -> float:
        return event_seconds(replace(LOAD, objects=objects), KNOWN)

    assert event(100) == event(10_000)
    assert event(1_000_000) - event(10_000) == pytest.approx(2 * (2 + 1) * 1e-6)


def test_processes_share_the_syncs_but_neither_the_memory_nor_the_events() -> None:
    alone = cost(replace(LOAD, sync_cpu=0.002), KNOWN)
    four = cost(replace(LOAD, sync_cpu=0.002, processes=4), KNOWN)

    assert four.memory == alone.memory
    assert four.cpu < alone.cpu
    assert four.cpu > 100 * event_seconds(LOAD, KNOWN)
    assert four.first_list > 10_000 * list_seconds(LOAD, KNOWN)
    assert four.first_list_bytes == 4 * alone.first_list_bytes
    assert four.requests_per_second == pytest.approx(4 * (1 / 450 + 0.7))


def test_workers_raise_the_rate_of_syncs_only_while_these_wait() -> None:
    waiting = replace(LOAD, sync_wait=0.1)
    computing = replace(LOAD, sync_cpu=0.001)

    def rate(load: Load, workers: int) -> float:
        return cost(replace(load, workers=workers), KNOWN).syncs_per_second

    assert rate(waiting, 8) == pytest.approx(8 * rate(waiting, 1))
    assert rate(computing, 8) == pytest.approx(rate(computing, 2), rel=0.01)


def test_the_program_measures_predicts_and_writes_its_tables(tmp_path: Path) -> None:
    known = measured_constants.measure(Sizes(objects=50, rounds=1, paced=2, rate=1_000), run)
    checked = check([60], known, events=70, run=run)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")

    write_page(page, table({"constants": vars(known), "checked": checked}))

    assert all(checked[0]["measured"][name] > 0 for name in PARTS if name != "bytes")
    assert all(checked[0]["predicted"][name] > 0 for name in PARTS)
    text = page.read_text()
    assert "first list in pages" in text
    assert "| 60 | " in text
    assert "\nold\n" not in text
    assert text.startswith("before")
    assert text.endswith("after\n")
