"""What a fake server serves, as a test sets it.

Promises the plain discovery documents of the resources that were added, groups and versions in the
order in which they came, the first version of a group being the preferred one; anything else is not
found. Does not follow from the objects that a fake client has. Upstream: client-go
``discovery/fake``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from clientgo.client import ServerVersion
from clientgo.meta import (
    APIResource,
    GroupVersion,
    GroupVersionResource,
    NotFoundError,
    Resource,
    resource_of,
)
from clientgo.rest import api_path
from clientgo.testing.fakes.actions import Action

_VERBS = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]


class FakeDiscovery:
    """A :data:`~clientgo.testing.fakes.reactors.Reactor` for paths that belong to no resource.

    ``server_version`` may be set.
    """

    def __init__(self) -> None:
        self.server_version = ServerVersion(major="1", minor="0", git_version="v1.0.0-fake")
        self._served: dict[GroupVersionResource, APIResource] = {}

    def add(self, *kinds: type[Resource] | APIResource) -> None:
        """Serve these as well; ``TypeError`` for a class without ``@resource``."""
        for kind in kinds:
            resource = kind if isinstance(kind, APIResource) else resource_of(kind)
            self._served[resource.gvr] = resource

    def __call__(self, action: Action) -> dict[str, Any] | None:
        if action.resource.version:
            return None
        path = action.resource.resource
        if path == "/version":
            return _document(self.server_version)
        versions = self._versions()
        if path == "/api":
            return {"versions": [version for group, version in versions if not group]}
        if path == "/apis":
            return {"groups": list(_groups(versions))}
        for served in versions:
            if path == api_path(served):
                return {"resources": list(self._resources_in(served))}
        raise NotFoundError.of(f"this fake serves nothing at {path}; add it to client.served")

    def _versions(self) -> list[GroupVersion]:
        return list(dict.fromkeys(GroupVersion(gvr.group, gvr.version) for gvr in self._served))

    def _resources_in(self, version: GroupVersion) -> Iterator[dict[str, Any]]:
        for resource in self._served.values():
            if (resource.group, resource.version) != version:
                continue
            common = {"kind": resource.kind, "namespaced": resource.namespaced}
            yield common | {
                "name": resource.plural,
                "singularName": resource.singular,
                "shortNames": resource.short_names,
                "verbs": _VERBS,
            }
            for name in resource.subresources:
                verbs = ["get", "patch", "update"]
                yield common | {"name": f"{resource.plural}/{name}", "verbs": verbs}


def _groups(versions: list[GroupVersion]) -> Iterator[dict[str, Any]]:
    for group in dict.fromkeys(version.group for version in versions if version.group):
        entries = [{"groupVersion": str(each)} for each in versions if each.group == group]
        yield {"name": group, "versions": entries, "preferredVersion": entries[0]}


def _document(version: ServerVersion) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(version)
    return document
