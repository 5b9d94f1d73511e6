"""The client that reconcilers use: reads from the caches, writes to the API server.

Promises that a read is never older than what this process has written. :attr:`CachedClient.live` is
as new as the API server, and costs a request.

Source: controller-runtime pkg/client, the delegating client.
"""

from __future__ import annotations

from typing import Any, Unpack

from clientgo.meta import NotFoundError, ObjectName
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.live_client import LiveClient, Selecting


class CachedClient(LiveClient):
    """Reads kinds that are declared, in namespaces that are watched. Immutable and thread-safe.

    Other reads raise ``KindNotCachedError``, ``NamespaceNotCachedError``, ``CacheNotStartedError``,
    ``IndexNotFoundError``. What is read belongs to the caller. Lists are ordered by namespace and
    name; ``fields`` selects by declared indexes, ``metadata.name`` and ``metadata.namespace``.
    """

    def _get(self, kind: Any, name: str, namespace: str) -> Any:
        namespace = self._namespace(namespace)
        found = self._cache.find(kind, ObjectName(namespace, name))
        if found is None:
            resource = api_resource(kind)
            raise NotFoundError.of(
                f'{resource.group_resource} "{name}" not found in the cache'
                + (f" of namespace {namespace!r}" if namespace else ""),
                name=name,
                kind=resource.plural,
                group=resource.group,
            )
        return found

    def _list(self, kind: Any, **selecting: Unpack[Selecting]) -> list[Any]:
        selecting["namespace"] = self._namespace(selecting.get("namespace", ""))
        return self._cache.select(kind, **selecting)
