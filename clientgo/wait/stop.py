"""Being told that a stop event is set, without polling it.

Promises: a callback runs once, soon after its event is set, in a thread of ours (so never inside
a signal handler) or at once in the caller if the event is set already; one watcher thread serves
all callbacks of one event and ends with it; a cancelled registration keeps nothing alive.

Does not promise: an order among callbacks of one event, or that a callback which is running when
it is cancelled has finished. The watcher of an event that is never set lives as long as the
process does; it is a daemon and uses no CPU.

Differs from client-go: a Go channel can be selected on together with anything else, a Python
event cannot. This is the one place that bridges the two; everything that blocks on a condition
registers a callback that notifies it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("clientgo.wait")

_lock = threading.Lock()
_watched: dict[threading.Event, set[Registration]] = {}
"""The registrations of each event that has a watcher; guarded by `_lock`."""


class Registration:
    """A callback that waits for its event; made by `call_when_set`."""

    __slots__ = ("_callback", "_event")

    def __init__(self, event: threading.Event, callback: Callable[[], object]) -> None:
        self._event = event
        self._callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Never start the callback from now on. Idempotent, thread-safe, does not block."""
        with _lock:
            self._callback = None
            _watched.get(self._event, set()).discard(self)

    def _fire(self) -> None:
        with _lock:
            callback, self._callback = self._callback, None
        if callback is None:
            return
        try:
            callback()
        except Exception:  # noqa: BLE001 - one component's bug must not keep the others from stopping
            _log.exception("A stop callback failed; the remaining ones run all the same")


def call_when_set(event: threading.Event, callback: Callable[[], object]) -> Registration:
    """Run `callback` once `event` is set; at once, in the caller, if it is set already.

    Thread-safe; does not block. An exception of a callback that runs in the watcher thread is
    logged, one that runs in the caller is raised there.
    """
    registration = Registration(event, callback)
    if event.is_set():
        callback()
        return registration
    with _lock:
        registrations = _watched.get(event)
        if registrations is not None:
            registrations.add(registration)
            return registration
        _watched[event] = {registration}
    threading.Thread(target=_watch, args=(event,), name="stop-watcher", daemon=True).start()
    return registration


def _watch(event: threading.Event) -> None:
    event.wait()
    with _lock:
        registrations = _watched.pop(event)
    for registration in registrations:
        registration._fire()
