"""Fields of built-in types that a server drops, because their features are off by default.

A client may send them; they are owned as sent, and not stored.

Upstream: ``PrepareForCreate`` and ``PrepareForUpdate`` of each kind's strategy, and the gates of
Kubernetes 1.36 in ``pkg/features``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clientgo.testcluster.server.storage.storage import Object

_CONTAINERS = ("containers[]", "initContainers[]")

_OF_PODS = (
    "schedulingGroup",
    *(f"{containers}.lifecycle.stopSignal" for containers in _CONTAINERS),
    "volumes[].projected.sources[].clusterTrustBundle",
    "volumes[].projected.sources[].podCertificate",
)

_WORKLOADS = ("DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController")

DISABLED_FIELDS: Mapping[str, tuple[str, ...]] = {
    "CSIDriver": ("spec.preventPodSchedulingIfMissing",),
    "CronJob": tuple(f"spec.jobTemplate.spec.template.spec.{path}" for path in _OF_PODS),
    "Lease": ("spec.preferredHolder", "spec.strategy"),
    "PersistentVolumeClaim": ("spec.dataSourceRef.namespace",),
    "Pod": (
        *(f"spec.{path}" for path in _OF_PODS),
        "status.nodeAllocatableResourceClaimStatuses",
    ),
    "PodTemplate": tuple(f"template.spec.{path}" for path in _OF_PODS),
    "StatefulSet": (
        "spec.updateStrategy.rollingUpdate.maxUnavailable",
        *(f"spec.template.spec.{path}" for path in _OF_PODS),
    ),
    **{kind: tuple(f"spec.template.spec.{path}" for path in _OF_PODS) for kind in _WORKLOADS},
}
"""Paths by kind; "[]" stands for each item of a list."""

_GONE_WITH_FIELD = frozenset({"dataSourceRef"})
_GONE_IF_EMPTY = frozenset({"lifecycle"})


def drop_disabled_fields(kind: str, obj: Object) -> None:
    """Remove the fields that a server does not store from an object, in place."""
    for path in DISABLED_FIELDS.get(kind, ()):
        *parents, name = path.split(".")
        for holder in _holders(obj, parents):
            if not holder.pop(name, None):
                continue
            if parents[-1] in _GONE_WITH_FIELD:
                holder.clear()
            if parents[-1] in _GONE_WITH_FIELD | _GONE_IF_EMPTY:
                _drop_empty(obj, parents)


def _holders(value: Any, path: list[str]) -> Iterator[Object]:
    """Yield the objects at a path."""
    if not path:
        if isinstance(value, dict):
            yield value
        return
    name = path[0]
    member = value.get(name.removesuffix("[]")) if isinstance(value, dict) else None
    for item in (member or ()) if name.endswith("[]") else (member,):
        yield from _holders(item, path[1:])


def _drop_empty(obj: Object, path: list[str]) -> None:
    for holder in _holders(obj, path[:-1]):
        if holder.get(path[-1]) == {}:
            del holder[path[-1]]
