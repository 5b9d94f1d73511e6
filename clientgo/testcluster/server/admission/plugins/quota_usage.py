"""What objects use of the quotas of their namespace.

Functions have no state.

Upstream: ``pkg/quota/v1/evaluator/core``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.text.quantities import parse_quantity

Usage = dict[str, Decimal]
"""Amounts by the names of resources, as the ``hard`` of quotas has them."""

PODS: Final = ("", "pods")
_CLAIMS = ("", "persistentvolumeclaims")
_RESOURCE_CLAIMS: Final = ("resource.k8s.io", "resourceclaims")
_ONE = Decimal(1)

_OF_DEVICES: Final = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES: Final = 32
"""Devices that a request for all of them counts as: what a claim can have at most."""

_PER_COLLECTION = "count/"
_OF_CLASS = ".storageclass.storage.k8s.io/"
_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_ALL_OF_CORE = frozenset(
    {
        *("configmaps", "persistentvolumeclaims", "pods", "replicationcontrollers"),
        *("resourcequotas", "secrets", "services"),
    }
)


def counted_objects(resource: str) -> tuple[str, str] | None:
    """Return the collection whose objects use a resource of a quota; None if nothing uses it."""
    if resource.startswith(_PER_COLLECTION):
        plural, _, group = resource.removeprefix(_PER_COLLECTION).partition(".")
        return group, plural
    if resource in _ALL_OF_CORE:
        return "", resource
    if resource.startswith("services."):
        return "", "services"
    if resource == "requests.storage" or _OF_CLASS in resource:
        return _CLAIMS
    if resource.endswith(_OF_DEVICES):
        return _RESOURCE_CLAIMS
    return PODS if "/" not in resource or resource.startswith("requests.") else None


def usage_of(key: tuple[str, str], obj: Object) -> Usage:
    """Return what an object of a collection uses; a pod that has ended uses nothing."""
    group, plural = key
    if key == PODS and obj.get("status", {}).get("phase") in ("Succeeded", "Failed"):
        return {f"count/{plural}": _ONE}
    usage = {f"count/{plural}.{group}" if group else f"count/{plural}": _ONE}
    if key == _RESOURCE_CLAIMS:
        usage |= _device_usage(obj.get("spec", {}))
    if group:
        return usage
    usage[plural] = _ONE
    spec = obj.get("spec", {})
    if plural == "pods":
        usage |= _pod_usage(spec)
    elif plural == "services":
        usage |= _service_usage(spec)
    elif key == _CLAIMS:
        requests = spec.get("resources", {}).get("requests") or {}
        allocated = obj.get("status", {}).get("allocatedResources") or {}
        amounts = [parse_quantity(each.get("storage", "0")) for each in (requests, allocated)]
        usage["requests.storage"] = max(amounts).to_integral_value(ROUND_CEILING)
        annotations = obj["metadata"].get("annotations") or {}
        if storage_class := annotations.get(_CLASS_ANNOTATION) or spec.get("storageClassName"):
            for name in (plural, "requests.storage"):
                usage[f"{storage_class}{_OF_CLASS}{name}"] = usage[name]
    return usage


def _device_usage(spec: Object) -> Usage:
    """Return the devices of each class that a claim may get."""
    usage: Usage = {}
    for request in (spec.get("devices") or {}).get("requests") or ():
        most: Usage = {}
        for each in request.get("firstAvailable") or [request.get("exactly") or {}]:
            takes_all = each.get("allocationMode") == "All"
            count = Decimal(_MOST_DEVICES if takes_all else each.get("count") or 1)
            name = f"{each.get('deviceClassName', '')}{_OF_DEVICES}"
            most[name] = max(most.get(name, count), count)
        _add(usage, most)
    return usage


def _service_usage(spec: Object) -> Usage:
    usage = {}
    kind = spec.get("type")
    if kind == "LoadBalancer":
        usage["services.loadbalancers"] = _ONE
    if kind == "NodePort":
        usage["services.nodeports"] = Decimal(len(spec.get("ports") or ()))
    elif kind == "LoadBalancer":
        ports = [port for port in spec.get("ports") or () if port.get("nodePort")]
        usage["services.nodeports"] = Decimal(len(ports))
    return usage


def _pod_usage(spec: Object) -> Usage:
    usage: Usage = {}
    for part in ("requests", "limits"):
        for name, amount in _amounts(spec, part).items():
            usage[f"{part}.{name}"] = amount
            if part == "requests" and "/" not in name:
                usage[name] = amount
    return usage


def _amounts(spec: Object, part: str) -> Usage:
    """Return what the containers of a pod need at most at one time."""
    running: Usage = {}
    most: Usage = {}
    for container in spec.get("initContainers") or ():
        own = _of_container(container, part)
        if container.get("restartPolicy") == "Always":
            _add(running, own)
            own = {}
        for name in {*own, *running}:
            needed = running.get(name, Decimal(0)) + own.get(name, Decimal(0))
            most[name] = max(most.get(name, Decimal(0)), needed)
    for container in spec.get("containers") or ():
        _add(running, _of_container(container, part))
    for name, amount in running.items():
        most[name] = max(most.get(name, Decimal(0)), amount)
    most |= {name: parse_quantity(text) for name, text in _of_pod(spec, part).items()}
    overhead = spec.get("overhead") or {}
    _add(most, {name: parse_quantity(text) for name, text in overhead.items() if name in most})
    return most


def _of_pod(spec: Object, part: str) -> Mapping[str, str]:
    amounts: Mapping[str, str] = (spec.get("resources") or {}).get(part) or {}
    return amounts


def _of_container(container: Object, part: str) -> Usage:
    amounts = (container.get("resources") or {}).get(part) or {}
    return {name: parse_quantity(text) for name, text in amounts.items()}


def _add(total: Usage, amounts: Usage) -> None:
    for name, amount in amounts.items():
        total[name] = total.get(name, Decimal(0)) + amount


_MUST_SPECIFY = frozenset(
    f"{part}{name}" for part in ("", "requests.", "limits.") for name in ("cpu", "memory")
)


def missing_requirements(spec: Object, hard: Mapping[str, Decimal]) -> str:
    """Return what the containers of a pod must say because a quota limits it; empty if nothing."""
    missing: dict[str, list[str]] = {}
    for name in sorted(_MUST_SPECIFY & hard.keys()):
        part, _, resource = name.rpartition(".")
        if resource in _of_pod(spec, part or "requests"):
            continue
        lacking = {
            container.get("name", "")
            for field in ("containers", "initContainers")
            for container in spec.get(field) or ()
            if resource not in _of_container(container, part or "requests")
        }
        if lacking:
            missing[name] = sorted(lacking)
    return "; ".join(f"{name} for: {','.join(lacking)}" for name, lacking in missing.items())


# -- scopes


def matches(spec: Object, key: tuple[str, str], obj: Object) -> bool:
    """Return True if an object is in all scopes of a quota; scopes are of pods and claims."""
    requirements = list(_requirements(spec))
    if key == PODS:
        return all(_has_pod(obj["spec"], *each) for each in requirements)
    return all(key == _CLAIMS and _has_claim(obj, *each) for each in requirements)


def _requirements(spec: Object) -> Iterator[tuple[str, str, list[str]]]:
    for scope in spec.get("scopes") or ():
        yield scope, "Exists", []
    for item in (spec.get("scopeSelector") or {}).get("matchExpressions") or ():
        yield item.get("scopeName", ""), item.get("operator", ""), item.get("values") or []


def _has_pod(spec: Object, scope: str, operator: str, values: list[str]) -> bool:
    if scope == "PriorityClass":
        return _selects({spec.get("priorityClassName")}, operator, values)
    found = _SCOPES.get(scope)
    return found is not None and found(spec)


def _has_claim(claim: Object, scope: str, operator: str, values: list[str]) -> bool:
    status = claim.get("status") or {}
    classes = {
        claim["spec"].get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    }
    return scope == "VolumeAttributesClass" and _selects(classes, operator, values)


def _selects(names: set[str | None], operator: str, values: list[str]) -> bool:
    """Return True if one of the classes of an object, or that it has none, is what is required."""
    given = {name for name in names if name}
    match operator:
        case "In":
            return not given.isdisjoint(values)
        case "NotIn":
            return not given or not given.issubset(values)
        case "DoesNotExist":
            return not given
    return bool(given)


def _is_best_effort(spec: Object) -> bool:
    resources = [spec.get("resources") or {}]
    for field in ("containers", "initContainers"):
        resources += [item.get("resources") or {} for item in spec.get(field) or ()]
    return not any(item.get("requests") or item.get("limits") for item in resources)


def _crosses_namespaces(spec: Object) -> bool:
    affinity = spec.get("affinity") or {}
    return any(
        _terms_cross(affinity.get(kind) or {}) for kind in ("podAffinity", "podAntiAffinity")
    )


def _terms_cross(affinity: Mapping[str, Any]) -> bool:
    terms = list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
    terms += [
        item.get("podAffinityTerm") or {}
        for item in affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    ]
    return any(term.get("namespaces") or "namespaceSelector" in term for term in terms)


_SCOPES: Mapping[str, Callable[[Object], bool]] = {
    "BestEffort": _is_best_effort,
    "NotBestEffort": lambda spec: not _is_best_effort(spec),
    "Terminating": lambda spec: spec.get("activeDeadlineSeconds") is not None,
    "NotTerminating": lambda spec: spec.get("activeDeadlineSeconds") is None,
    "CrossNamespacePodAffinity": _crosses_namespaces,
}
"""Whether a pod is in a scope."""
