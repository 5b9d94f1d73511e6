"""A named queue reports what client-go's does."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.observe.metrics import names
from clientgo.testing import FakeClock
from clientgo.workqueue import DelayingQueue
from tests.observe.metrics.recording import RecordingProvider
from tests.vectors.loader import params
from tests.vectors.workqueue_replay import WorkqueueReplay

UPSTREAM_NAMES = {
    names.WORKQUEUE_ADDS: "adds",
    names.WORKQUEUE_DEPTH: "depth",
    names.WORKQUEUE_QUEUE_DURATION: "latency",
    names.WORKQUEUE_WORK_DURATION: "work_duration",
    names.WORKQUEUE_UNFINISHED_WORK: "unfinished_work_seconds",
    names.WORKQUEUE_LONGEST_RUNNING: "longest_running_processor_seconds",
    names.WORKQUEUE_RETRIES: "retries",
}


class MetricsReplay(WorkqueueReplay):
    def __init__(self, name: str, clock: FakeClock) -> None:
        self._name = name
        self._provider = RecordingProvider()
        queue: DelayingQueue[str] = DelayingQueue(name=name, metrics=self._provider, clock=clock)
        super().__init__(queue, clock, threads=1 if name else 0)

    def apply(self, step: dict[str, Any]) -> dict[str, Any]:
        if step["op"] == "created":
            seen = {"len": len(self.queue)}
        else:
            seen = super().apply(step)
        created = []
        for metric, upstream_name in UPSTREAM_NAMES.items():
            instrument = self._provider.instruments.get(metric.name)
            if instrument is None:
                continue
            created.append(f"{upstream_name} {self._provider.labels[metric.name]['name']}")
            seen[upstream_name] = pytest.approx(instrument.value)
            seen[f"{upstream_name}_observed"] = pytest.approx(list(instrument.observed))
            instrument.observed.clear()
        seen["metrics_created_any_order"] = sorted(created)
        return seen

    def check(self, step: dict[str, Any], seen: dict[str, Any]) -> None:
        super().check(step, seen)
        for name, value in seen.items():
            if name.endswith("_observed") and name not in step["expect"]:
                assert value == []


@pytest.mark.parametrize("case", params("workqueue_metrics"))
def test_queue_reports_as_recorded(case: dict[str, Any]) -> None:
    """MET-02 to MET-06."""
    clock = FakeClock()
    MetricsReplay(case["config"].get("name", ""), clock).run(case["steps"])
