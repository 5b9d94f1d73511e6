"""Keyed back-off behaves as client-go's."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testing import FakeClock
from clientgo.util.flowcontrol import KeyedBackoff
from tests.vectors.durations import same_ns, seconds
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("flowcontrol_backoff"))
def test_keyed_backoff_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case["config"]
    clock = FakeClock()
    backoff = KeyedBackoff(seconds(config["initial_ns"]), seconds(config["max_ns"]), clock=clock)
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        key = args.get("id")
        event_time = seconds(args.get("event_time_ns", 0))
        match step["op"]:
            case "next":
                backoff.next(key, event_time)
                assert backoff.get(key) == same_ns(expect["get_ns"])
            case "get":
                assert backoff.get(key) == same_ns(expect["result_ns"])
            case "is_in_backoff_since":
                assert backoff.is_in_backoff_since(key, event_time) == expect["result"]
            case "is_in_backoff_since_update":
                assert backoff.is_in_backoff_since_update(key, event_time) == expect["result"]
            case "gc":
                backoff.collect_garbage()
                for known, pause_ns in expect["get_ns"].items():
                    assert backoff.get(known) == same_ns(pause_ns)
            case "reset" | "delete_entry":
                backoff.reset(key)
                assert backoff.get(key) == same_ns(expect["get_ns"])
            case "advance":
                clock.step(seconds(args["ns"]))
                assert clock.monotonic() == same_ns(expect["now_ns"])
            case unknown:
                pytest.fail(f"unknown operation {unknown}")
