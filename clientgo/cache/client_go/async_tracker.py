"""Keeps the keys of work that is finished in any order, to find out when a start-up is over.

Upstream: ``tools/cache/synctrack`` AsyncTracker.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from clientgo.cache.informer.sync_tracker import SingleFileTracker
from clientgo.util.copies import uncopyable


@uncopyable("it has threads; make one in each process")
class AsyncTracker:
    """Keeps the keys of work that is finished in any order, by several workers. Thread-safe."""

    def __init__(self, name: str = "AsyncTracker") -> None:
        self._lock = threading.Lock()
        self._unfinished: set[Hashable] = set()
        self._tracker = SingleFileTracker(name)
        self.checker: Final = self._tracker.checker

    def start(self, key: Hashable) -> None:
        """Note that work on a key has started."""
        with self._lock:
            if key not in self._unfinished:
                self._unfinished.add(key)
                self._tracker.start()

    def finished(self, key: Hashable) -> None:
        """Note that work on a key has finished. Ignores a key that was not started."""
        with self._lock:
            if key in self._unfinished:
                self._unfinished.remove(key)
                self._tracker.finished()

    def upstream_has_synced(self) -> None:
        """Note that everything that belongs to the start-up has been started."""
        self._tracker.upstream_has_synced()

    def has_synced(self) -> bool:
        """Return True if the start-up is over."""
        return self._tracker.has_synced()
