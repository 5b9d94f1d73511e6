"""The caches of a run without informers: each read asks the server, and is never stale.

Promises what a cache promises its readers: which kinds can be read, copies, indexes, errors.
"""

from __future__ import annotations

from typing import Any

from clientgo.cache import ResourceEventHandler
from clientgo.client import Client
from clientgo.meta import APIResource, NotFoundError, ObjectName
from clientgo.operator.cache import (
    Kind,
    KindCache,
    NamespaceSet,
    ObjectCache,
    Projection,
    Subscription,
)


class StillCache(ObjectCache):
    """Gives caches that read with ``client``."""

    def __init__(self, client: Client) -> None:
        super().__init__(client)
        self._reader = client

    def _new(self, kind: Kind, resource: APIResource, projection: Projection) -> KindCache:
        return _StillKind(self._reader, kind, super()._new(kind, resource, projection))


class _StillKind(KindCache):
    """One kind, in the place of the cache that a manager would have."""

    def __init__(self, client: Client, kind: Kind, like: KindCache) -> None:
        super().__init__(like.resource, kind, _never, like.scope, name=like.name)
        self._objects: Any = client.resource(kind)

    def subscribe(
        self, handler: ResourceEventHandler[Any], namespaces: NamespaceSet
    ) -> Subscription:
        return Subscription(handler, namespaces)

    def unsubscribe(self, subscription: Subscription) -> None:
        """Do nothing: no event was delivered."""

    def wait_synced(self, subscription: Subscription, *_: Any, **__: Any) -> bool:
        return True

    def covers(self, namespace: str) -> bool:
        return True

    def get(self, key: ObjectName, *, own_writes: bool = True) -> Any | None:
        objects = self._objects.namespace(key.namespace) if key.namespace else self._objects
        try:
            return objects.get(key.name)
        except NotFoundError:
            return None

    def select(
        self,
        namespace: str = "",
        index: tuple[str, str] | None = None,
        *,
        own_writes: bool = True,
    ) -> list[Any]:
        objects = self._objects.namespace(namespace) if namespace else self._objects
        found = [
            obj for obj in objects.list().items if index is None or self.indexes.has(obj, *index)
        ]
        return sorted(found, key=ObjectName.of)

    def wrote(self, obj: Any, writer: Any = None, sent: Any = None) -> None:
        """The next read will see it."""

    def deleted(self, obj: Any, version: str = "") -> None:
        """The next read will see it."""


def _never(_namespace: str, _labels: str) -> Any:
    raise AssertionError("nothing is listed or watched without a manager")
