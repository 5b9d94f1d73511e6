"""Rate limiters from their description in a vector."""

from __future__ import annotations

from typing import Any

from clientgo.util.clock import Clock
from clientgo.workqueue import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    ItemFastSlowRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
    WithMaxWaitRateLimiter,
    default_controller_rate_limiter,
    default_item_based_rate_limiter,
)
from tests.vectors.durations import seconds


def build_limiter(config: dict[str, Any], clock: Clock) -> RateLimiter[Any]:
    match config["type"]:
        case "item_exponential":
            return ItemExponentialFailureRateLimiter(
                seconds(config["base_delay_ns"]), seconds(config["max_delay_ns"]), clock=clock
            )
        case "item_fast_slow":
            return ItemFastSlowRateLimiter(
                seconds(config["fast_delay_ns"]),
                seconds(config["slow_delay_ns"]),
                config["max_fast_attempts"],
                clock=clock,
            )
        case "bucket":
            return BucketRateLimiter(config["qps"], config["burst"], clock=clock)
        case "max_of":
            return MaxOfRateLimiter(
                *(build_limiter(member, clock) for member in config["limiters"] or [])
            )
        case "with_max_wait":
            return WithMaxWaitRateLimiter(
                build_limiter(config["limiter"], clock), seconds(config["max_delay_ns"])
            )
        case "default_controller":
            return default_controller_rate_limiter(clock=clock)
        case "default_item_based":
            return default_item_based_rate_limiter(clock=clock)
        case unknown:
            raise AssertionError(f"unknown limiter {unknown}")
