"""Reporting who leads, without blocking the election.

The callback gets each new leader once, in order, in its own thread; what it raises is logged. It
may lag behind. In client-go each call has a goroutine, so two may change places.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final

from clientgo.util.process import SupervisedThread, ThreadStartError

_log = logging.getLogger("clientgo.leaderelection")

_CLOSE_TIMEOUT: Final = 5.0
"""How long a callback that is running may hold up the end of an election."""


class LeaderReporter:
    """Passes changes of the leader on, and logs another one; for one thread at a time."""

    def __init__(self, callback: Callable[[str], object] | None, name: str, me: str) -> None:
        self._callback = callback
        self._name = name
        self._me = me
        self._reported = ""
        self._queue: SimpleQueue[str | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def report(self, identity: str) -> None:
        """The leader is ``identity``; does not block."""
        if identity == self._reported:
            return
        self._reported = identity
        if identity not in ("", self._me):
            _log.info("%s: %s leads; %s stands by", self._name, identity, self._me)
        if self._callback is None:
            return
        if self._thread is None:
            try:
                self._thread = SupervisedThread.started(
                    _pass_on,
                    args=(self._queue, self._callback, self._name),
                    name=f"{self._name}-new-leader",
                    then="on_new_leader is not called any more; the election goes on",
                )
            except ThreadStartError as error:
                _log.error("%s: on_new_leader is called later: %s", self._name, error)
        self._queue.put(identity)

    def close(self) -> None:
        """Wait until everything is passed on."""
        if self._thread is None:
            return
        self._queue.put(None)
        self._thread.join(_CLOSE_TIMEOUT)
        if self._thread.is_alive():
            _log.warning(
                "%s: on_new_leader still runs after %g s; going on without it",
                self._name,
                _CLOSE_TIMEOUT,
            )
        self._thread = None


def _pass_on(queue: SimpleQueue[str | None], callback: Callable[[str], object], name: str) -> None:
    while (identity := queue.get()) is not None:
        try:
            callback(identity)
        except BaseException:  # noqa: BLE001 - the election does not depend on its callback
            _log.exception("%s: on_new_leader(%r) failed", name, identity)
