"""An event that is set once and that can be waited for together with others.

Promises that whoever waits for :data:`any_set` is woken whenever some latch is set, so that
nothing needs to poll or to have a thread per latch.

Differs from ``threading.Event`` only in that, and from a Go channel, which can be selected on.
"""

from __future__ import annotations

import threading
from typing import Final

from clientgo.wait import StopEvent

any_set: Final = threading.Condition(threading.Lock())
"""Notified whenever a latch is set. That is rare: an informer syncs once."""


class Latch(StopEvent):
    """An event that is never cleared. Thread-safe; whoever waits for it needs no watcher."""

    def set(self) -> None:
        super().set()
        with any_set:
            any_set.notify_all()

    def clear(self) -> None:
        raise RuntimeError("a latch stays set; make a new one")
