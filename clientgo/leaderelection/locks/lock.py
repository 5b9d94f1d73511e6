"""The protocol of a lock that candidates compete for; use `LeaseLock`.

Differs from client-go (`tools/leaderelection/resourcelock`, Interface): each request has a
timeout, since there is no context that would end it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from clientgo.leaderelection.locks.record import LeaderElectionRecord


class Lock(Protocol):
    """One record in a place that all candidates share. Used by one thread at a time.

    A request blocks for at most ``timeout`` seconds and ends early when ``stop`` is set. It raises
    :class:`~clientgo.meta.NotFoundError` where there is no record, and any exception where it
    failed; whether a write that failed was carried out is open.

    Source: tools/leaderelection/resourcelock, Interface.
    """

    @property
    def identity(self) -> str:
        """The identity of this candidate; unique among candidates."""

    def describe(self) -> str:
        """Return the name of the lock in logs and metrics."""

    def get(
        self, *, timeout: float, stop: threading.Event | None = None
    ) -> LeaderElectionRecord: ...

    def create(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        """Store the first record; fails if there is one."""

    def update(
        self, record: LeaderElectionRecord, *, timeout: float, stop: threading.Event | None = None
    ) -> None:
        """Replace the record that this lock saw last; fails if it is not that any more."""

    def record_event(self, message: str) -> None:
        """Tell people that something happened to this candidate; never fails."""


@runtime_checkable
class WatchableLock(Protocol):
    """A lock whose record can also be watched, by another thread than the requests'."""

    def watch(self, stop: threading.Event) -> Iterator[str]:
        """The holder, now and after each change; empty if there is none, or no record.

        Ends with ``stop`` and when the server ends it; raises any exception where it failed.
        """
