"""Exercise 9: two leaders.

The old leader is suspended for a minute, in the middle of a sync: its process gets no processor
time. Its lease expires, and a new leader begins. Then the old one goes on. The event that tells it
to stop is not set yet, because the thread that would set it was suspended too.

Change the file so that the old leader writes nothing more.

Run: clientgo study check 9
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.leaderelection import Leadership
from clientgo.workqueue import RateLimitingQueue, run_workers


def lead(
    leadership: Leadership, queue: RateLimitingQueue[str], sync: Callable[[str], object]
) -> None:
    """Work while this process leads."""
    run_workers(leadership.stop, queue, sync)
