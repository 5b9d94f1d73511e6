"""How often a comparison is repeated: fewer times on a slow machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from clientgo.testing.bench.measure import LEAST_ROUNDS

BUDGET: Final = 6.0
"""Seconds after which no further round begins. `make bench` has to end within three minutes."""


def rounds(most: int) -> Iterator[int]:
    """Count up to `most` rounds; after `LEAST_ROUNDS` of them stop when the budget is spent."""
    started = time.perf_counter()
    for number in range(most):
        if number >= LEAST_ROUNDS and time.perf_counter() - started > BUDGET:
            return
        yield number
