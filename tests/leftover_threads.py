"""That what a test starts has ended when the test has."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_thread_left(within: float = 2.0) -> Iterator[None]:
    """Fail if a thread that begins in the block is alive ``within`` seconds after it.

    But for the watcher of a plain stop event, which lives until the event is set: tests may leave
    theirs unset, as programs do.
    """
    before = set(threading.enumerate())
    yield
    started = {t for t in threading.enumerate() if t not in before and t.name != "stop-watcher"}
    give_up = time.monotonic() + within
    for thread in started:
        thread.join(max(give_up - time.monotonic(), 0.0))
    left = [thread.name for thread in started if thread.is_alive()]
    assert not left, f"threads that were left running: {left}"
