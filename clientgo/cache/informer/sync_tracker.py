"""Counts work that has started but not finished, to find out when a start-up is over.

A tracker is synced once its upstream has synced and nothing is unfinished; then it stays synced.

Upstream: ``tools/cache/synctrack`` SingleFileTracker.
"""

from __future__ import annotations

import threading
from typing import Final

from clientgo.cache.queues.done_checker import DoneChecker, Latch
from clientgo.util.copies import uncopyable


@uncopyable("it has locks; make one in each process")
class SingleFileTracker:
    """Counts work that is finished in the order in which it was started. Thread-safe."""

    def __init__(self, name: str = "SingleFileTracker") -> None:
        self._lock = threading.Lock()
        self._unfinished = 0
        self._upstream_has_synced = False
        self._latch = Latch()
        self.checker: Final = DoneChecker(name, self._latch)

    def start(self, count: int = 1) -> None:
        """Note that ``count`` items have started."""
        with self._lock:
            self._unfinished += count

    def finished(self, count: int = 1) -> None:
        """Note that ``count`` items have finished. Raises ``ValueError`` if fewer had started."""
        with self._lock:
            if count > self._unfinished:
                raise ValueError(f"{count} items finished, but only {self._unfinished} had started")
            self._unfinished -= count
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
