"""Rate limits.

- `TokenBucket`: the arithmetic, with explicit times and reservations;
- `RateLimiter`: what a client asks before each request. `TokenBucketRateLimiter` is the usual
  one; `AlwaysRateLimiter` and `NeverRateLimiter` are for tests and for no limit;
- `KeyedBackoff`: growing pauses, one for each id.

The limiters for retries of work items are in `clientgo.workqueue`.
"""

from clientgo.util.flowcontrol.keyed_backoff import KeyedBackoff
from clientgo.util.flowcontrol.rate_limiter import (
    AlwaysRateLimiter,
    NeverRateLimiter,
    NotAcceptedError,
    PassiveRateLimiter,
    RateLimiter,
    TokenBucketRateLimiter,
)
from clientgo.util.flowcontrol.token_bucket import Reservation, TokenBucket

__all__ = [
    "RateLimiter",
    "PassiveRateLimiter",
    "TokenBucketRateLimiter",
    "AlwaysRateLimiter",
    "NeverRateLimiter",
    "NotAcceptedError",
    "TokenBucket",
    "Reservation",
    "KeyedBackoff",
]
