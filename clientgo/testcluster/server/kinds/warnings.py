"""What clients are warned of when an object of a built-in kind is stored, as data.

Functions have no state. Warnings that depend on more than one field are with their kinds.

Upstream: the strategies of ``pkg/registry``, and ``pkg/api/<kind>/util.go`` or ``warnings.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from clientgo.testcluster.server.resources.addresses import cidr_warnings, ip_warnings
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.quantities import is_whole

Check = Callable[[Any, str], Iterable[str]]
"""Returns the warnings about a value at a path."""

Row = tuple[str, Check]
"""A path, and what to say of each value there.

In a path ``[]`` stands for the items of a list, ``{}`` for the keys of a map, and ``[key]`` for a
value of a map.
"""

_OLD_LABELS: Mapping[str, str] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}
"""Labels of nodes that have other names now."""


def warn(text: str, *, of: str | None = None, shown: str = "") -> Check:
    """Return a check that says a text of each value, or only of the value ``of``.

    ``shown`` is the name of the field in the warning, if that is another one.
    """

    def check(value: Any, path: str) -> list[str]:
        where = f"{path.rpartition('.')[0]}.{shown}" if shown else path
        return [f"{where}: {text}"] if of in (None, value) else []

    return check


def old_label(form: str = "{path}: {label} is {what}") -> Check:
    """Return a check for labels of nodes; ``form`` is the form of the warning."""

    def check(label: str, path: str) -> list[str]:
        what = _OLD_LABELS.get(label)
        return [] if what is None else [form.format(path=path, label=label, what=what)]

    return check


def bytes_fraction(amount: str, path: str) -> list[str]:
    """Return the warning about a fraction of bytes."""
    if is_whole(amount):
        return []
    return [f'{path}: fractional byte value "{amount}" is invalid, must be an integer']


_SELECTED = "matchExpressions[].key"
_CLASS = "metadata.annotations[volume.beta.kubernetes.io/storage-class]"
_NO_CLASS = warn('deprecated since v1.8; use "storageClassName" attribute instead')

_OLD_VOLUMES: Mapping[str, Check] = {
    "photonPersistentDisk": warn("deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": warn("deprecated in v1.11"),
    "scaleIO": warn("deprecated in v1.16, non-functional in v1.22+"),
    "flocker": warn("deprecated in v1.22, non-functional in v1.25+"),
    "storageos": warn("deprecated in v1.22, non-functional in v1.25+", shown="storageOS"),
    "quobyte": warn("deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": warn("deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": warn("deprecated in v1.28, non-functional in v1.31+"),
    "rbd": warn("deprecated in v1.28, non-functional in v1.31+"),
}
"""Sources of volumes that no longer work."""

CLAIM_ROWS: Sequence[Row] = (
    ("resources.requests[storage]", bytes_fraction),
    ("resources.limits[storage]", bytes_fraction),
)
"""What is said of the spec of a claim."""

VOLUME_ROWS: Sequence[Row] = (
    *_OLD_VOLUMES.items(),
    *((f"ephemeral.volumeClaimTemplate.spec.{path}", check) for path, check in CLAIM_ROWS),
)
"""What is said of a volume of a pod."""

_PERSISTENT = ("cephfs", "glusterfs", "photonPersistentDisk", "rbd", "scaleIO", "storageos")
"""Sources that persistent volumes are warned of."""

_ROWS: Mapping[str, Sequence[Row]] = {
    "CSIStorageCapacity": (
        (f"nodeTopology.{_SELECTED}", old_label()),
        ("nodeTopology.matchLabels{}", old_label("nodeTopology.matchLabels.{label}: {what}")),
    ),
    "Endpoints": (
        ("subsets[].addresses[].ip", ip_warnings),
        ("subsets[].notReadyAddresses[].ip", ip_warnings),
    ),
    "EndpointSlice": (("endpoints[].addresses[]", ip_warnings),),
    "NetworkPolicy": tuple(
        (f"spec.{peers}[].ipBlock.{field}", cidr_warnings)
        for peers in ("ingress[].from", "egress[].to")
        for field in ("cidr", "except[]")
    ),
    "Node": (
        ("spec.configSource", warn("the feature is removed")),
        ("spec.externalID", warn("this field is deprecated, and is unused by Kubernetes")),
        ("spec.podCIDRs[]", cidr_warnings),
    ),
    "PersistentVolume": (
        (_CLASS, _NO_CLASS),
        (
            "metadata.annotations[volume.beta.kubernetes.io/mount-options]",
            warn('deprecated since v1.31; use "mountOptions" attribute instead'),
        ),
        (
            "spec.persistentVolumeReclaimPolicy",
            warn(
                "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to "
                "use dynamic provisioning.",
                of="Recycle",
            ),
        ),
        (f"spec.nodeAffinity.required.nodeSelectorTerms[].{_SELECTED}", old_label()),
        *((f"spec.{name}", _OLD_VOLUMES[name]) for name in _PERSISTENT),
    ),
    "PersistentVolumeClaim": (
        (_CLASS, _NO_CLASS),
        *((f"spec.{path}", check) for path, check in CLAIM_ROWS),
    ),
    "RuntimeClass": (("scheduling.nodeSelector{}", old_label("scheduling.nodeSelector: {what}")),),
    "Service": (
        ("spec.clusterIPs[]", ip_warnings),
        ("spec.externalIPs[]", ip_warnings),
        ("spec.loadBalancerIP", ip_warnings),
        ("spec.loadBalancerSourceRanges[]", cidr_warnings),
    ),
    "StorageClass": (
        ("allowedTopologies[].matchLabelExpressions[].key", old_label("{path}: {what}")),
    ),
}
"""What is said of the values of fields, by kind."""

_STATUS_ROWS: Mapping[str, Sequence[Row]] = {
    "Pod": (
        ("status.podIPs[].ip", ip_warnings),
        ("status.hostIPs[].ip", ip_warnings),
    ),
    "Service": (
        (
            "status.loadBalancer.ingress[]",
            lambda ingress, path: ip_warnings(ingress.get("ip", ""), path),
        ),
    ),
}
"""What is said in a write to the status."""


_CONTROLLED: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Endpoints": ("endpoints.kubernetes.io/managed-by", ("endpoint-controller",)),
    "EndpointSlice": (
        "endpointslice.kubernetes.io/managed-by",
        ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"),
    ),
}
"""The label and its values of objects of controllers, which write addresses as recommended."""


def field_warnings(kind: str, obj: Object) -> list[str]:
    """Return the warnings about the fields of an object of a kind."""
    label, values = _CONTROLLED.get(kind, ("", ()))
    if obj["metadata"].get("labels", {}).get(label) in values:
        return []
    return row_warnings(_ROWS.get(kind, ()), obj)


def status_field_warnings(kind: str, obj: Object) -> list[str]:
    """Return the warnings about a status that is written."""
    return row_warnings(_STATUS_ROWS.get(kind, ()), obj)


def row_warnings(rows: Iterable[Row], obj: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return what rows say of an object; ``prefix`` is the path of the object, with a dot."""
    return [
        text
        for path, check in rows
        if (steps := _steps(path))[0][1] in obj
        for where, value in _values(obj, steps, prefix)
        for text in check(value, where)
    ]


_STEP = re.compile(r"\.?([^.\[{]+)|\[([^\]]*)\]|\{\}")


@cache
def _steps(path: str) -> tuple[tuple[str, str], ...]:
    """Return the steps of a path as they are written, each with the key that it stands for."""
    return tuple((match[0], match[1] or match[2] or "") for match in _STEP.finditer(path))


def _values(value: Any, steps: Sequence[tuple[str, str]], where: str) -> Iterator[tuple[str, Any]]:
    """Yield the values at the end of some steps, with their paths."""
    for depth, (written, key) in enumerate(steps):
        if written == "[]":
            for index, item in enumerate(value):
                yield from _values(item, steps[depth + 1 :], f"{where}[{index}]")
            return
        if written == "{}":
            for name in value:
                yield f"{where}[{name}]", name
            return
        value = value.get(key)
        if value is None:
            return
        where += written
    yield where, value
