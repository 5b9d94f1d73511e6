"""What stands between a well-formed write and storage.

Promises: each write passes the namespace life cycle and then the admission webhooks that match it;
without matching webhooks nothing is awaited, so that the write stays one step on the event loop.

Upstream: apiserver ``admission`` and the NamespaceLifecycle plugin.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import forbidden, not_found
from clientgo.apiserver.storage.storage import Object

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster

_UNDELETABLE_NAMESPACES = frozenset({"default", "kube-system", "kube-public"})


class Operation(StrEnum):
    """What a write does, in the words of webhook rules."""

    CREATE = "CREATE"
    UPDATE = "UPDATE"
    DELETE = "DELETE"


@dataclass(slots=True)
class Review:
    """A write that asks to be admitted; webhooks may replace ``obj`` and add warnings."""

    operation: Operation
    resource: Resource
    namespace: str
    name: str
    obj: Object | None
    old: Object | None
    subresource: str = ""
    dry_run: bool = False
    options: Mapping[str, object] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)


def check_namespace(cluster: Cluster, resource: Resource, namespace: str, name: str) -> None:
    """Refuse to create an object in a namespace that is missing or on its way out.

    Raises:
        StatusError: 404 or 403.
    """
    if not resource.namespaced:
        return
    found = cluster.namespaces.phase(namespace)
    if found is None:
        raise not_found(cluster.namespaces.resource, namespace)
    if found == "Terminating":
        raise forbidden(
            resource,
            name,
            f"unable to create new content in namespace {namespace} because it is being terminated",
            [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ],
        )


def check_namespace_deletion(resource: Resource, name: str) -> None:
    """Refuse to delete the namespaces that every cluster has.

    Raises:
        StatusError: 403.
    """
    if resource.collection_key == ("", "namespaces") and name in _UNDELETABLE_NAMESPACES:
        raise forbidden(resource, name, "this namespace may not be deleted")
