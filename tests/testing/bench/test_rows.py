"""The figures of a queue or a limiter, and the columns that they are shown in (BEN-03)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from clientgo.testing.bench import Comparison, ConditionQueue, limiters, queue_report, queue_rows
from clientgo.testing.bench.adapters import Operations
from clientgo.testing.bench.limiters import LimiterRow
from clientgo.testing.bench.queue_rows import QueueBench, Row, Settings
from clientgo.testing.bench.workload import Round, Workload

LARGE = 10_000


class Large(ConditionQueue):
    """Keeps so many bytes for each item that waits."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: list[bytes] = []

    def add(self, item: Any) -> None:
        self._kept.append(bytes(LARGE))
        super().add(item)


class LargeFailures:
    """Keeps so many bytes for each item that has failed."""

    def __init__(self) -> None:
        self._kept: dict[str, list[bytes]] = {}

    def when(self, item: str) -> float:
        failures = self._kept.setdefault(item, [])
        failures.append(bytes(LARGE))
        return 0.5 * len(failures)

    def num_requeues(self, item: str) -> int:
        return len(self._kept.get(item, ()))

    def forget(self, item: str) -> None:
        del self._kept[item]


ROW = Row(
    "large", 2, merges=True, items_a_second=5.0, least=5.0, most=5.0, beside_base=0.5,
    p50=0.05, p99=0.099, p999=0.1, busiest=1.5, taken_an_item=2.0, switches=1.0, cpu=4e-7,
)  # fmt: skip


def test_a_row_has_the_figures_of_the_rounds_and_the_ratio_to_the_base(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(queue: Operations, _load: Workload, *, rate: float, **_: Any) -> Round:
        is_large = isinstance(getattr(queue.add, "__self__", None), Large)
        waits = [number / 1000 for number in range(1, 101)] if rate else []
        return Round([30, 10], 4.0 if is_large else 2.0, cpu=8e-6, switches=20, waits=waits)

    monkeypatch.setattr(queue_rows, "run", run)
    factories = {"large": Large, "Queue": ConditionQueue}
    measured = QueueBench(factories, Workload(items=20), Settings(seconds=0.0))

    base, row = measured.rows(2)

    assert (base.queue, base.beside_base, base.items_a_second) == ("Queue", 1.0, 10.0)
    assert row.heap is not None
    assert LARGE < row.heap < 1.1 * LARGE
    assert replace(row, heap=None) == ROW


def test_the_table_has_each_figure_below_its_head() -> None:
    [line] = queue_report.lines([replace(ROW, heap=70.0)], 7)

    assert queue_report.head(7) == (
        "           items/s  beside  p50 us  p99 us  p99.9 us"
        "  busiest  taken  switches  CPU us  bytes"
    )
    assert line == (
        "large            5    0.50  50,000  99,000   100,000"
        "     1.50   2.00     1.000    0.40     70"
    )


def test_a_limiter_has_its_rate_its_processor_time_and_what_it_keeps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compare(count: int, sides: Mapping[str, Any], **_: Any) -> Comparison:
        return Comparison(count, {each: [2.0] for each in sides}, {each: [4e-6] for each in sides})

    monkeypatch.setattr(limiters, "compare", compare)

    [row] = limiters.measure({"large": LargeFailures}, 20, seconds=0.0)

    assert LARGE < row.heap < 1.1 * LARGE
    assert row.left < 0.1 * LARGE
    assert replace(row, heap=0.0, left=0.0) == LimiterRow(
        "large", failures_a_second=30.0, cpu=4e-6 / 20, delays=(0.5, 1.0, 1.5)
    )
    assert [line.split() for line in limiters.lines([replace(row, heap=7.0, left=3.0)])][1] == [
        "large", "30", "0.20", "7", "3", "0.5,", "1,", "1.5"
    ]  # fmt: skip
