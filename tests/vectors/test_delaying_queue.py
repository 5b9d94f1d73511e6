"""The delaying queue behaves as client-go's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import DelayingQueue
from tests.vectors.loader import params
from tests.vectors.workqueue_replay import WorkqueueReplay


@pytest.mark.parametrize("case", params("delaying_queue"))
def test_delaying_queue_behaves_as_recorded(case: dict[str, Any]) -> None:
    """DLY-01 to DLY-10."""
    clock = FakeClock()
    WorkqueueReplay(DelayingQueue(clock=clock), clock).run(case["steps"])
