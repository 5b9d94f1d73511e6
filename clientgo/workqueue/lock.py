"""The lock of a work queue, and the operations that could not have it.

The garbage collector and signal handlers may run any code inside a critical section, also code
that uses the same queue. So an operation that need not wait (`add`, `add_after`, `done`) leaves
itself in a list while the lock is taken, by any thread; each holder looks there after its release.

The lock is a deque with one token, which its holder has removed; that is faster than a
`threading.Lock`. A thread that must have it leaves a wake-up in the list and tries again; it may
lose to another thread, which then gets on. Nothing spins.

Without a global interpreter lock, CPython guards each ``append`` and ``del`` of a deque by a lock
of the deque. So all removals and returns of the token have one order, and an operation that is left
before its thread fails to remove the token is seen by the holder, which looks after the return.

Python raises KeyboardInterrupt, and what other threads send, after calls and where functions and
loops begin. So what must not be torn apart is ``del``, ``[]`` and ``=``, without a call between.
"""

from __future__ import annotations

import logging
import sys
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any, TypeVar, cast

R = TypeVar("R")

_log = logging.getLogger("clientgo.workqueue")

_PACKAGE = __name__.rpartition(".")[0]


class QueueLock:
    """The lock itself. `LockedOperations` is the way to use it."""

    __slots__ = ("_repair", "does_left", "left", "name", "token")

    def __init__(self, name: str, repair: Callable[[], object] = lambda: None) -> None:
        self.name = name
        self._repair = repair
        self.token: deque[None] = deque((None,), maxlen=1)  # a second release adds no token
        self.left: deque[tuple[Callable[[Any], object], Any]] = deque()
        """Operations that could not have the lock, for its holder to do, and their item."""
        self.does_left = False
        """True while the holder does what others have left."""

    def acquire(self, blocking: bool = True) -> bool:
        try:
            del self.token[0]
        except IndexError:
            if blocking:
                self.wait()
            return blocking
        return True

    def release(self) -> None:
        try:
            self.token.append(None)
        finally:
            self.do_left()

    def locked(self) -> bool:
        return not self.token

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def do_released(self, operation: Callable[[], object]) -> None:
        """Do something without the lock, which the caller has, and has again afterwards."""
        self._release_save()
        try:
            operation()
        finally:
            self._acquire_restore()

    def condition(self) -> threading.Condition:
        """Return a new condition of this lock."""
        return threading.Condition(cast("threading.Lock", self))

    # For `threading.Condition`, whose wait must hold the lock again also when it is interrupted.

    def _is_owned(self) -> bool:
        return not self.token

    def _release_save(self) -> None:
        try:
            self.release()
        except BaseException:
            self._acquire_restore()
            raise

    def _acquire_restore(self, _: object = None) -> None:
        interrupt: BaseException | None = None
        while True:
            try:
                self.acquire()
                break
            except BaseException as error:  # noqa: BLE001 - raised below, with the lock
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def wait(self) -> None:
        """Take the token when its holder has put it back, and this thread runs.

        With a `threading.Lock` the waiting thread would own it from its release on, long before
        the interpreter lets that thread run; until then all others would have to wait too, and
        each operation would cost a thread switch.
        """
        while True:
            wakeup = threading.Lock()
            wakeup.acquire()
            self.left.append((_release, wakeup))
            if self.acquire(False):  # put back before its holder could see the line above
                return
            wakeup.acquire()
            if self.acquire(False):
                return

    def is_taken_by_interrupted(self) -> bool:
        """Return True if the token is taken, perhaps by what the caller interrupts."""
        return not self.token and self.interrupts_operation()

    def interrupts_operation(self) -> bool:
        """Return True if the caller interrupts an operation of the queue in this thread.

        A signal handler does, or a finalizer. The operation need not have the token.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and self._is_operation(frame):
            frame = frame.f_back  # of the operation that asks
        while frame is not None and not self._is_operation(frame):
            frame = frame.f_back
        return frame is not None

    def _is_operation(self, frame: FrameType) -> bool:
        if frame.f_globals.get("__package__") != _PACKAGE:
            return False
        owner = frame.f_locals.get("self")
        return owner is self or getattr(owner, "_token", None) is self.token

    def do_left(self) -> None:
        """Do what was left, unless the lock is taken: then its holder does it afterwards."""
        while self.left:
            try:
                del self.token[0]  # to read its length would not be ordered with its return
            except IndexError:
                return
            try:
                self.do_left_locked()
            finally:
                self.token.append(None)

    def do_left_locked(self) -> None:
        self.does_left = True
        try:
            while self.left:
                operation, item = self.left[0]
                del self.left[0]
                try:
                    operation(item)
                except Exception:  # noqa: BLE001 - this thread did not ask for it
                    self._repair()
                    _log.exception("work queue %r: the ordering failed for %r", self.name, item)
                except BaseException:
                    self.left.appendleft((operation, item))  # this thread's interrupt is not theirs
                    self._repair()
                    raise
        finally:
            self.does_left = False


def _release(lock: Any) -> None:
    lock.release()


class LockedOperations(ABC):
    """What has a `QueueLock`, and does its operations under it.

    An operation that is too hot for a call spells `_do_locked` out, line by line: with the ``del``
    in a function, or a ``with``, an interrupt can come where the lock is taken and never released.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = lock = QueueLock(name, self._repair_locked)
        self._token, self._left = lock.token, lock.left
        self._do_left, self._do_left_locked = lock.do_left, lock.do_left_locked

    @abstractmethod
    def _repair_locked(self) -> None:
        """Make the queue whole again, after an operation that has raised."""

    def _do_locked(
        self, operation: Callable[[Any], R], item: Any = None, *, or_leave: bool = False
    ) -> R:
        """Do something under the lock, and return what it returns.

        If the lock is taken, wait for it or, with `or_leave`, leave the operation, which returns
        nothing, to the lock's holder.
        """
        try:
            del self._token[0]
        except IndexError:
            if or_leave:
                self._leave_to_holder(operation, item)
                return cast("R", None)
            self._wait_for_token()
        try:
            if self._left:
                self._do_left_locked()
            return operation(item)
        except BaseException:
            self._repair_locked()
            raise
        finally:
            try:
                self._token.append(None)
            finally:
                if self._left:
                    self._do_left()

    def _leave_to_holder(self, operation: Callable[[Any], object], item: Any) -> None:
        hash(item)  # an item that is none is refused to the caller
        self._left.append((operation, item))
        self._do_left()

    def _read(self, operation: Callable[[], R]) -> R:
        """Do what changes nothing under the lock, or inside an operation that is interrupted."""
        if self._lock.is_taken_by_interrupted():
            return operation()
        return self._do_locked(lambda _: operation())

    def _wait_for_token(self) -> None:
        is_main = threading.get_ident() == threading.main_thread().ident
        if is_main and self._lock.interrupts_operation():
            raise RuntimeError(
                f"a signal handler uses work queue {self._name!r} while it interrupts an operation "
                "of the same queue, which cannot end before it; there call only add, add_after, "
                "add_rate_limited, done, shut_down and what reads, or set an event that another "
                "thread waits for"
            )
        self._lock.wait()
