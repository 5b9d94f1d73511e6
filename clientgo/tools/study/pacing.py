"""Pause, step and slow motion: which thread may pass a boundary, and when.

Promises: a thread is held only where the tracer asks, so never under a lock of the library;
``step`` lets exactly one held thread pass; after ``resume`` or ``close`` no thread is held.

Does not promise to stop a thread that is between two boundaries, or that waits for the network.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from clientgo.util.clock import REAL_CLOCK, Clock

ORDER: Final = ("watch.read", "fifo.take", "queue.take", "sync")
"""The boundaries in the direction in which an event travels. A step chooses the first one, so that
a worker does not overtake an event that came before."""


@dataclass(frozen=True, slots=True)
class Held:
    """A thread that waits at a boundary. ``number`` is what ``step`` takes."""

    number: int
    thread: str
    boundary: str
    of: str
    key: str


def _place(held: Held) -> int:
    return ORDER.index(held.boundary) if held.boundary in ORDER else len(ORDER)


OnHeld = Callable[[Held, bool], object]
"""Called in the thread itself: True when it begins to wait, False when it goes on."""


class Pacing:
    """Decides when a thread passes a boundary. Thread-safe.

    ``on_held`` is called without a lock.
    """

    def __init__(self, on_held: OnHeld, *, clock: Clock = REAL_CLOCK) -> None:
        self._on_held = on_held
        self._clock = clock
        self._changed = threading.Condition()
        self._paused = False
        self._delay = 0.0
        self._closed = False
        self._numbers = itertools.count(1)
        self._held: dict[int, Held] = {}
        """The threads that wait and may not pass yet, the one that waits longest first."""

    def before(self, boundary: str, of: str, key: str) -> None:
        """Return when this thread may pass the boundary."""
        if not self._paused and not self._delay:
            return
        with self._changed:
            if not self._holds_locked():
                return
            name = threading.current_thread().name
            held = Held(next(self._numbers), name, boundary, of, key)
            self._held[held.number] = held
            self._changed.notify_all()
        self._on_held(held, True)
        try:
            with self._changed:
                self._wait_locked(held)
        finally:
            with self._changed:
                self._held.pop(held.number, None)
        self._on_held(held, False)

    def pause(self) -> None:
        """Hold each thread at its next boundary."""
        self._set(paused=True)

    def resume(self) -> None:
        """Let all threads go, at full speed."""
        self._set(paused=False)

    def slow(self, delay: float) -> None:
        """Hold each thread for ``delay`` seconds at each boundary."""
        self._set(paused=False, delay=delay)

    def step(self, number: int | None = None) -> Held | None:
        """Let one held thread pass, and return it; None if no thread is held.

        Without a ``number`` it is the first one in :data:`ORDER`, and there the one that waits
        longest.
        """
        with self._changed:
            if number is None:
                first = min(self._held.values(), key=_place, default=None)
                number = first.number if first else None
            held = None if number is None else self._held.pop(number, None)
            self._changed.notify_all()
        return held

    def close(self) -> None:
        """Let all threads go, and hold none from now on."""
        with self._changed:
            self._closed = True
        self._set(paused=False)

    @property
    def mode(self) -> str:
        """Return ``running``, ``slow`` or ``paused``."""
        with self._changed:
            if self._paused:
                return "paused"
            return "slow" if self._delay else "running"

    def held(self) -> list[Held]:
        """Return the threads that wait, the one that waits longest first."""
        with self._changed:
            return list(self._held.values())

    def wait_until_held(self, count: int = 1, timeout: float = 30.0) -> bool:
        """Wait until so many threads are held, at most ``timeout`` seconds; return True if so."""
        with self._changed:
            return self._changed.wait_for(lambda: len(self._held) >= count, timeout)

    def _set(self, *, paused: bool, delay: float = 0.0) -> None:
        with self._changed:
            self._paused = paused and not self._closed
            self._delay = 0.0 if self._closed else delay
            self._changed.notify_all()

    def _holds_locked(self) -> bool:
        return self._paused or self._delay > 0

    def _wait_locked(self, held: Held) -> None:
        arrived = self._clock.monotonic()
        while held.number in self._held and self._holds_locked():
            deadline = None if self._paused else arrived + self._delay
            if deadline is not None and self._clock.monotonic() >= deadline:
                return
            self._clock.wait_until(self._changed, deadline)
