"""Turning SIGINT and SIGTERM into a stop event.

Promises: the first signal sets the event, so that the program drains; the second ends it at once
with exit status 1.

Does not promise: to work outside the main thread (Python does not allow it), or to give the
previous handlers back.

Differs from client-go (sample-controller pkg/signals): a Python handler interrupts the main
thread anywhere, also while it holds the lock inside the event. So the handler only puts a token
into a re-entrant queue and a thread sets the event.
"""

from __future__ import annotations

import os
import signal
import threading
from queue import SimpleQueue
from types import FrameType

_installed = False


def setup_signal_handler() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; a second one exits with status 1.

    Call once, from the main thread. Raises RuntimeError when called again: a second event would
    never be set.
    """
    global _installed
    if _installed:
        raise RuntimeError(
            "setup_signal_handler() was already called in this process: "
            "pass the event that it returned to everything that has to stop"
        )
    stop = threading.Event()
    signals: SimpleQueue[int] = SimpleQueue()
    received = False

    def handle(number: int, _frame: FrameType | None) -> None:
        nonlocal received
        if received:
            os._exit(1)
        received = True
        signals.put(number)

    def set_on_signal() -> None:
        signals.get()
        stop.set()

    signal.signal(signal.SIGINT, handle)
    signal.signal(signal.SIGTERM, handle)
    _installed = True
    threading.Thread(target=set_on_signal, name="signal-handler", daemon=True).start()
    return stop
