"""Loops call at client-go's times."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.testing import AutoClock
from clientgo.util.wait import (
    WaitInterruptedError,
    WaitTimeoutError,
    poll_until,
    until,
)
from tests.vectors.conditions import BoomError, ScriptedCondition
from tests.vectors.durations import all_same_ns, same_ns, seconds
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("wait_poll"))
def test_loop_calls_as_recorded(case: dict[str, Any]) -> None:
    (step,) = case["steps"]
    args, expect = step["args"], step["expect"]
    clock = AutoClock()
    condition = ScriptedCondition(args, clock)
    stop = stop_at(args.get("cancel_at_ns", args.get("stop_at_ns")), clock)

    def loop() -> None:
        match step["op"]:
            case "poll_until_context_timeout" | "poll_until_context_cancel":
                poll_until(
                    condition,
                    interval=seconds(args["interval_ns"]),
                    timeout=seconds(args["timeout_ns"]) if "timeout_ns" in args else None,
                    stop=stop,
                    immediate=args["immediate"],
                    clock=clock,
                )
            case "until" | "non_sliding_until" as op:
                period = seconds(args["period_ns"])
                until(condition, period, stop, sliding=op == "until", clock=clock)
            case unknown:
                pytest.fail(f"unknown operation {unknown}")

    error = condition.run(loop)

    assert condition.calls_at == all_same_ns(expect["calls_at_ns"])
    assert clock.monotonic() == same_ns(expect["end_ns"])
    expected_error = expect.get("error")
    assert (error is None) == (expected_error is None)
    if expected_error is not None:
        assert isinstance(error, BoomError) == (expected_error == "boom")
        assert isinstance(error, WaitTimeoutError) == ("deadline" in expected_error)
    if "interrupted" in expect:
        assert isinstance(error, WaitInterruptedError) == expect["interrupted"]


def stop_at(instant_ns: int | None, clock: AutoClock) -> threading.Event:
    stop = threading.Event()
    if instant_ns == -1:
        stop.set()
    elif instant_ns is not None:
        clock.call_at(seconds(instant_ns), stop.set)
    return stop
