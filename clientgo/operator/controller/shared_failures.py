"""Failures that many objects have for one reason, such as a server that does not answer.

Promises that of such failures those of one object are reported, with how many others there were,
and that those of another object are as soon as it succeeds or is silent for a minute. Failures are
alike if the API server was away in the same way, and otherwise if their texts are equal.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from clientgo.meta import DecodeError, InternalServerError
from clientgo.operator.runs import is_transient
from clientgo.record.lru_cache import LRUCache
from clientgo.util.clock import Clock
from clientgo.util.copies import uncopyable

_SILENT: Final = 60.0
"""Seconds without a failure of the reported object after which another one is reported; longer than
the retries of an outage are apart."""

_MOST_KNOWN: Final = 64


@dataclass(slots=True)
class _Kind:
    """Failures that are alike: the object that is reported, when last, and the others since."""

    reported: Hashable
    at: float
    others: int = 0


@uncopyable("it has locks; make one in each process")
class SharedFailures:
    """The failures of one controller. Thread-safe."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._kinds: LRUCache[tuple[type[Exception], str], _Kind] = LRUCache(_MOST_KNOWN)

    def failed(self, key: Hashable, error: Exception) -> int | None:
        """Note a failed run; return None if another object's failure is reported in its place.

        Otherwise return how many runs of other objects have failed like it, and were not reported.
        """
        alike, now = _alike(error), self._clock.monotonic()
        with self._lock:
            kind = self._kinds.get(alike)
            if kind is None:
                kind = _Kind(key, now)
                self._kinds.put(alike, kind)
            if kind.reported != key and now - kind.at < _SILENT:
                kind.others += 1
                return None
            kind.reported, kind.at = key, now
            others, kind.others = kind.others, 0
            return others

    def succeeded(self, key: Hashable) -> int:
        """Note a run that succeeded; return how many others failed as its object did before, and
        were not reported."""
        with self._lock:
            ended = [(alike, kind) for alike, kind in self._kinds.items() if kind.reported == key]
            for alike, _ in ended:
                self._kinds.remove(alike)
            return sum(kind.others for _, kind in ended)


def _alike(error: Exception) -> tuple[type[Exception], str]:
    """Return what is equal for failures that are alike.

    The text of an outage names a request; a 500 and what does not decode may be about one object.
    """
    if is_transient(error) and not isinstance(error, InternalServerError | DecodeError):
        return type(error), ""
    return type(error), str(error)
