"""The rate limiting queue behaves as client-go's, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.workqueue import RateLimitingQueue
from tests.vectors.limiters import build_limiter
from tests.vectors.loader import params
from tests.vectors.workqueue_replay import WorkqueueReplay


@pytest.mark.parametrize("case", params("rate_limiting_queue"))
def test_rate_limiting_queue_behaves_as_recorded(case: dict[str, Any]) -> None:
    """RLQ-01 to RLQ-03."""
    clock = FakeClock()
    limiter = build_limiter(case["config"]["limiter"], clock)
    WorkqueueReplay(RateLimitingQueue(limiter, clock=clock), clock).run(case["steps"])
