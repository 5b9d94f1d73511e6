"""That what a test starts has ended when the test has."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_LIVE_ON = ("stop-watcher", "asyncio_", "apiserver-large-objects", "apiserver-expressions")


@contextmanager
def no_thread_left(within: float = 30.0) -> Iterator[None]:
    """Fail if a thread that begins in the block is alive ``within`` seconds after it.

    But for the watcher of a plain stop event, which lives until the event is set: tests may leave
    theirs unset, as programs do. And for the workers of an event loop, which live until it closes:
    a server may outlive the test that first makes it compress an answer, read a large object, or
    evaluate an expression that takes long.
    """
    before = set(threading.enumerate())
    yield
    started = {
        thread
        for thread in threading.enumerate()
        if thread not in before and not thread.name.startswith(_LIVE_ON)
    }
    give_up = time.monotonic() + within
    for thread in started:
        _join(thread, give_up)
    left = [thread.name for thread in started if thread.is_alive()]
    assert not left, f"threads that were left running: {left}"


def _join(thread: threading.Thread, give_up: float) -> None:
    """Join a thread, also one that is being started, which is listed and not alive yet."""
    while _is_being_started(thread) and time.monotonic() < give_up:
        time.sleep(0.001)  # nothing public tells when it can be joined
    if thread.is_alive():
        thread.join(max(give_up - time.monotonic(), 0.0))


def _is_being_started(thread: threading.Thread) -> bool:
    return not thread.is_alive() and thread in threading.enumerate()
