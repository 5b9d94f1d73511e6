"""Conditions that become true once and stay true, and trackers of when a start-up is over.

A tracker is synced once its upstream has synced and nothing is unfinished; then it stays synced.

Differs from client-go (``tools/cache`` DoneChecker, ``synctrack``) in :class:`Latch`: a Go channel
can be selected on together with others, a Python event cannot.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Final

from clientgo.util.copies import uncopyable
from clientgo.util.wait import StopEvent


@uncopyable("it has locks; make one in each process")
@dataclass(frozen=True, slots=True)
class DoneChecker:
    """A named condition; ``done`` is set when it has become true. Thread-safe."""

    name: str
    done: threading.Event

    def is_done(self) -> bool:
        """Return True if the condition has become true. Does not block."""
        return self.done.is_set()


any_set: Final = threading.Condition(threading.Lock())
"""Notified when any latch is set, or an informer ends. That is rare: it syncs and ends once."""


def wake_waiting() -> None:
    """Let those who wait on :data:`any_set` look again."""
    with any_set:
        any_set.notify_all()


class Latch(StopEvent):
    """An event that is never cleared, and that notifies :data:`any_set`. Thread-safe.

    A thread can wait for several latches without polling and without a thread for each.
    """

    def set(self) -> None:
        super().set()
        wake_waiting()

    def clear(self) -> None:
        raise RuntimeError("a latch stays set; create a new one")


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
