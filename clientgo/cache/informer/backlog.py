"""What waits for one handler: everything, or the sum of it per object.

Promises: :class:`Backlog` keeps every notification in order. :class:`CoalescingBacklog` holds at
most two per object, at the place of its first one, and they lead from what the handler saw last to
the newest state. Neither is thread-safe: the listener's lock guards it.

Does not promise, when coalescing, that a handler sees every state, nor an object that came and
went while it was busy. client-go has no counterpart: a slow handler's buffer grows there until
memory ends.
"""

from __future__ import annotations

from msgspec import Struct

from clientgo.cache.informer.notifications import Chunk, Kind, Notification, subject_of
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key


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
        """Everything, which is then no longer here."""
        taken, self._chunks, self.size = self._chunks, [], 0
        return taken


class _Pending(Struct):
    """The first and the newest notification of an object since the handler was told of it."""

    first: Notification
    newest: Notification


class CoalescingBacklog(Backlog):
    """One change per object: from what the handler saw last to the newest state."""

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
                # The handler was never told that it existed.
                del self._pending[key]
            elif notification[0] is not Kind.SYNC:
                # A resync brings nothing that what waits for the object does not bring, too.
                pending.newest = notification
        self.size = len(self._pending)

    def take(self) -> list[Chunk]:
        notifications = [n for pending in self._pending.values() for n in _sum(pending)]
        taken = Chunk(notifications, self._initial)
        self._pending, self._initial, self.size = {}, 0, 0
        return [taken]


def _sum(pending: _Pending) -> list[Notification]:
    first, newest = pending.first, pending.newest
    if first is newest or newest[0] is Kind.DELETE:
        return [newest]
    state = subject_of(newest)
    if first[0] is Kind.ADD:
        return [(Kind.ADD, state, first[2])]
    if first[0] is Kind.DELETE:
        return [first, (Kind.ADD, state, False)]
    return [(Kind.UPDATE, first[1], state)]
