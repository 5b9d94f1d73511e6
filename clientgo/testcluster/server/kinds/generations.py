"""Which built-in kinds count generations, and the changes that raise ``metadata.generation``.

Upstream: ``PrepareForCreate`` and ``PrepareForUpdate`` of each kind's strategy.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.server.storage.storage import Object

_SPEC = ("spec",)

GENERATION_FIELDS: Mapping[str, tuple[str, ...]] = {
    "CSIDriver": _SPEC,
    "CronJob": _SPEC,
    "CustomResourceDefinition": _SPEC,
    "DaemonSet": _SPEC,
    "Deployment": ("spec", "metadata.annotations"),
    "DeviceClass": _SPEC,
    "EndpointSlice": ("addressType", "endpoints", "ports", "metadata.labels"),
    "FlowSchema": _SPEC,
    "Ingress": _SPEC,
    "IngressClass": _SPEC,
    "Job": _SPEC,
    "MutatingAdmissionPolicy": _SPEC,
    "MutatingAdmissionPolicyBinding": _SPEC,
    "MutatingWebhookConfiguration": ("webhooks",),
    "NetworkPolicy": _SPEC,
    "Pod": _SPEC,
    "PodDisruptionBudget": _SPEC,
    "PodTemplate": ("template",),
    "PriorityClass": (),
    "PriorityLevelConfiguration": _SPEC,
    "ReplicaSet": _SPEC,
    "ReplicationController": _SPEC,
    "ResourceSlice": _SPEC,
    "StatefulSet": _SPEC,
    "ValidatingAdmissionPolicy": _SPEC,
    "ValidatingAdmissionPolicyBinding": _SPEC,
    "ValidatingWebhookConfiguration": ("webhooks",),
}
"""The fields whose change raises the generation, by kind; other kinds have no generation."""


COUNTED_FROM_0 = frozenset({"CSIDriver"})
"""Kinds whose new objects have no generation; their first change sets it to 1."""


def raises_generation(kind: str, new: Object, old: Object) -> bool:
    """Return True if an update raises the generation of an object of a built-in kind."""
    return any(_value(new, path) != _value(old, path) for path in GENERATION_FIELDS.get(kind, ()))


def _value(obj: Object, path: str) -> Any:
    """Return the value at a dotted path; None if it is missing."""
    value: Any = obj
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
