"""Changes of objects on the server: clients of their kinds, and edits."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Final

from clientgo.api.apps_v1 import Deployment
from clientgo.client import Client, ResourceClient
from clientgo.testcluster.server.faults import FreezeWatches, Requests
from clientgo.tools.study.actions.action import AGENT, Plan, StudyCluster

NAMESPACE: Final = "default"
FOO: Final = {"apiVersion": "samplecontroller.k8s.io/v1alpha1", "kind": "Foo"}

_EDITS: Final = 10


def objects_of(client: Client, manifest: Mapping[str, Any]) -> ResourceClient[Any]:
    """Return the client of a manifest's kind, in its namespace."""
    group, _, version = str(manifest["apiVersion"]).rpartition("/")
    kind = client.mapper.for_kind(group, manifest["kind"], version)
    objects = client.resource(kind)
    return objects.namespace(_namespace_of(manifest)) if kind.namespaced else objects


def _namespace_of(manifest: Mapping[str, Any]) -> str:
    return str(manifest["metadata"].get("namespace", NAMESPACE))


def foos_of(client: Client) -> ResourceClient[Any]:
    """Return the client of the sample's Foos."""
    return objects_of(client, {**FOO, "metadata": {}})


def deployments_of(client: Client) -> ResourceClient[Deployment]:
    """Return the client of the Deployments of the sample's Foos."""
    return client.resource(Deployment).namespace(NAMESPACE)


def name_of(manifest: Mapping[str, Any]) -> str:
    """Return the name of the object of a manifest."""
    return str(manifest["metadata"]["name"])


def patch_replicas(objects: ResourceClient[Any], name: str, replicas: int) -> Any:
    """Set the number of replicas of an object; return its new version."""
    return objects.patch(name, {"spec": {"replicas": replicas}})


_edits = itertools.count(1)


def touch(objects: ResourceClient[Any], name: str) -> None:
    """Change an annotation of an object, so that it has a new version."""
    annotations = {"study.example.com/edit": str(next(_edits))}
    objects.patch(name, {"metadata": {"annotations": annotations}})


def edits_of(cluster: StudyCluster, manifest: Mapping[str, Any]) -> Plan:
    """Plan edits of one object whose events reach the controller in one burst."""
    objects, name = objects_of(cluster.client, manifest), name_of(manifest)
    resource = objects.resource
    held = FreezeWatches(requests=Requests(resource=resource.plural, user_agent=AGENT))

    def do() -> None:
        cluster.server.inject(held)
        try:
            for _number in range(_EDITS):
                touch(objects, name)
        finally:
            cluster.server.lift(held)

    key = f"{_namespace_of(manifest)}/{name}" if resource.namespaced else name
    message = f"you edit {resource.kind} {name} {_EDITS} times at once"
    return Plan(message, do, key=key, edits=_EDITS)
