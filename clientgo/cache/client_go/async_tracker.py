"""Keeps the keys of work that is finished in any order, to find out when a start-up is over.

Upstream: ``tools/cache/synctrack`` AsyncTracker.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from clientgo.cache.queues.done_checker import DoneChecker, Latch


class AsyncTracker:
    """Keeps the keys of work that is finished in any order, by several workers. Thread-safe."""

    def __init__(self, name: str = "AsyncTracker") -> None:
        self._lock = threading.Lock()
        self._unfinished: set[Hashable] = set()
        self._upstream_has_synced = False
        self._latch = Latch()
        self.checker: Final = DoneChecker(name, self._latch)

    def start(self, key: Hashable) -> None:
        """Note that work on a key has started."""
        with self._lock:
            self._unfinished.add(key)

    def finished(self, key: Hashable) -> None:
        """Note that work on a key has finished. Ignores a key that was not started."""
        with self._lock:
            self._unfinished.discard(key)
            self._settle_locked()

    def upstream_has_synced(self) -> None:
        """Note that everything that belongs to the start-up has been started."""
        with self._lock:
            self._upstream_has_synced = True
            self._settle_locked()

    def has_synced(self) -> bool:
        """Return True if the start-up is over."""
        return self._latch.is_set()

    def _settle_locked(self) -> None:
        if self._upstream_has_synced and not self._unfinished and not self._latch.is_set():
            self._latch.set()
