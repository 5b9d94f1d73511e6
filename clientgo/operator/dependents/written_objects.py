"""What was last written to each dependent object, and what became of it.

Promises that an object which the API server stores differently from what was sent (``1000m`` as
``1``) is written once, not for ever; and that the tenth equal write in a minute is
reported, because then another program undoes it.

Does not promise to remember every object: the latest ten thousand.
"""

from __future__ import annotations

import logging
from collections import deque
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import msgspec

from clientgo.clock import Clock
from clientgo.meta import ObjectName
from clientgo.operator.dependents.differences import Differences
from clientgo.record.lru_cache import LRUCache

MOST_IDENTICAL_WRITES: Final = 10
PERIOD: Final = 60.0
"""So many, in so many seconds, are a loop."""

_MOST_OBJECTS: Final = 10_000

_log = logging.getLogger("clientgo.operator.dependents")


@dataclass(slots=True)
class _Written:
    digest: int
    left: Differences
    times: deque[float] = field(default_factory=lambda: deque(maxlen=MOST_IDENTICAL_WRITES))


class WrittenObjects:
    """The writes of one dependent. Thread-safe."""

    def __init__(self, dependent: str, clock: Clock) -> None:
        self._dependent = dependent
        self._clock = clock
        self._lock = Lock()
        self._written: LRUCache[ObjectName, _Written] = LRUCache(_MOST_OBJECTS)

    def wrote(self, key: ObjectName, desired: dict[str, Any], left: Differences) -> None:
        """Remember a write, and in what its answer differs from ``desired`` all the same."""
        now, digest = self._clock.monotonic(), _digest(desired)
        with self._lock:
            written = self._written.get(key)
            if written is None or written.digest != digest:
                written = _Written(digest, left)
            written.left = left
            written.times.append(now)
            is_loop = (
                len(written.times) == MOST_IDENTICAL_WRITES and now - written.times[0] < PERIOD
            )
            if is_loop:
                written.times.clear()
            self._written.put(key, written)
        if is_loop:
            _log.warning(
                "%s: the same was written to %s %d times within %g s, and undone each time; find "
                "out who else writes it, or say in its matches(...) what counts as equal",
                self._dependent,
                key,
                MOST_IDENTICAL_WRITES,
                PERIOD,
            )

    def is_settled(self, key: ObjectName, desired: dict[str, Any], left: Differences) -> bool:
        """Whether these very differences were left when the same was written last."""
        with self._lock:
            written = self._written.get(key)
        return written is not None and written.left == left and written.digest == _digest(desired)

    def is_changed(self, key: ObjectName, desired: dict[str, Any]) -> bool:
        """Whether something else was written last."""
        with self._lock:
            written = self._written.get(key)
        return written is not None and written.digest != _digest(desired)

    def forget(self, key: ObjectName) -> None:
        """The object was deleted."""
        with self._lock:
            if self._written.get(key) is not None:
                self._written.remove(key)


def _digest(plain: dict[str, Any]) -> int:
    return hash(msgspec.json.encode(plain, order="deterministic"))
