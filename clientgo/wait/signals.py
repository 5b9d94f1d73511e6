"""SIGINT and SIGTERM as a stop event.

Promises: the first signal sets the event, so that the program drains; the second exits immediately
with status 1. No signal is lost, also if several come together. :func:`stop_on_signals` and
:func:`call_on_signals` restore the previous handlers. Python allows this in the main thread only.

Differs from client-go (sample-controller pkg/signals): a Python handler may interrupt the main
thread while that holds the event's lock; and after a signal that the system gives to another
thread, it runs only when the main thread has something to do. So the handlers do nothing, and a
thread reads from a socket which signals came.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
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
    stop = StopEvent()
    _Handler(_stopping(stop), stop.set)
    return stop


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """Like :func:`setup_signal_handler`, for the length of a block, and as often as you like.

    Raises RuntimeError outside of the main thread and while signals stop something else already.
    """
    stop = StopEvent()
    with _handling(_Handler(_stopping(stop), stop.set)):
        yield stop


@contextmanager
def call_on_signals(callback: Callable[[signal.Signals], object]) -> Iterator[None]:
    """Call ``callback`` with each SIGINT and SIGTERM, in a thread, for the length of a block.

    For a program that passes signals on. Raises RuntimeError as :func:`stop_on_signals`.
    """
    with _handling(_Handler(callback)):
        yield


def _stopping(stop: threading.Event) -> Callable[[signal.Signals], None]:
    came = False  # a program may have set the event itself before the first signal

    def set_or_exit(_number: signal.Signals) -> None:
        nonlocal came
        if came:
            os._exit(1)
        came = True
        stop.set()

    return set_or_exit


@contextmanager
def _handling(handler: _Handler) -> Iterator[None]:
    try:
        yield
    finally:
        handler.remove()


class _Handler:
    """The handler of both signals; there is one at a time."""

    def __init__(
        self,
        on_signal: Callable[[signal.Signals], object],
        on_failure: Callable[[], object] = lambda: None,
    ) -> None:
        global _installed
        if _installed:
            raise RuntimeError(
                "setup_signal_handler() or stop_on_signals() was already called in this process: "
                "pass its event to everything that has to stop"
            )
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("signals can be handled in the main thread only; call this there")
        self._on_signal = on_signal
        import socket  # slow to import, and every work queue imports this package

        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        self._thread = SupervisedThread(
            self._call_on_signal,
            name="signal-handler",
            then="signals cannot be handled any more, so the program stops now",
            on_failure=lambda _: on_failure(),
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

    def _call_on_signal(self) -> None:
        while True:
            for number in self._reader.recv(64):
                if number == _END:
                    return
                if number in _SIGNALS:
                    self._on_signal(signal.Signals(number))


def _leave_to_the_thread(_number: int, _frame: FrameType | None) -> None:
    """Stands in for the default, which would end the process."""
