"""The queue that holds only the newest state of each object, in the order of their first additions.

A deleted object does not come out; for deletions use :class:`~clientgo.cache.DeltaFIFO`.

Differs from client-go (``tools/cache`` FIFO): an object that is deleted and added again goes to
the end, and the lock is not held while an object is processed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

from clientgo.cache.queues.consumer_gate import ConsumerGate, GatedQueue
from clientgo.cache.store.keys import KeyFunc, KeyFuncError, deletion_handling, meta_namespace_key
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable

T = TypeVar("T")


@uncopyable("it has locks; make one in each process")
class FIFO(GatedQueue, Generic[T]):
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
        self._key_func = deletion_handling(key_func)
        self._objects: _Objects[T] = _Objects()
        self._gate: ConsumerGate[T] = ConsumerGate(self._objects, name=name, clock=clock)

    def add(self, obj: T) -> None:
        """Queue an object, or replace an older state that is still queued."""
        key = self._key_of(obj)
        with self._gate.lock:
            self._objects.by_key[key] = obj
            self._gate.populate_locked(0)
            self._gate.announce_locked()

    def update(self, obj: T) -> None:
        """Do the same as :meth:`add`."""
        self.add(obj)

    def delete(self, obj: Any) -> None:
        """Remove an object from the queue, if it is there."""
        key = self._key_of(obj)
        with self._gate.lock:
            self._objects.by_key.pop(key, None)
            self._gate.populate_locked(0)

    def replace(self, objs: Sequence[T], resource_version: str) -> None:
        """Make ``objs`` the whole content, in this order."""
        by_key = OrderedDict((self._key_of(obj), obj) for obj in objs)
        with self._gate.lock:
            self._objects.by_key = by_key
            self._gate.populate_locked(len(by_key))
            self._gate.announce_locked()

    def resync(self) -> None:
        """Do nothing: all objects are queued."""

    def pop(self, process: Callable[[T, bool], None]) -> T:
        """Block until there is an object, process it and return it.

        The second argument of ``process`` is True for objects of the first content. Raises what
        ``process`` raises; the object is gone anyway. Raises
        :class:`~clientgo.cache.QueueClosedError` when the queue is closed and empty,
        ``RuntimeError`` when called from a process function.
        """
        return self._gate.pop(process)

    def _key_of(self, obj: Any) -> str:
        try:
            return self._key_func(obj)
        except Exception as error:
            raise KeyFuncError(obj, error) from error


class _Objects(Generic[T]):
    """The objects that wait."""

    def __init__(self) -> None:
        self.by_key: OrderedDict[str, T] = OrderedDict()

    def __len__(self) -> int:
        return len(self.by_key)

    def take(self, limit: int) -> list[T]:
        return [self.by_key.popitem(last=False)[1] for _ in range(min(limit, len(self.by_key)))]

    def processed(self) -> None:
        """Do nothing: a FIFO does not compare with what is in flight."""
