"""Exercise 3: the forgotten done().

This is the loop of a worker. The key ``default/a`` is edited while it is synced, so it should be
synced again. It never is, and nothing says why.

Run: clientgo study check 3
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.workqueue import Queue


def work(queue: Queue[str], sync: Callable[[str], object]) -> None:
    """Sync keys until the queue shuts down."""
    while True:
        key, shutting_down = queue.get()
        if shutting_down:
            return
        sync(key)
