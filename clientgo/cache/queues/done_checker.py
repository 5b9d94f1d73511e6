"""Conditions that become true once and stay true, to wait for one of them or for several.

Differs from client-go (``tools/cache`` DoneChecker) in :class:`Latch`: a Go channel can be
selected on together with others, a Python event cannot.
"""

from __future__ import annotations

import threading
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
