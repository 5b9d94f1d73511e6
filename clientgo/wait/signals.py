"""SIGINT and SIGTERM as a stop event.

Promises: the first signal sets the event, so that the program drains; the second exits immediately
with status 1. :func:`stop_on_signals` restores the previous handlers. Python allows this in the
main thread only.

Differs from client-go (sample-controller pkg/signals): a Python handler may interrupt the main
thread while that holds the event's lock. So the handlers do nothing, and a thread reads from a
socket which signals came.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from clientgo.process import SupervisedThread, renew_in_child
from clientgo.wait.stop import StopEvent

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_END: Final = 0
"""No signal has this number; it ends the thread."""

_installed = False


def setup_signal_handler() -> threading.Event:
    """Return an event that the first SIGINT or SIGTERM sets; a second one exits with status 1.

    Call once, from the main thread. Raises RuntimeError when called again: a second event would
    never be set.
    """
    return _Handler().stop


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Like :func:`setup_signal_handler`, for the length of a block, and as often as you like.

    Raises RuntimeError outside of the main thread and while signals stop something else already.
    """
    handler = _Handler()
    try:
        yield handler.stop
    finally:
        handler.remove()


class _Handler:
    """The handler of both signals; there is one at a time."""

    def __init__(self) -> None:
        global _installed
        if _installed:
            raise RuntimeError(
                "setup_signal_handler() or stop_on_signals() was already called in this process: "
                "pass its event to everything that has to stop"
            )
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("signals can be handled in the main thread only; call this there")
        self.stop = StopEvent()
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._thread = SupervisedThread(
            self._set_on_signal,
            name="signal-handler",
            then="signals cannot be handled any more, so the program stops now",
            on_failure=lambda _: self.stop.set(),
        )
        self._thread.start()
        self._told_before = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before: dict[signal.Signals, Any] = {
            number: signal.signal(number, _leave_to_the_thread) for number in _SIGNALS
        }
        _installed = True
        renew_in_child(self, renew=_Handler._leave_to_parent)

    def _leave_to_parent(self) -> None:
        """In a forked child: signals of the child must not stop the parent."""
        global _installed
        if not self._before:
            return  # removed before the fork
        for number, before in self._before.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        self._reader.close()
        self._writer.close()
        _installed = False

    def remove(self) -> None:
        """Give the previous handlers back."""
        global _installed
        for number, before in self._before.items():
            signal.signal(number, before if before is not None else signal.SIG_DFL)
        signal.set_wakeup_fd(self._told_before)
        self._writer.send(bytes((_END,)))
        self._thread.join()
        self._reader.close()
        self._writer.close()
        self._before = {}
        _installed = False

    def _set_on_signal(self) -> None:
        while True:
            for number in self._reader.recv(64):
                if number == _END:
                    return
                if number not in _SIGNALS:
                    continue
                if self.stop.is_set():
                    os._exit(1)
                self.stop.set()


def _leave_to_the_thread(_number: int, _frame: FrameType | None) -> None:
    """Stands in for the default, which would end the process."""
