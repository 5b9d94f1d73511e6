"""The queue that knows only the newest state of each object.

Promises: a key waits once, at the place of its first addition; what comes out is the newest
state; a deleted object does not come out at all.

Does not promise that a deletion is ever noticed: a consumer that needs to know of deletions takes
a :class:`~clientgo.cache.DeltaFIFO`.

Differs from client-go (``tools/cache`` FIFO): an object that is deleted and added again goes to
the end of the queue, where upstream may find its old place still vacant, and the lock is not held
while an object is processed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from clientgo.cache.queues.consumer_queue import ConsumerQueue
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling, meta_namespace_key
from clientgo.clock import REAL_CLOCK, Clock

T = TypeVar("T")


class FIFO(ConsumerQueue[T]):
    """Objects in the order of their first addition. Thread-safe.

    All writes raise :class:`~clientgo.cache.KeyFuncError` for an object without a key.
    """

    def __init__(
        self,
        *,
        key_func: KeyFunc = meta_namespace_key,
        name: str = "FIFO",
        clock: Clock = REAL_CLOCK,
    ) -> None:
        super().__init__(name, clock)
        self._key_func = deletion_handling(key_func)
        self._items: OrderedDict[str, T] = OrderedDict()

    def add(self, obj: T) -> None:
        """Queue an object, or put it in the place of an older state that is still queued."""
        key = self._key_of(obj)
        with self._lock:
            self._items[key] = obj
            self._populate_locked(0)
            self._announce_locked()

    def update(self, obj: T) -> None:
        """The same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Take an object out of the queue; nothing happens if it is not in there."""
        key = self._key_of(obj)
        with self._lock:
            self._items.pop(key, None)
            self._populate_locked(0)

    def replace(self, objs: Sequence[T], resource_version: str) -> None:
        """Make ``objs`` the whole content, in this order."""
        items = OrderedDict((self._key_of(obj), obj) for obj in objs)
        with self._lock:
            self._items = items
            self._populate_locked(len(items))
            self._announce_locked()

    def resync(self) -> None:
        """Nothing: whatever the queue holds is queued."""

    def pop(self, process: Callable[[T, bool], None]) -> T:
        """Block until there is an object, process it and return it.

        ``process`` is told whether the object belongs to the first content; what it raises is
        raised here, and the object is gone all the same. Raises
        :class:`~clientgo.cache.QueueClosedError` when the queue is closed and empty,
        ``RuntimeError`` when called from a process function.
        """
        popped: list[T] = []

        def process_popped(batch: list[T], is_in_initial_list: bool) -> None:
            popped.extend(batch)
            process(batch[0], is_in_initial_list)

        while not popped:
            self._consume(process_popped, limit=1)
        return popped[0]

    def _pending_locked(self) -> int:
        return len(self._items)

    def _take_locked(self, limit: int) -> list[T]:
        return [self._items.popitem(last=False)[1] for _ in range(min(limit, len(self._items)))]

    def _key_of(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error
