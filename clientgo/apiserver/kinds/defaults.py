"""The defaults of built-in kinds that the published types lack, as a table.

A path has the names of fields, with ``[]`` after a list whose items are meant. A default is set
where the parent exists and the field is missing or null; later paths see the earlier ones.

Upstream: ``defaults.go`` of each group, and the fields of Go structs that are always written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clientgo.apiserver.storage.storage import Object
from clientgo.meta.json_values import copy_json

DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "EndpointSlice": {
        "endpoints": None,
        "ports": None,
        "ports[].name": "",
        "ports[].protocol": "TCP",
    },
    "HorizontalPodAutoscaler": {
        "spec.minReplicas": 1,
        "spec.metrics": [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ],
        "status.currentMetrics": None,
    },
    "Ingress": {"status.loadBalancer": {}},
    "IngressClass": {"spec.parameters.scope": "Cluster"},
    "LimitRange": {"spec.limits": None},
    "NetworkPolicy": {
        "spec.ingress[].ports[].protocol": "TCP",
        "spec.egress[].ports[].protocol": "TCP",
    },
    "PersistentVolume": {
        "spec.persistentVolumeReclaimPolicy": "Retain",
        "spec.volumeMode": "Filesystem",
        "status.phase": "Pending",
    },
    "PersistentVolumeClaim": {"spec.volumeMode": "Filesystem", "status.phase": "Pending"},
    "PodDisruptionBudget": {
        "status.currentHealthy": 0,
        "status.desiredHealthy": 0,
        "status.disruptionsAllowed": 0,
        "status.expectedPods": 0,
    },
    "PriorityClass": {"preemptionPolicy": "PreemptLowerPriority"},
    "StorageClass": {"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"},
}
"""Defaults by kind and path; None writes a list that is missing as null."""


def set_defaults(kind: str, obj: Object) -> None:
    """Set the defaults of a built-in kind, in place."""
    for path, default in DEFAULTS.get(kind, {}).items():
        *parents, name = path.split(".")
        for parent in _objects(obj, parents):
            if parent.get(name) is None:
                parent[name] = copy_json(default)


def _objects(obj: Object, path: list[str]) -> Iterator[Object]:
    """Yield the objects at a path."""
    if not path:
        yield obj
        return
    name, *rest = path
    value = obj.get(name.removesuffix("[]"))
    for child in value if isinstance(value, list) else [value]:
        if isinstance(child, dict):
            yield from _objects(child, rest)
