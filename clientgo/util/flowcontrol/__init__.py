"""Rate limits.

- `TokenBucket`: the arithmetic, with explicit times and reservations;
- `RateLimiter`: what a client asks before each request. `TokenBucketRateLimiter` is the usual
  one; `AlwaysRateLimiter` and `NeverRateLimiter` are for tests and for no limit.

Back-off is elsewhere: the limiters for retries of work items in `clientgo.workqueue`, the delays
between attempts in `clientgo.util.wait`.
"""

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
]
