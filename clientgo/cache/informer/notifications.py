"""What is on its way from the cache to the handlers.

A notification is a plain tuple, shared by all handlers: one is made for every event, and nothing
smaller can be made. Its kind decides what the other two are.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct

from clientgo.cache.informer.handlers import ResourceEventHandler


class Kind(Enum):
    """What happened to an object in the cache, and what a notification then carries."""

    ADD = "add"
    """(the object, whether it is in an initial list)"""
    UPDATE = "update"
    """(the state before, the state after)"""
    SYNC = "sync"
    """Like UPDATE, but both are the same version: only for handlers that are due for a resync."""
    DELETE = "delete"
    """(the last state or a tombstone, None)"""


Notification: TypeAlias = tuple[Kind, Any, Any]


class Chunk(Struct, gc=False):
    """Notifications that are handed over together, ``initial`` of them initial adds, ``syncs`` of
    them syncs. It belongs to all listeners: whoever made it does not change it any more."""

    notifications: list[Notification]
    initial: int = 0
    syncs: int = 0

    def without_syncs(self) -> Chunk:
        """What handlers get that are not due for a resync."""
        if not self.syncs:
            return self
        return Chunk([n for n in self.notifications if n[0] is not Kind.SYNC], self.initial)


def subject_of(notification: Notification) -> Any:
    """The object that a notification is about, in its newest state, or its tombstone."""
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
