"""Back-off yields client-go's delays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from clientgo.testing import AutoClock
from clientgo.util.wait import (
    Backoff,
    BackoffManager,
    BackoffSteps,
    Reset,
)
from tests.vectors.durations import same_ns, seconds
from tests.vectors.loader import params


def backoff_of(config: dict[str, Any]) -> Backoff:
    numbers = config["backoff"]
    return Backoff(
        duration=seconds(numbers["duration_ns"]),
        factor=numbers["factor"],
        jitter=numbers["jitter"],
        steps=numbers["steps"],
        cap=seconds(numbers["cap_ns"]),
    )


@pytest.mark.parametrize("case", params("wait_backoff"))
def test_backoff_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case["config"]
    backoff = backoff_of(config)
    clock = AutoClock()
    steps = BackoffSteps(backoff)
    delay: Callable[[], float] = steps.step
    if "reset_interval_ns" in config:
        delay = BackoffManager(
            backoff, seconds(config["reset_interval_ns"]), clock=clock, reset=Reset.AFTER_INTERVAL
        ).step
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        match step["op"]:
            case "step":
                assert steps.step() == same_ns(expect["delay_ns"])
                assert steps.duration == same_ns(expect["duration_ns"])
                assert steps.remaining == expect["steps"]
            case "delay":
                assert delay() == same_ns(expect["delay_ns"])
            case "advance":
                clock.step(seconds(args["ns"]))
            case unknown:
                pytest.fail(f"unknown operation {unknown}")
