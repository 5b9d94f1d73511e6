"""The deletions that a process has seen lately, for the shards that it takes later.

A process that takes a shard queues the keys that are in its cache; a deleted object is not there.
Its deletion may still have to be handled: the former owner gave the shard up, or died. Each process
sees every deletion, so the next owner can queue these keys too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Final, Generic, TypeVar

from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

K = TypeVar("K", bound=Hashable)

_MOST: Final = 10_000
_SECONDS: Final = 600.0
"""Longer than a shard stays without an owner, and than most failures are retried."""


@uncopyable("it has locks; make one in each process")
class Deletions(Generic[K]):
    """Keys that were deleted in the last ten minutes, the newest 10,000. Thread-safe."""

    def __init__(self, *, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[K, tuple[float, Any]] = {}
        """When each was deleted, the oldest first, and what its owner should be given."""

    def note(self, key: K, last_known: Any = None) -> None:
        """Remember a deletion, also of an own key: its shard may move more than once."""
        now = self._clock.monotonic()
        with self._lock:
            self._seen.pop(key, None)
            self._seen[key] = now, last_known
            self._forget_old_locked(now)

    def select(self, condition: Callable[[K], bool]) -> list[tuple[K, Any]]:
        """Return the keys that a condition holds for, each with what was noted for it."""
        with self._lock:
            self._forget_old_locked(self._clock.monotonic())
            seen = [(key, last_known) for key, (_, last_known) in self._seen.items()]
        return [each for each in seen if condition(each[0])]

    def _forget_old_locked(self, now: float) -> None:
        while self._seen:
            oldest = next(iter(self._seen))
            if len(self._seen) <= _MOST and now < self._seen[oldest][0] + _SECONDS:
                return
            del self._seen[oldest]
