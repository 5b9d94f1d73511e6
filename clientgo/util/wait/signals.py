"""SIGINT and SIGTERM as a stop event.

Promises: the first signal sets the event, so that the program drains; the second exits immediately
with status 1. No signal is lost, even if several arrive together, or other code handles signals
too: asyncio, another library, or an earlier handler, which is still called. Python runs handlers in
the main thread only.

Differs from client-go (sample-controller pkg/signals): a Python handler may interrupt the main
thread while that holds the event's lock, so it only writes to a socket, and a thread reads there
which signals came. If no other library has it, the interpreter's wake-up descriptor writes to the
same socket: that needs no main thread, which may be busy in a library written in C.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, Final

from clientgo.util.process import SupervisedThread, call_in_child, renew_in_child
from clientgo.util.wait.stop import StopEvent

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_END: Final = 0
"""No signal has this number; it ends the thread."""

_HANDLED: Final = 128
"""Added to the number by the handler in Python; the wake-up descriptor writes the number alone."""

_log = logging.getLogger("clientgo.util.wait")

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
        self._socket = _socket_of_process()
        self._process = os.getpid()
        self._is_active = True
        self._woken_for: set[int] = set()
        """Signals that the wake-up descriptor has told of, and whose handler is to run yet."""
        self._thread = SupervisedThread.started(
            self._call_on_signal,
            name="signal-handler",
            then="signals cannot be handled any more, so the program stops now",
            on_failure=lambda _: on_failure(),
        )
        self._before: dict[signal.Signals, Any] = {}
        _installed = True
        renew_in_child(self, renew=_Handler._leave_to_parent)
        try:
            for number in _SIGNALS:
                self._before[number] = signal.signal(number, self._handle)
        except ValueError:
            self._end()
            raise
        other = _swap_wakeup_fd(self._socket.writer.fileno())
        if other != -1:
            _swap_wakeup_fd(other)  # asyncio or another event loop needs it

    def remove(self) -> None:
        """Give the previous handlers back, unless another library has replaced these."""
        if os.getpid() != self._process:
            return  # done when the process was forked
        self._restore()
        self._end()

    def _end(self) -> None:
        global _installed
        self._socket.writer.send(bytes((_END,)))
        self._thread.join()
        _installed = False

    def _leave_to_parent(self) -> None:
        """In a forked child: signals of the child must not stop the parent."""
        global _installed
        if self._is_active:
            self._restore()
            _installed = False

    def _restore(self) -> None:
        self._is_active = False
        for number, before in self._before.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, before if before is not None else signal.SIG_DFL)
        current = _swap_wakeup_fd(-1)
        if current != self._socket.writer.fileno():
            _swap_wakeup_fd(current)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Python's handler of the signals, in the main thread, at any point of what runs there."""
        before = self._before.get(signal.Signals(number))
        if not self._is_active or os.getpid() != self._process:
            # Another library has put it back after the end, or the process has just been forked.
            _handle_as_before(number, frame, before)
            return
        with suppress(BlockingIOError):  # so many signals wait that one more does not matter
            self._socket.writer.send(bytes((number | _HANDLED,)))
        if callable(before) and not _only_ends_program(before):
            try:
                before(number, frame)
            except (KeyboardInterrupt, SystemExit):
                _log.debug("the program ends when it has drained, not by the previous handler")

    def _call_on_signal(self) -> None:
        while True:
            for byte in self._socket.reader.recv(64):
                if byte == _END:
                    return
                number = byte & ~_HANDLED
                if number in _SIGNALS and self._is_news(number, handled=byte != number):
                    self._on_signal(signal.Signals(number))

    def _is_news(self, number: int, *, handled: bool) -> bool:
        """Return False for the second of the two ways by which a signal may come."""
        if not handled:
            self._woken_for.add(number)
            return True
        if number in self._woken_for:
            self._woken_for.remove(number)
            return False
        return True


class _Socket:
    """Where handlers write which signals came.

    One for the process: a library that remembers its descriptor may bring it back at any time.
    """

    def __init__(self) -> None:
        import socket  # for those who handle signals

        self.reader, self.writer = socket.socketpair()
        self.writer.setblocking(False)

    def drain(self) -> None:
        """Forget what came while it had no reader."""
        self.reader.setblocking(False)
        with suppress(BlockingIOError):
            while self.reader.recv(4096):
                continue
        self.reader.setblocking(True)


_socket: _Socket | None = None


def _socket_of_process() -> _Socket:
    global _socket
    if _socket is None:
        _socket = _Socket()
    _socket.drain()
    return _socket


def _forget_socket() -> None:
    """In a forked child: the socket is the parent's."""
    global _socket
    _socket = None


call_in_child(_forget_socket)


def _swap_wakeup_fd(fd: int) -> int:
    return signal.set_wakeup_fd(fd, warn_on_full_buffer=False)


def _only_ends_program(handler: Any) -> bool:
    """Return True for the handlers of Ctrl-C that Python and asyncio.run install by default."""
    if handler is signal.default_int_handler:
        return True
    function = getattr(handler, "func", None)
    return getattr(function, "__qualname__", "") == "Runner._on_sigint"


def _handle_as_before(number: int, frame: FrameType | None, before: Any) -> None:
    if callable(before):
        before(number, frame)
    elif before is not signal.SIG_IGN:
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
