"""Objects that are left out of a cache.

Promises to log each object and reason once, and to count every occurrence. After many different
ones it logs the first ones again. Thread-safe. In client-go one object that does not decode fails
its whole list.
"""

from __future__ import annotations

import logging
import threading
from typing import Any, Final

from clientgo.cache.store.keys import key_for_report

_log = logging.getLogger("clientgo.cache.reflector")

REMEMBERED: Final = 1000
"""Reports that are remembered; a server with more broken objects is broken as a whole."""


class QuarantineLog:
    """Reports what an informer leaves out; ``name`` is the informer's."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._reported: set[tuple[str, str]] = set()
        self._count = 0

    @property
    def count(self) -> int:
        """How often an object was left out."""
        return self._count

    def report(self, obj: Any, reason: str) -> None:
        """Count an object that is left out, and log it the first time."""
        key = key_for_report(obj)
        with self._lock:
            self._count += 1
            if (key, reason) in self._reported:
                return
            if len(self._reported) >= REMEMBERED:
                self._reported.clear()
            self._reported.add((key, reason))
        _log.error(
            "%s: left out object %s: %s; the others are not affected",
            self._name,
            key,
            reason,
            extra={"object": key},
        )
