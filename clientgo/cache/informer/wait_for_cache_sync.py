"""Waits until caches, and handlers, have seen the initial list.

Promises to return as soon as everything has synced, ``stop`` is set or the time is up, and to name
what has not synced, with the last error of its informer. For handlers pass their registrations.

Differs from client-go (``tools/cache`` WaitForCacheSync, WaitFor): one function for informers,
registrations, checkers and plain functions; it polls only the functions; a stop is no error; a long
wait says what it waits for.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypeAlias

from clientgo.cache.queues.done_checker import DoneChecker, Latch, any_set, wake_waiting
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import CopyableError
from clientgo.util.wait import call_when_set

_log = logging.getLogger("clientgo.cache.sync")

POLL_EVERY: Final = 0.1
"""Seconds between calls of a plain function, which cannot report that its result changed."""

REPORT_AFTER: Final = 10.0
"""Seconds until a wait is logged with what has not synced; then after three times as long each."""

_STOPPED: Final = "stopped"


class Syncing(Protocol):
    """An informer, a registration, a controller or a queue."""

    def has_synced_checker(self) -> DoneChecker: ...


WaitedFor: TypeAlias = Syncing | DoneChecker | Callable[[], bool]


class CacheSyncError(CopyableError):
    """Something has not synced; the message names it and its last error."""


@dataclass(frozen=True, slots=True)
class SyncResult:
    """What has synced, by name, and why the wait ended if not everything has.

    True if everything has synced. ``last_errors`` has the errors of informers that have not.
    """

    synced: dict[str, bool]
    ended_by: str = ""
    last_errors: dict[str, Exception] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return all(self.synced.values())

    def as_error(self) -> CacheSyncError | None:
        """Return the error to raise or print; None if everything has synced."""
        if self:
            return None
        unsynced = sorted(name for name, synced in self.synced.items() if not synced)
        details = [
            f"{name} (last error: {self.last_errors[name]})" if name in self.last_errors else name
            for name in unsynced
        ]
        return CacheSyncError(f"not synced, {self.ended_by}: {', '.join(details)}")

    def raise_for_unsynced(self) -> None:
        """Raise :class:`CacheSyncError` if not everything has synced."""
        error = self.as_error()
        if error is not None:
            raise error


def wait_for_cache_sync(
    stop: threading.Event,
    *waited_for: WaitedFor,
    timeout: float | None = None,
    name: str = "",
    clock: Clock = REAL_CLOCK,
) -> SyncResult:
    """Block until everything has synced, ``stop`` is set or ``timeout`` seconds have passed.

    An informer that has ended without its first list ends the wait too: it will never sync.

    With a ``name`` the wait and its result are logged at INFO. Out of time is logged as an error, a
    stop at INFO: a program that is stopped while it starts has not failed. A wait of
    :data:`REPORT_AFTER` seconds and more is logged as a warning. Thread-safe.

    Source: k8s.io/client-go/tools/cache, WaitForCacheSync, WaitForNamedCacheSync and WaitFor.
    """
    items = _named_apart([_Item(number, one) for number, one in enumerate(waited_for, start=1)])
    if name:
        names = ", ".join(item.name for item in items)
        _log.info("%s: waiting for caches to sync: %s", name, names)
    ended_by = _wait(items, stop, timeout, name, clock)
    result = _result(items, ended_by)
    if not result:
        _log_unsynced(result, logging.INFO if ended_by == _STOPPED else logging.ERROR, name)
    elif name:
        _log.info("%s: caches are synced", name)
    return result


def _result(items: list[_Item], ended_by: str) -> SyncResult:
    return SyncResult(
        synced={item.name: item.is_synced for item in items},
        ended_by=ended_by,
        last_errors={
            item.name: item.last_error
            for item in items
            if not item.is_synced and item.last_error is not None
        },
    )


def _log_unsynced(result: SyncResult, level: int, name: str) -> None:
    error = result.as_error()
    _log.log(level, "%s", f"{name}: {error}" if name else error)


class _Item:
    """One thing that is waited for."""

    def __init__(self, number: int, waited_for: WaitedFor) -> None:
        self._waited_for = waited_for
        self.is_synced = False
        self.polls = True
        if isinstance(waited_for, DoneChecker):
            checker: DoneChecker | None = waited_for
        elif hasattr(waited_for, "has_synced_checker"):
            checker = waited_for.has_synced_checker()
        else:
            checker = None
            self.name = str(getattr(waited_for, "__qualname__", f"function {number}"))
            self._ask: Callable[[], bool] = waited_for
        if checker is not None:
            self.name = checker.name
            self.polls = not isinstance(checker.done, Latch)
            self._ask = checker.is_done

    def has_ended(self) -> bool:
        """Return True if it will never sync."""
        is_stopped: Any = getattr(self._waited_for, "is_stopped", None)
        return callable(is_stopped) and bool(is_stopped()) and not self.ask()

    @property
    def last_error(self) -> Exception | None:
        last_error: Any = getattr(self._waited_for, "last_error", None)
        error: Exception | None = last_error() if callable(last_error) else None
        return error

    def ask(self) -> bool:
        if not self.is_synced:
            self.is_synced = self._ask()
        return self.is_synced


def _named_apart(items: list[_Item]) -> list[_Item]:
    names: set[str] = set()
    for number, item in enumerate(items, start=1):
        if item.name in names:
            item.name = f"{item.name} ({number})"
        names.add(item.name)
    return items


def _wait(
    items: list[_Item], stop: threading.Event, timeout: float | None, name: str, clock: Clock
) -> str:
    """Wait for all; return what else ended the wait, or an empty string."""
    begun = clock.monotonic()
    deadline = None if timeout is None else begun + timeout
    report_at = begun + REPORT_AFTER
    waiting = items
    registration = call_when_set(stop, wake_waiting)
    try:
        while True:
            # Without the lock held: a plain function is the caller's code.
            synced = [item for item in waiting if item.ask()]
            waiting = [item for item in waiting if not item.is_synced]
            for item in synced:
                if name:
                    _log.info("%s: %s is synced", name, item.name)
            if not waiting:
                return ""
            if stop.is_set():
                return _STOPPED
            if any(item.has_ended() for item in waiting):
                return "one has ended"
            now = clock.monotonic()
            if deadline is not None and now >= deadline:
                return f"after {timeout} s"
            if now >= report_at:
                result = _result(waiting, f"waiting since {now - begun:.0f} s")
                _log_unsynced(result, logging.WARNING, name)
                report_at = begun + 3 * (now - begun)
            _sleep(
                waiting, stop, report_at if deadline is None else min(deadline, report_at), clock
            )
    finally:
        registration.cancel()


def _sleep(waiting: list[_Item], stop: threading.Event, wake_at: float, clock: Clock) -> None:
    """Sleep until a latch or the stop is set, until ``wake_at``, or until it is time to poll."""
    if any(item.polls for item in waiting):
        wake_at = min(wake_at, clock.monotonic() + POLL_EVERY)
    with any_set:
        if not stop.is_set() and not any(i.ask() or i.has_ended() for i in waiting if not i.polls):
            clock.wait_until(any_set, wake_at)
