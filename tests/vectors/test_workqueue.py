"""The work queue behaves as client-go's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import Queue
from tests.vectors.loader import params
from tests.vectors.workqueue_replay import WorkqueueReplay


class RecordingOrdering:
    """A user's ordering that writes down what the queue asks of it."""

    def __init__(self, *, last_first: bool) -> None:
        self._items: list[str] = []
        self._next = -1 if last_first else 0
        self.calls: list[str] = []

    def push(self, item: str) -> None:
        self.calls.append(f"push {item}")
        self._items.append(item)

    def pop(self) -> str:
        item = self._items.pop(self._next)
        self.calls.append(f"pop {item}")
        return item

    def touch(self, item: str) -> None:
        self.calls.append(f"touch {item}")

    def __len__(self) -> int:
        return len(self._items)


class RecordingReplay(WorkqueueReplay):
    def __init__(self, ordering: RecordingOrdering, clock: FakeClock) -> None:
        super().__init__(Queue(ordering=ordering, clock=clock), clock)
        self._ordering = ordering

    def apply(self, step: dict[str, Any]) -> dict[str, Any]:
        self._ordering.calls.clear()
        seen = super().apply(step)
        return seen | {"queue_calls": list(self._ordering.calls)}


def replay_of(kind: str) -> WorkqueueReplay:
    clock = FakeClock()
    if kind == "default":
        return WorkqueueReplay(Queue(clock=clock), clock)
    return RecordingReplay(RecordingOrdering(last_first=kind == "recording_lifo"), clock)


@pytest.mark.parametrize("case", params("workqueue"))
def test_queue_behaves_as_recorded(case: dict[str, Any]) -> None:
    """WQ-01 to WQ-14."""
    replay_of(case["config"]["queue"]).run(case["steps"])
