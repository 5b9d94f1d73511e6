"""Callbacks for stop events, without polling.

Promises: a callback runs once, soon after its event is set, or immediately in the caller if it is
set already. One watcher thread serves all callbacks of a plain event; a `StopEvent` runs its
callbacks in the thread that sets it. A cancelled registration keeps nothing alive.

Does not promise an order among callbacks, nor that a cancelled callback which already runs has
ended. The watcher of an event that is never set lives as long as the process, without CPU.

In Go a channel can be selected on together with others. Here, code that blocks on a condition
registers a callback that notifies it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, call_in_child, generation

_log = logging.getLogger("clientgo.util.wait")

_lock = threading.Lock()
_watched: dict[threading.Event, set[Registration]] = {}
"""What waits for each plain event, which has a watcher then; guarded by `_lock`."""


@uncopyable("it has locks; make one in each process")
class Registration:
    """A callback that waits for its event; made by `call_when_set`."""

    __slots__ = ("_callback", "_generation", "_waiting")

    def __init__(self, callback: Callable[[], object]) -> None:
        self._callback: Callable[[], object] | None = callback
        self._generation = generation()
        self._waiting: set[Registration] = set()

    def cancel(self) -> None:
        """Never start the callback from now on. Idempotent, thread-safe, does not block."""
        with _lock:
            self._callback = None
            self._waiting.discard(self)

    def _wait_among_locked(self, waiting: set[Registration]) -> None:
        self._waiting = waiting
        waiting.add(self)

    def _fire(self) -> None:
        with _lock:
            callback, self._callback = self._callback, None
        if callback is None or self._generation != generation():
            return  # cancelled, or made by the parent process for its own components
        try:
            callback()
        except KeyboardInterrupt:
            raise
        except BaseException:  # noqa: BLE001 - one component's bug must not keep others from stopping
            _log.exception("A stop callback failed; the remaining ones run anyway")


@uncopyable("it has locks; make one in each process")
class StopEvent(threading.Event):
    """An event that needs no watcher: for what a component itself makes and sets.

    `set` returns when the callbacks have; it must not be called by a signal handler, nor with a
    lock held that a callback takes. Set once and never cleared.
    """

    def __init__(self) -> None:
        super().__init__()
        self._waiting: set[Registration] = set()

    def set(self) -> None:
        super().set()
        with _lock:
            registrations = list(self._waiting)
            self._waiting.clear()
        for registration in registrations:
            registration._fire()


def call_when_set(event: threading.Event, callback: Callable[[], object]) -> Registration:
    """Run `callback` once `event` is set; immediately, in the caller, if it is set already.

    Thread-safe; does not block, and `callback` must not either. An exception of a callback that
    waited is logged, one that runs immediately is raised in the caller.
    """
    registration = Registration(callback)
    if not _registered(registration, event):
        callback()
    return registration


def wait_for_event(
    event: threading.Event, timeout: float | None, *stops: threading.Event | None
) -> bool:
    """Block until `event` or a stop is set, or for `timeout` real seconds; is `event` set now?

    Thread-safe. No thread is needed for a `StopEvent`, one watcher for any other.
    """
    ends = [event, *(stop for stop in stops if stop is not None)]
    if len(ends) == 1 or event.is_set():
        return event.wait(timeout)
    woken = threading.Event()
    registrations = [call_when_set(one, woken.set) for one in ends]
    woken.wait(timeout)
    for registration in registrations:
        registration.cancel()
    return event.is_set()


def _forget_parent() -> None:
    """Begin without watchers in a forked child: those of the parent are not there."""
    global _lock
    _lock = threading.Lock()
    _watched.clear()


call_in_child(_forget_parent)


def _registered(registration: Registration, event: threading.Event) -> bool:
    """Let a registration wait for an event, unless that is set."""
    with _lock:
        if event.is_set():
            return False
        if isinstance(event, StopEvent):
            registration._wait_among_locked(event._waiting)
            return True
        if event not in _watched:
            SupervisedThread.started(
                _watch,
                args=(event,),
                name="stop-watcher",
                then="what waits for this stop does not end; end this process",
            )
        registration._wait_among_locked(_watched.setdefault(event, set()))
    return True


def _watch(event: threading.Event) -> None:
    event.wait()
    with _lock:
        registrations = list(_watched.pop(event))
    for registration in registrations:
        registration._fire()
