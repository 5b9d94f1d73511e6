"""Watching a lease, so that a candidate tries as soon as it is free.

A waiting candidate wakes up when the lease is released or deleted. A watch that fails is opened
again a retry period later; a forbidden one is logged once. The candidate also tries periodically,
as in client-go, so a watch that fails costs only time.
"""

from __future__ import annotations

import logging
import threading
from typing import Self

from clientgo.leaderelection.locks.lock import Lock, WatchableLock
from clientgo.meta import ForbiddenError
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread, ThreadStartError
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.leaderelection")


class LeaseWatch:
    """The waiting of one candidate: a context manager, used by one thread.

    The watch begins with the first :meth:`wait` and ends with the block; ``pause`` is in seconds.
    A lock that cannot be watched is only waited for.
    """

    def __init__(self, lock: Lock, stop: threading.Event, *, pause: float, clock: Clock) -> None:
        self._lock = lock
        self._stop = stop
        self._pause = pause
        self._clock = clock
        self._ended = StopEvent()
        self._woken = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._thread is not None:
            self._ended.set()
            self._registration.cancel()
            self._thread.join()

    def wait(self, seconds: float) -> bool:
        """Block for so long, until the lease is free, or the stop; returns whether that is set."""
        if not isinstance(self._lock, WatchableLock):
            return self._clock.sleep(seconds, self._stop)
        if self._thread is None:
            try:
                self._start(self._lock)
            except ThreadStartError as error:
                _log.warning("%s; the lease is only looked at from time to time", error)
                return self._clock.sleep(seconds, self._stop)
        self._clock.sleep(seconds, self._woken)
        self._woken.clear()
        if self._stop.is_set():
            self._woken.set()
        return self._stop.is_set()

    def _start(self, lock: WatchableLock) -> None:
        self._registration = call_when_set(self._stop, self._woken.set)
        try:
            self._thread = SupervisedThread.started(
                self._watch,
                args=(lock,),
                name=f"{self._lock.describe()}-watch",
                then="the candidate goes on without a watch and tries every retry period",
            )
        except BaseException:
            self._registration.cancel()
            raise

    def _watch(self, lock: WatchableLock) -> None:
        while not self._ended.is_set():
            try:
                for holder in lock.watch(self._ended):
                    if not holder:
                        self._woken.set()
            except ForbiddenError as error:
                _log.info(
                    "%s: not watched, only looked at from time to time: %s; grant the verb watch",
                    self._lock.describe(),
                    error,
                )
                return
            except Exception as error:  # noqa: BLE001 - the candidate looks in any case
                _log.debug("%s: the watch failed: %s", self._lock.describe(), error)
            self._clock.sleep(self._pause, self._ended)
