"""The resources of pods: their quality of service class, and what a resize may change.

Upstream: ``ComputePodQOS`` in ``pkg/apis/core/v1/helper/qos``, ``ValidatePodResize`` in
``pkg/apis/core/validation``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.quantities import parse_quantity

_PARTS = ("requests", "limits")
_COMPUTE = {"cpu", "memory"}
_CONTAINERS = ("containers", "initContainers")


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Return the quality of service class of a pod, by its own resources or its containers'.

    Init containers count too.
    """
    own = spec.get("resources") or {}
    if own.get("requests") or own.get("limits"):
        resources = [own]
    else:
        containers = [item for field in _CONTAINERS for item in spec.get(field) or ()]
        resources = [item.get("resources") or {} for item in containers]
    requests, limits = ([_compute(item.get(part)) for item in resources] for part in _PARTS)
    wanted, allowed = _totals(requests), _totals(limits)
    if not wanted and not allowed:
        return "BestEffort"
    is_limited = all(item.keys() == _COMPUTE for item in limits)
    return "Guaranteed" if is_limited and wanted == allowed else "Burstable"


def _compute(amounts: Mapping[str, str] | None) -> dict[str, Decimal]:
    """Return the amounts of CPU and memory that are not zero."""
    found = {
        name: parse_quantity(text) for name, text in (amounts or {}).items() if name in _COMPUTE
    }
    return {name: amount for name, amount in found.items() if amount > 0}


def _totals(items: Iterable[Mapping[str, Decimal]]) -> dict[str, Decimal]:
    totals: dict[str, Decimal] = {}
    for item in items:
        for name, amount in item.items():
            totals[name] = totals.get(name, Decimal(0)) + amount
    return totals


def resize_errors(new: Object, old: Object) -> list[FieldError]:
    """Return what else than CPU and memory changes, or takes the pod out of its class."""
    if _MIRROR in old["metadata"].get("annotations", {}):
        return [FieldError.forbidden("", "static pods cannot be resized")]
    spec, before = new["spec"], old["spec"]
    if (before.get("os") or {}).get("name") == "windows":
        return [FieldError.forbidden("", "windows pods cannot be resized")]
    errors = []
    service_class = quality_of_service(spec)
    if service_class != (old.get("status", {}).get("qosClass") or quality_of_service(before)):
        detail = "Pod QOS Class may not change as a result of resizing"
        errors.append(FieldError.invalid("spec", service_class, detail))
    if not _node_can_resize(old):
        detail = "Pod running on node without support for resize"
        errors.append(FieldError.forbidden("spec", detail))
    if disorder := ordering_errors(spec, before):
        return errors + disorder
    pairs = [
        (field, f"spec.{field}[{index}]", *pair)
        for field in reversed(_CONTAINERS)
        for index, pair in enumerate(
            zip(spec.get(field) or (), before.get(field) or (), strict=True)
        )
    ]
    for _, path, container, was in pairs:
        after, amounts = container.get("resources") or {}, was.get("resources") or {}
        errors += [
            FieldError.forbidden(f"{path}.resources.{part}", f"resource {part} cannot be removed")
            for part in _PARTS
            if not (amounts.get(part) or {}).keys() <= (after.get(part) or {}).keys()
        ]
    for field, path, container, was in pairs:
        errors += _fixed_errors(field, path, container, was)
    return errors


def ordering_errors(spec: Object, before: Object) -> list[FieldError]:
    """Return containers that a resize adds, removes, renames or moves."""
    errors = []
    for field in _CONTAINERS:
        new, old = spec.get(field) or [], before.get(field) or []
        if len(new) != len(old):
            detail = f"{field} may not be added or removed on resize"
            errors.append(FieldError.forbidden(f"spec.{field}", detail))
            continue
        errors += [
            FieldError.forbidden(
                f"spec.{field}[{index}].name", f"{field} may not be renamed or reordered on resize"
            )
            for index, (container, was) in enumerate(zip(new, old, strict=True))
            if container.get("name") != was.get("name")
        ]
    return errors


_MIRROR = "kubernetes.io/config.mirror"


def _node_can_resize(pod: Object) -> bool:
    """Return True unless a running container does not say what it has."""
    statuses = pod.get("status", {}).get("containerStatuses") or ()
    running = next((item for item in statuses if (item.get("state") or {}).get("running")), None)
    return running is None or running.get("resources") is not None


def _fixed_errors(field: str, path: str, new: Object, old: Object) -> list[FieldError]:
    """Return the changes of a container beside its CPU and memory."""
    is_changed = _without_compute(new) != _without_compute(old)
    if field == "containers":
        detail = "only cpu and memory resources are mutable"
        return [FieldError.forbidden("spec", detail)] if is_changed else []
    errors = []
    if is_changed:
        detail = "only cpu and memory resources for init or sidecar containers are mutable"
        errors.append(FieldError.forbidden(path, detail))
    restarts = any(
        item.get("restartPolicy") == "RestartContainer" for item in new.get("resizePolicy") or ()
    )
    if new != old and new.get("restartPolicy") != "Always" and restarts:
        detail = (
            "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
        )
        errors.append(FieldError.forbidden(path, detail))
    return errors


def _without_compute(container: Object) -> Object:
    resources = container.get("resources") or {}
    others = {
        part: {
            name: parse_quantity(text)
            for name, text in (resources.get(part) or {}).items()
            if name not in _COMPUTE
        }
        for part in _PARTS
    }
    return container | {"resources": resources | others}
