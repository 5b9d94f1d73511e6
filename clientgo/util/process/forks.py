"""What happens to objects when the process forks.

A fork copies only one thread: locks that other threads held stay locked, their work stops, and
sockets are shared with the parent. So each object with locks, threads or sockets registers one of:

- `renew_in_child`: it works there, with new locks and connections;
- `refuse_in_child`: it belongs to the parent. Its locks are replaced by an object that raises
  `ForkedProcessError`, so the check costs nothing in the parent.

Promises: the registered functions run before the child's first line of Python, in the order of
registration; a registered object can be freed. Locks of other libraries, such as prometheus-client,
are not covered. Go programs do not fork without exec.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final, NoReturn, Self, TypeVar

from clientgo.util.copies import CopyableError

T = TypeVar("T")

_log = logging.getLogger("clientgo.util.process")


class ForkedProcessError(CopyableError, RuntimeError):
    """A forked child used what belongs to its parent process."""


_FEW: Final = 64
"""So many registrations of freed objects are always kept."""


class _Registry:
    """The objects that a fork concerns, in the order of their registration.

    Those that were freed are forgotten now and then, by :meth:`add`: a function that is called when
    an object is freed could fail there, as where the interpreter is at its limit of recursion.
    """

    def __init__(self) -> None:
        self.generation = 0
        self._lock = threading.RLock()  # garbage collection inside `add` may lead to `add`
        self._renewals: list[tuple[weakref.ref[Any], Callable[[Any], object]]] = []
        self._limit = 0
        """Registrations above which those of freed objects are forgotten."""

    def add(self, owner: T, renew: Callable[[T], object]) -> None:
        with self._lock:
            self._renewals.append((weakref.ref(owner), renew))
            if len(self._renewals) > self._limit:
                self._limit = sys.maxsize  # an `add` inside only appends, which the loop sees
                self._renewals = [entry for entry in self._renewals if entry[0]() is not None]
                self._limit = 2 * len(self._renewals) + _FEW

    def renew(self) -> None:
        """Run in the child, which has one thread."""
        self.generation += 1
        self._lock = threading.RLock()
        for reference, renew in list(self._renewals):
            owner = reference()
            if owner is None:
                continue
            try:
                renew(owner)
            except Exception:  # noqa: BLE001 - the other objects must be renewed as well
                _log.exception("%r cannot be used in this forked process", owner)


_registry: Final = _Registry()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_registry.renew)


def generation() -> int:
    """Return how many forks lie between this process and the one that imported this module."""
    return _registry.generation


class ForkAwareContext(ABC):
    """A context manager that ends in the process which has entered it, and not in a forked child.

    A child leaves what runs, and the connections, to its parent.
    """

    def __enter__(self) -> Self:
        self._begin_block()
        self._entered_in = generation()
        return self

    def __exit__(self, *_: object) -> None:
        if self._entered_in == generation():
            self._end_block()

    def _begin_block(self) -> object:
        """Called at the start of the block."""
        return None

    @abstractmethod
    def _end_block(self) -> object:
        """Called at the end of the block."""


def call_in_child(function: Callable[[], object]) -> None:
    """Call `function`, of a module, in each child that this process forks."""
    _registry.add(function, lambda function: function())


def renew_in_child(owner: T, *locks: str, renew: Callable[[T], object] = lambda _: None) -> None:
    """Let `owner` go on in each child that this process forks.

    There the attributes `locks` get new locks, which are free, and `renew(owner)` is called, as
    to drop connections. It must not refer to `owner` itself, which would then never be freed.
    """

    def begin_again(owner: T) -> None:
        for lock in locks:
            setattr(owner, lock, threading.Lock())
        renew(owner)

    _registry.add(owner, begin_again)


def refuse_in_child(owner: object, what: str, *parts: str, advice: str) -> None:
    """Let every use of `owner` in a forked child raise `ForkedProcessError`.

    `parts` are attributes, such as its lock, that each use of it begins with. `what` it is and
    `advice` make the message.
    """
    message = (
        f"{what} was made in process {os.getpid()} and does not work in a process that was "
        f"forked from it; {advice}"
    )

    def refuse(owner: object) -> None:
        for part in parts:
            setattr(owner, part, _Refusal(message))

    _registry.add(owner, refuse)


class _Refusal:
    """Takes the place of a part, and raises whatever is asked of it."""

    def __init__(self, message: str) -> None:
        self._message = message

    def _raise(self, *_: object) -> NoReturn:
        raise ForkedProcessError(self._message)

    __getattr__ = __enter__ = __exit__ = __delitem__ = _raise
