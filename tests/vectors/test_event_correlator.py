"""Events are combined, counted and silenced as by client-go, step by step."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clientgo.api.core_v1 import Event
from clientgo.meta import Codec
from clientgo.record import CorrelatorOptions, EventCorrelator
from clientgo.testing import AutoClock
from tests.vectors.loader import params

_OPTIONS = {
    "lru_cache_size": "cache_size",
    "burst_size": "burst",
    "qps": "qps",
    "max_events": "max_events",
    "max_interval_seconds": "max_interval",
}


def _event(plain: dict[str, Any]) -> Event:
    return Codec(Event).decode(json.dumps(plain).encode())


def assert_same_event_name(name: str, expected: str) -> None:
    """A name holds the time; our clocks tell it in float seconds, which resolve 0.1 µs or so."""
    if name != expected:
        (stem, _, time), (expected_stem, _, expected_time) = (
            name.rpartition("."),
            expected.rpartition("."),
        )
        assert stem == expected_stem
        assert abs(int(time, 16) - int(expected_time, 16)) < 200


@pytest.mark.parametrize("case", params("event_correlator"))
def test_the_correlator_behaves_as_recorded(case: dict[str, Any]) -> None:
    options = CorrelatorOptions(**{_OPTIONS[key]: value for key, value in case["config"].items()})
    clock = AutoClock()
    correlator = EventCorrelator(options, clock=clock)

    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        match step["op"]:
            case "advance":
                clock.step(args["ns"] / 1e9)
            case "update_state":
                correlator.written(_event(args["event"]))
            case "correlate":
                correlated = correlator.correlate(_event(args["event"]))
                assert (correlated is None) is expect["skip"]
                if correlated is not None:
                    plain = correlated.event.to_dict()
                    assert_same_event_name(
                        plain["metadata"].pop("name"), expect["event"]["metadata"].pop("name")
                    )
                    assert {key: plain.get(key) for key in expect["event"]} == expect["event"]
                    assert correlated.patch == expect["patch"]
            case other:
                pytest.fail(f"unknown operation {other}")
