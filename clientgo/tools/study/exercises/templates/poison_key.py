"""Exercise 8: a poison key.

``default/poison`` fails four times, ``default/good`` would work. There is one worker, and it is
busy with the poison: this function tries again in place.

Change the file so that a key that fails is tried again later, with a growing delay, and the other
key does not wait. ``queue.get`` and ``queue.done`` are called around this function. Then predict
the delays: the first is 5 ms.

Run: clientgo study check 8
"""

from __future__ import annotations

from collections.abc import Callable

from clientgo.workqueue import RateLimitingQueue

DELAYS: list[float] | None = None
"""The seconds that the key waits after its first, second, third and fourth failure."""


def process(queue: RateLimitingQueue[str], key: str, sync: Callable[[str], object]) -> None:
    """Sync one key."""
    while True:
        try:
            sync(key)
        except ValueError:
            continue
        return
