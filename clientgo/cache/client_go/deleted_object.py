"""What a handler learns of a deletion, whether its last state was seen or not.

Promises a name in every case, which is what most handlers want. Upstream: ``tools/cache``
DeletedObject.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.meta import ObjectName, object_key

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class DeletedObject(Generic[T]):
    """An object that is gone: its last known state, if any, and the tombstone, if that is all.

    With a ``tombstone``, ``obj`` may be older than the deletion.
    """

    obj: T | None = None
    tombstone: DeletedFinalStateUnknown | None = None

    @classmethod
    def of(cls, delivered: Any) -> DeletedObject[T]:
        """Take apart what ``on_delete`` was given: an object or a tombstone."""
        if isinstance(delivered, DeletedFinalStateUnknown):
            return cls(delivered.obj, delivered)
        return cls(delivered)

    @property
    def key(self) -> str:
        """The key on the tombstone, else that of the object, else the empty string."""
        if self.tombstone is not None:
            return self.tombstone.key
        return "" if self.obj is None else object_key(self.obj)

    @property
    def object_name(self) -> ObjectName:
        """The key taken apart at its first slash; never fails."""
        namespace, slash, name = self.key.partition("/")
        return ObjectName(namespace, name) if slash else ObjectName("", namespace)

    @property
    def namespace(self) -> str:
        return self.object_name.namespace

    @property
    def name(self) -> str:
        return self.object_name.name
