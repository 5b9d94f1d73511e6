"""Notifications on their way from the cache to the handlers, and how they wait for one handler.

A notification is a plain tuple that all handlers share. :class:`Backlog` keeps all in order.
:class:`CoalescingBacklog` keeps at most three for each object, from what the handler saw last to
the newest state; client-go has no counterpart. The listener's lock guards both.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from msgspec import Struct

from clientgo.cache.informer.handlers import ResourceEventHandler
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key


class Kind:
    """What happened to an object in the cache, and what the notification carries.

    Plain text, no enum: see ``store/parts.py``.
    """

    ADD: Final = "add"
    """(the object, whether it is in an initial list)"""
    UPDATE: Final = "update"
    """(the state before, the state after)"""
    SYNC: Final = "sync"
    """Like UPDATE, but both have the same version. Only for handlers that are due for a resync."""
    DELETE: Final = "delete"
    """(the last state or a tombstone, None)"""


Notification: TypeAlias = tuple[str, Any, Any]


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


class CoalescingBacklog(Backlog):
    """What has to be told about each object: at most an update, a deletion and an addition.

    A deletion is not merged with the update before it, which tells a filter that the object has
    left it, nor with the addition after it, which is of another object.
    """

    def __init__(self) -> None:
        super().__init__()
        self._pending: dict[str, list[Notification]] = {}
        self._initial = 0

    def __bool__(self) -> bool:
        return bool(self._pending) or self._initial > 0

    def append(self, chunk: Chunk) -> None:
        self._initial += chunk.initial
        for notification in chunk.notifications:
            key = deletion_handling_meta_namespace_key(subject_of(notification))
            pending = self._pending.setdefault(key, [])
            self.size -= len(pending)
            pending[-1:] = _merged(pending[-1], notification) if pending else [notification]
            self.size += len(pending)
            if not pending:
                del self._pending[key]

    def take(self) -> list[Chunk]:
        notifications = [n for pending in self._pending.values() for n in pending]
        taken = Chunk(notifications, self._initial)
        self._pending, self._initial, self.size = {}, 0, 0
        return [taken]


def _merged(last: Notification, new: Notification) -> list[Notification]:
    """Return what is told in place of two notifications about an object."""
    kind, new_kind = last[0], new[0]
    if new_kind is Kind.SYNC:
        return [last]  # it adds nothing to a change that waits
    if new_kind is Kind.DELETE:
        if kind is Kind.ADD:
            return []  # the handler was never called for it
        return {Kind.UPDATE: [last, new], Kind.SYNC: [new], Kind.DELETE: [last]}[kind]
    if kind is Kind.DELETE:
        return [last, new]
    state = subject_of(new)
    return [(Kind.ADD, state, last[2]) if kind is Kind.ADD else (Kind.UPDATE, last[1], state)]
