"""Notifications on their way from the cache to the handlers, and how they wait for one handler.

A notification is a plain tuple that all handlers share. :class:`Backlog` keeps all in order.
:class:`CoalescingBacklog` keeps at most two for each object, from what the handler saw last to the
newest state; client-go has no counterpart. The listener's lock guards both.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct

from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key


class Kind(Enum):
    """What happened to an object in the cache, and what the notification carries."""

    ADD = "add"
    """(the object, whether it is in an initial list)"""
    UPDATE = "update"
    """(the state before, the state after)"""
    SYNC = "sync"
    """Like UPDATE, but both have the same version. Only for handlers that are due for a resync."""
    DELETE = "delete"
    """(the last state or a tombstone, None)"""


Notification: TypeAlias = tuple[Kind, Any, Any]


class Chunk(Struct, gc=False):
    """Notifications that are delivered together: ``initial`` initial adds and ``syncs`` syncs.

    All listeners share it, so it does not change once it is handed over.
    """

    notifications: list[Notification]
    initial: int = 0
    syncs: int = 0

    def without_syncs(self) -> Chunk:
        """Return what handlers get that are not due for a resync."""
        if not self.syncs:
            return self
        return Chunk([n for n in self.notifications if n[0] is not Kind.SYNC], self.initial)


def subject_of(notification: Notification) -> Any:
    """Return the object of a notification, in its newest state, or its tombstone."""
    kind, first, second = notification
    return second if kind is Kind.UPDATE or kind is Kind.SYNC else first


def deliver(handler: ResourceEventHandler[Any], notification: Notification) -> None:
    """Call a handler for one notification."""
    kind, first, second = notification
    if kind is Kind.ADD:
        handler.on_add(first, second)
    elif kind is Kind.DELETE:
        handler.on_delete(first)
    elif kind is Kind.SYNC:
        handler.on_resync(first, second)
    else:
        handler.on_update(first, second)


class Backlog:
    """All notifications, in order."""

    def __init__(self) -> None:
        self.size = 0
        self._chunks: list[Chunk] = []

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def append(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self.size += len(chunk.notifications)

    def take(self) -> list[Chunk]:
        """Remove and return everything."""
        taken, self._chunks, self.size = self._chunks, [], 0
        return taken


class _Pending(Struct):
    """The first and the newest notification of an object since the handler was called for it."""

    first: Notification
    newest: Notification


class CoalescingBacklog(Backlog):
    """One change for each object: from what the handler saw last to the newest state."""

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, _Pending] = {}
        self._initial = 0

    def __bool__(self) -> bool:
        return bool(self._pending) or self._initial > 0

    def append(self, chunk: Chunk) -> None:
        self._initial += chunk.initial
        for notification in chunk.notifications:
            key = deletion_handling_meta_namespace_key(subject_of(notification))
            pending = self._pending.get(key)
            if pending is None:
                self._pending[key] = _Pending(notification, notification)
            elif pending.first[0] is Kind.ADD and notification[0] is Kind.DELETE:
                # The handler was never called for it.
                del self._pending[key]
            elif notification[0] is not Kind.SYNC:
                # A resync adds nothing to a change that waits.
                pending.newest = notification
        self.size = len(self._pending)

    def take(self) -> list[Chunk]:
        notifications = [n for pending in self._pending.values() for n in _merged(pending)]
        taken = Chunk(notifications, self._initial)
        self._pending, self._initial, self.size = {}, 0, 0
        return [taken]


def _merged(pending: _Pending) -> list[Notification]:
    first, newest = pending.first, pending.newest
    if first is newest or newest[0] is Kind.DELETE:
        return [newest]
    state = subject_of(newest)
    if first[0] is Kind.ADD:
        return [(Kind.ADD, state, first[2])]
    if first[0] is Kind.DELETE:
        return [first, (Kind.ADD, state, False)]
    return [(Kind.UPDATE, first[1], state)]
