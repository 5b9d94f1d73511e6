"""The argument of ``on_delete``: an object or its tombstone, with a name in every case.

Upstream: ``tools/cache`` DeletedObject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.meta import ObjectName, object_key

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeletedObject(Generic[T]):
    """A deleted object: its last known state, if any, and its tombstone, if no watch saw more.

    With a ``tombstone``, ``obj`` may be older than the deletion.
    """

    obj: T | None = None
    tombstone: DeletedFinalStateUnknown | None = None

    @classmethod
    def of(cls, delivered: Any) -> DeletedObject[T]:
        """Wrap the argument of ``on_delete``: an object or a tombstone."""
        if isinstance(delivered, DeletedFinalStateUnknown):
            return cls(delivered.obj, delivered)
        return cls(delivered)

    @property
    def key(self) -> str:
        """The key of the tombstone, else of the object, else the empty string."""
        if self.tombstone is not None:
            return self.tombstone.key
        return "" if self.obj is None else object_key(self.obj)

    @property
    def object_name(self) -> ObjectName:
        """The key, split at its first slash; never fails."""
        namespace, slash, name = self.key.partition("/")
        return ObjectName(namespace, name) if slash else ObjectName("", namespace)

    @property
    def namespace(self) -> str:
        return self.object_name.namespace

    @property
    def name(self) -> str:
        return self.object_name.name
