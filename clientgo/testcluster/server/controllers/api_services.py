"""APIServices: one for each version of a group that is served.

Promises: those of built-in versions exist from the start; those of custom resources come and go
with their definitions. APIServices that clients create are left alone, and nothing is proxied.

Upstream: kube-aggregator ``pkg/controllers/autoregister`` and
``pkg/controlplane/controller/crdregistration``.
"""

from __future__ import annotations

from collections.abc import Mapping

from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object

_MANAGED = "kube-aggregator.kubernetes.io/automanaged"
_API_VERSION = "apiregistration.k8s.io/v1"
_CUSTOM_PRIORITIES = (1000, 100)
"""Of the group and the version of custom resources."""


class ApiServices:
    """Writes the APIServices of what is served."""

    def __init__(self, state: State, writer: ObjectWriter, resource: Resource) -> None:
        """Write APIServices, which are served as ``resource``."""
        self._state = state
        self._writer = writer
        self._collection = state.storage.collection(resource.collection_key)

    def create_initial(self, priorities: Mapping[str, tuple[int, ...]]) -> None:
        """Create what is missing for the built-in versions, given with their priorities."""
        for api_version, of_version in priorities.items():
            self._put(api_version, "onstart", of_version)

    def sync(self, group: str, served: set[str]) -> None:
        """Create and delete the APIServices of a group, whose definitions serve some versions."""
        for version in sorted(served):
            self._put(f"{group}/{version}", "true", _CUSTOM_PRIORITIES)
        for stored in list(self._collection.scan()):
            version, _, group_of_version = stored.key.partition(".")
            managed = stored.labels.get(_MANAGED) == "true"
            if managed and group_of_version == group and version not in served:
                self._state.storage.delete(self._collection, stored.key)

    def _put(self, api_version: str, managed: str, priorities: tuple[int, ...]) -> None:
        group, _, version = api_version.rpartition("/")
        priority_of_group, priority_of_version = priorities
        spec: Object = {
            "groupPriorityMinimum": priority_of_group,
            "version": version,
            "versionPriority": priority_of_version,
        }
        if group:
            spec["group"] = group
        available = {
            "type": "Available",
            "status": "True",
            "reason": "Local",
            "message": "the version is served by this API server",
            "lastTransitionTime": self._state.timestamp(),
        }
        obj = {
            "metadata": {"name": f"{version}.{group}", "labels": {_MANAGED: managed}},
            "spec": spec,
            "status": {"conditions": [available]},
        }
        self._writer.put_own(_API_VERSION, "apiservices", obj, keep=True)
