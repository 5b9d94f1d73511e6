"""Rate limiters give client-go's delays."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from tests.vectors.durations import same_ns, seconds
from tests.vectors.limiters import build_limiter
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("rate_limiters"))
def test_rate_limiter_behaves_as_recorded(case: dict[str, Any]) -> None:
    """RL-01 to RL-10."""
    clock = FakeClock()
    limiter = build_limiter(case["config"]["limiter"], clock)
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        item = args.get("item")
        match step["op"]:
            case "when":
                assert limiter.when(item) == same_ns(wrapped_to_maximum(expect["delay_ns"], case))
            case "when_repeat":
                delays = [limiter.when(item) for _ in range(args["times"])]
                assert delays[-1] == same_ns(expect["last_delay_ns"])
                assert limiter.num_requeues(item) == expect["num_requeues"]
            case "forget":
                limiter.forget(item)
            case "num_requeues":
                assert limiter.num_requeues(item) == expect["result"]
            case "advance":
                clock.step(seconds(args["ns"]))
            case unknown:
                pytest.fail(f"unknown operation {unknown}")


def wrapped_to_maximum(delay_ns: int, case: dict[str, Any]) -> int:
    """A product of exactly 2**63 ns wraps around on amd64; ours is the maximum delay."""
    if delay_ns < 0 and case["config"].get("platform_dependent"):
        return int(case["config"]["limiter"]["max_delay_ns"])
    return delay_ns
