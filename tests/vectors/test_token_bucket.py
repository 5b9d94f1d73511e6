"""Token buckets behave as Go's rate.Limiter and client-go's request limiter."""

from __future__ import annotations

import math
from typing import Any

import pytest

from clientgo.testing import AutoClock
from clientgo.util.flowcontrol import Reservation, TokenBucket, TokenBucketRateLimiter
from tests.vectors.durations import same_ns, seconds
from tests.vectors.loader import params

CASES = params("token_bucket")


def of_kind(kind: str) -> list[Any]:
    return [case for case in CASES if case.values[0]["config"]["kind"] == kind]


def rate(qps: float | str) -> float:
    return math.inf if qps == "inf" else float(qps)


@pytest.mark.parametrize("case", of_kind("limiter"))
def test_token_bucket_behaves_as_recorded(case: dict[str, Any]) -> None:
    """FLC-01, FLC-02."""
    bucket = TokenBucket(rate(case["config"]["qps"]), case["config"]["burst"])
    reservations: dict[int, Reservation] = {}
    for step in case["steps"]:
        args, expect = step["args"], step["expect"]
        at = seconds(args["at_ns"])
        match step["op"]:
            case "reserve_n":
                reservation = bucket.reserve(at, args["n"])
                reservations[args["reservation"]] = reservation
                assert reservation.ok == expect["ok"]
                if reservation.ok:
                    assert reservation.delay(at) == same_ns(expect["delay_ns"])
            case "cancel_at":
                reservations[args["reservation"]].cancel(at)
                assert bucket.tokens(at) == pytest.approx(expect["tokens"], rel=1e-9, abs=1e-9)
            case "delay_from":
                delay_ns = expect["delay_ns"]
                delay = reservations[args["reservation"]].delay(at)
                assert delay == (math.inf if delay_ns is None else same_ns(delay_ns))
            case "allow_n":
                assert bucket.take(at, args["n"]) == expect["result"]
            case "tokens_at":
                assert bucket.tokens(at) == pytest.approx(expect["result"], rel=1e-9, abs=1e-9)
            case "set_limit_at":
                bucket.set_qps(at, rate(args["qps"]))
            case "set_burst_at":
                bucket.set_burst(at, args["burst"])
            case unknown:
                pytest.fail(f"unknown operation {unknown}")


@pytest.mark.parametrize("case", of_kind("flowcontrol"))
def test_request_limiter_behaves_as_recorded(case: dict[str, Any]) -> None:
    """FLC-03."""
    clock = AutoClock()
    limiter = TokenBucketRateLimiter(case["config"]["qps"], case["config"]["burst"], clock=clock)
    for step in case["steps"]:
        expect = step["expect"]
        match step["op"]:
            case "try_accept":
                assert limiter.try_accept() == expect["result"]
            case "accept":
                before = clock.monotonic()
                limiter.accept()
                assert clock.monotonic() - before == same_ns(expect["slept_ns"])
            case "advance":
                clock.step(seconds(step["args"]["ns"]))
            case "qps":
                assert limiter.qps == expect["result"]
            case unknown:
                pytest.fail(f"unknown operation {unknown}")
