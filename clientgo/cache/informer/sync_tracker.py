"""Counting what has begun but not ended, to tell when a start-up is over.

Promises: a tracker becomes synced once its upstream has announced that it has, and nothing that
was started is unfinished; then it stays synced. Upstream must be announced only after everything
that belongs to the start-up has been started.

Upstream: ``tools/cache/synctrack`` SingleFileTracker, AsyncTracker.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import Final

from clientgo.cache.queues.done_checker import DoneChecker, Latch


class SingleFileTracker:
    """For work that is finished in the order in which it was started: a count. Thread-safe."""

    def __init__(self, name: str = "SingleFileTracker") -> None:
        self._lock = threading.Lock()
        self._unfinished = 0
        self._upstream_has_synced = False
        self._latch = Latch()
        self.checker: Final = DoneChecker(name, self._latch)

    def start(self, count: int = 1) -> None:
        """That many items more have begun."""
        with self._lock:
            self._unfinished += count

    def finished(self, count: int = 1) -> None:
        """That many items have ended. Raises ``ValueError`` for more than have begun."""
        with self._lock:
            if count > self._unfinished:
                raise ValueError(f"{count} items finished, but only {self._unfinished} had started")
            self._unfinished -= count
            self._settle_locked()

    def upstream_has_synced(self) -> None:
        """Everything that belongs to the start-up has begun."""
        with self._lock:
            self._upstream_has_synced = True
            self._settle_locked()

    def has_synced(self) -> bool:
        """Whether the start-up is over."""
        return self._latch.is_set()

    def _settle_locked(self) -> None:
        if self._upstream_has_synced and not self._unfinished and not self._latch.is_set():
            self._latch.set()


class AsyncTracker:
    """For work that is finished in any order, by several workers: a set of keys. Thread-safe."""

    def __init__(self, name: str = "AsyncTracker") -> None:
        self._lock = threading.Lock()
        self._unfinished: set[Hashable] = set()
        self._upstream_has_synced = False
        self._latch = Latch()
        self.checker: Final = DoneChecker(name, self._latch)

    def start(self, key: Hashable) -> None:
        """Work on a key has begun."""
        with self._lock:
            self._unfinished.add(key)

    def finished(self, key: Hashable) -> None:
        """Work on a key has ended; nothing happens if it had not begun."""
        with self._lock:
            self._unfinished.discard(key)
            self._settle_locked()

    def upstream_has_synced(self) -> None:
        """Everything that belongs to the start-up has begun."""
        with self._lock:
            self._upstream_has_synced = True
            self._settle_locked()

    def has_synced(self) -> bool:
        """Whether the start-up is over."""
        return self._latch.is_set()

    def _settle_locked(self) -> None:
        if self._upstream_has_synced and not self._unfinished and not self._latch.is_set():
            self._latch.set()
