"""Checks of volumes, limits, nodes and networks that an expression can't say.

Upstream: ``pkg/apis/core/validation`` and ``pkg/apis/networking/validation``.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from clientgo.meta.selectors import (
    SelectorError,
    label_key_problems,
    label_value_problems,
    selector_from_object,
)
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.tables.formats import FORMATS, LOOPBACK, QUOTA_RESOURCES
from clientgo.util.text.quantities import is_whole, parse_quantity

Check = Callable[[Any, str], list[FieldError]]


def _positive_quantity(value: Any, path: str) -> list[FieldError]:
    if parse_quantity(value) > 0:
        return []
    return [FieldError.invalid(path, value, "must be greater than zero")]


# -- amounts of resources


_COUNTED = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)
"""Resources without a domain whose amounts are integers."""


def is_extended(resource: str) -> bool:
    """Return True if a resource is neither Kubernetes' own nor written as a request."""
    return "/" in resource and "kubernetes.io/" not in resource and resource[:9] != "requests."


def amount_errors(resource: str, amount: Any, path: str) -> list[FieldError]:
    """Return an error for a negative amount, and for a fraction of what is counted."""
    errors = []
    if parse_quantity(amount) < 0:
        errors.append(FieldError.invalid(path, amount, "must be greater than or equal to 0"))
    if (resource in _COUNTED or is_extended(resource)) and not is_whole(amount):
        errors.append(FieldError.invalid(path, amount, "must be an integer"))
    return errors


# -- quotas


_COMPUTE = frozenset(
    f"{part}{name}" for part in ("", "limits.", "requests.") for name in ("cpu", "memory")
)
_LIMITED_BY_SCOPE: Mapping[str, frozenset[str]] = {
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
    **dict.fromkeys(
        ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass"), _COMPUTE | {"pods"}
    ),
    "CrossNamespacePodAffinity": _COMPUTE | {"pods"},
}
"""The scopes of quotas, with the resources that a quota of the scope can limit."""

_EXISTING = _LIMITED_BY_SCOPE.keys() - {"PriorityClass", "VolumeAttributesClass"}
"""Scopes that a pod has or has not, without values."""

_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})


def _amounts(amounts: Any, path: str) -> list[FieldError]:
    """Check the names and amounts of a quota."""
    errors = []
    for name, amount in amounts.items():
        where = f"{path}[{name}]"
        problems = FORMATS["quota-resource"](name)
        errors += [FieldError.invalid(where, name, problem) for problem in problems]
        errors += amount_errors(name, amount, where)
    return errors


def _quota(spec: Any, path: str) -> list[FieldError]:
    """Check the scopes of a quota, in both fields that say them."""
    limited = [name for name in spec.get("hard") or () if name in QUOTA_RESOURCES]
    scopes = spec.get("scopes") or []
    errors = list(_scope_errors(scopes, limited, f"{path}.scopes", f"{path}.scopes"))
    requirements = (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    where = f"{path}.scopeSelector.matchExpressions"
    names = [requirement.get("scopeName", "") for requirement in requirements]
    errors += _scope_errors(names, limited, f"{where}.scopeName", where)
    for requirement in requirements:
        errors += _scope_requirement_errors(requirement, where)
    return errors


def _scope_errors(
    scopes: list[str], limited: list[str], unknown: str, path: str
) -> Iterator[FieldError]:
    for scope in scopes:
        if scope not in _LIMITED_BY_SCOPE:
            yield FieldError.invalid(unknown, scope, "unsupported scope")
            continue
        for name in limited:
            if name not in _LIMITED_BY_SCOPE[scope]:
                yield FieldError.invalid(path, scope, "unsupported scope applied to resource")
    for pair in _CONFLICTS:
        if pair <= set(scopes):
            yield FieldError.invalid(path, scopes, "conflicting scopes")


def _scope_requirement_errors(requirement: Any, path: str) -> Iterator[FieldError]:
    operator, values = requirement.get("operator", ""), requirement.get("values")
    if requirement.get("scopeName") in _EXISTING and operator != "Exists":
        yield FieldError.invalid(f"{path}.operator", operator, "must be 'Exists' for this scope")
    if operator in ("In", "NotIn"):
        if not values:
            yield FieldError.required(f"{path}.values", "must be at least one value")
    elif operator not in ("Exists", "DoesNotExist"):
        yield FieldError.invalid(f"{path}.operator", operator, "not a valid selector operator")
    elif values:
        yield FieldError.invalid(f"{path}.values", values, "must be no value")


# -- limit ranges


def _limit_range_item(item: Any, path: str) -> list[FieldError]:
    """Check one limit: names of resources, and that its amounts do not contradict each other."""
    errors = []
    kind = item.get("type", "")
    parts = ["max", "min", "maxLimitRequestRatio"]
    if kind == "Pod":
        errors += [
            FieldError.forbidden(f"{path}.{part}", "may not be specified when `type` is 'Pod'")
            for part in ("default", "defaultRequest")
            if item.get(part)
        ]
    else:
        parts += ["default", "defaultRequest"]
    problems = FORMATS["container-resource" if kind in ("Pod", "Container") else "resource-name"]
    amounts: dict[str, dict[str, Decimal]] = {}
    for part in parts:
        for name, amount in item.get(part, {}).items():
            where = f"{path}.{part}[{name}]"
            errors += [FieldError.invalid(where, name, problem) for problem in problems(name)]
            amounts.setdefault(name, {})[part] = parse_quantity(amount)
    if kind == "PersistentVolumeClaim" and not {"min", "max"} & amounts.get("storage", {}).keys():
        detail = "either minimum or maximum storage value is required, but neither was provided"
        errors.append(FieldError.required(f"{path}.limits", detail))
    for name, of_name in amounts.items():
        errors += _contradictions(name, of_name, path)
    return errors


_ORDERED = (
    ("min", "max", "min"),
    ("min", "defaultRequest", "defaultRequest"),
    ("defaultRequest", "max", "defaultRequest"),
    ("defaultRequest", "default", "defaultRequest"),
    ("min", "default", "default"),
    ("default", "max", "default"),
)
"""Two amounts, the first of which may not be greater, and the field that is wrong if it is."""


def _contradictions(name: str, amounts: Mapping[str, Decimal], path: str) -> Iterator[FieldError]:
    for low, high, field in _ORDERED:
        if low in amounts and high in amounts and amounts[low] > amounts[high]:
            detail = f"{low} value is greater than {high} value"
            yield FieldError.invalid(f"{path}.{field}[{name}]", str(amounts[low]), detail)
    default, request = amounts.get("default"), amounts.get("defaultRequest")
    is_exact = is_extended(name) or name.startswith("hugepages-")
    if is_exact and None not in (default, request) and default != request:
        where = f"{path}.defaultRequest[{name}]"
        yield FieldError.invalid(where, str(request), "must equal the default")
    ratio = amounts.get("maxLimitRequestRatio")
    if ratio is None:
        return
    where = f"{path}.maxLimitRequestRatio[{name}]"
    if ratio < 1:
        yield FieldError.invalid(where, str(ratio), "ratio is less than 1")
    low_amount, high_amount = amounts.get("min"), amounts.get("max")
    if low_amount and high_amount and ratio > high_amount / low_amount:
        yield FieldError.invalid(where, str(ratio), "ratio is greater than max/min")


# -- nodes


def node_errors(node: Any, _path: str) -> list[FieldError]:
    """Check taints, ranges of addresses and amounts of a node."""
    spec, status = node.get("spec", {}), node.get("status", {})
    errors = list(_taint_errors(spec.get("taints", ())))
    errors += _range_errors(spec.get("podCIDRs", []))
    for part in ("capacity", "allocatable"):
        for name, amount in status.get(part, {}).items():
            errors += amount_errors(name, amount, f"status.{part}.{name}")
    return errors


_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _taint_errors(taints: Any) -> Iterator[FieldError]:
    seen = set()
    for index, taint in enumerate(taints):
        path = f"metadata.taints[{index}]"
        key, value, effect = (taint.get(name, "") for name in ("key", "value", "effect"))
        for problem in label_key_problems(key):
            yield FieldError.invalid(f"{path}.key", key, problem)
        for problem in label_value_problems(value):
            yield FieldError.invalid(f"{path}.value", value, problem)
        if not effect:
            yield FieldError.required(f"{path}.effect")
        elif effect not in _EFFECTS:
            yield FieldError.not_supported(f"{path}.effect", effect, _EFFECTS)
        if (key, effect) in seen:
            yield FieldError.duplicate(path, taint)
        seen.add((key, effect))


def _range_errors(ranges: list[str]) -> list[FieldError]:
    path = "spec.podCIDRs"
    errors = [
        FieldError.invalid(f"{path}[{index}]", text, problem)
        for index, text in enumerate(ranges)
        for problem in FORMATS["cidr"](text)
    ]
    families = [":" in text for text in ranges]
    if not errors and len(families) > len(set(families)):
        detail = "may specify no more than one CIDR for each IP family"
        errors.append(FieldError.invalid(path, ranges, detail))
    return errors


# -- networks


def _ip_block(block: Any, path: str) -> list[FieldError]:
    """Check that exceptions are in the block, and smaller."""
    whole = _network(block.get("cidr", ""))
    errors = []
    for index, text in enumerate(block.get("except", ())):
        part = _network(text)
        if whole is None or part is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or part.prefixlen <= whole.prefixlen:
            where = f"{path}.except[{index}]"
            errors.append(FieldError.invalid(where, text, "must be a strict subset of `cidr`"))
    return errors


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


def _endpoint_slice(obj: Any, _path: str) -> list[FieldError]:
    """Check addresses by their type, and that the names of ports differ."""
    kind, metadata = obj.get("addressType", ""), obj.get("metadata") or {}
    # A server for development listens on loopback, and its own endpoints say so.
    is_own = (metadata.get("namespace"), metadata.get("name")) == ("default", "kubernetes")
    errors = [
        FieldError.invalid(f"endpoints[{index}].addresses{place}", address, problem)
        for index, endpoint in enumerate(obj.get("endpoints") or ())
        for position, address in enumerate(endpoint.get("addresses") or ())
        for place, problem in _address_problems(address, kind, f"[{position}]")
        if not (is_own and problem == LOOPBACK)
    ]
    seen = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name", "")
        if name in seen:
            errors.append(FieldError.duplicate(f"ports[{index}].name", name))
        seen.add(name)
    return errors


_TOPOLOGY_MODE = "service.kubernetes.io/topology-mode"
_TOPOLOGY_HINTS = "service.kubernetes.io/topology-aware-hints"
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"


def _service_annotations(service: Any, _path: str) -> list[FieldError]:
    """Check the annotations that stood for fields of services."""
    annotations = service["metadata"].get("annotations") or {}
    errors = []
    mode, hints = annotations.get(_TOPOLOGY_MODE), annotations.get(_TOPOLOGY_HINTS)
    if None not in (mode, hints) and mode != hints:
        detail = f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        where = f"metadata.annotations[{_TOPOLOGY_MODE}]"
        errors.append(FieldError.invalid(where, mode, detail))
    ranges = annotations.get(_SOURCE_RANGES)
    if ranges is None or service["spec"].get("loadBalancerSourceRanges"):
        return errors
    where = f"metadata.annotations[{_SOURCE_RANGES}]"
    if service["spec"].get("type") != "LoadBalancer":
        detail = "may only be used when `type` is 'LoadBalancer'"
        errors.append(FieldError.forbidden(where, detail))
    return errors + [
        FieldError.invalid(where, text.strip(), problem)
        for text in ranges.strip().split(",")
        if ranges.strip()
        for problem in FORMATS["padded-cidr"](text)
    ]


def _address_problems(address: str, kind: str, place: str) -> list[tuple[str, str]]:
    """Return the problems of an address, and where upstream finds them in the list."""
    if kind == "FQDN":
        return [(place, problem) for problem in FORMATS["domain-name"](address)]
    if kind not in ("IPv4", "IPv6"):
        return []
    found = [(place, problem) for problem in FORMATS["reachable-ip"](address)]
    if not FORMATS["ip"](address) and (":" in address) != (kind == "IPv6"):
        found.insert(0, ("", f"must be an {kind} address"))  # of the list, not of the item
    return found


# -- volumes


_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")


def _claim_spec(spec: Any, path: str) -> list[FieldError]:
    """Check the storage that a claim asks for, and its access modes."""
    errors = _access_mode_errors(spec.get("accessModes", []), f"{path}.accessModes")
    where = f"{path}.resources[storage]"
    amount = spec.get("resources", {}).get("requests", {}).get("storage")
    if amount is None:
        errors.append(FieldError.required(where))
    else:
        errors += _positive_quantity(amount, where)
    return errors + _source_errors(spec, path)


def _source_errors(spec: Any, path: str) -> list[FieldError]:
    """Check the data source of a claim, in both fields that say it."""
    errors = []
    for field in ("dataSource", "dataSourceRef"):
        source = spec.get(field)
        if source and not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
            detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
            errors.append(FieldError.invalid(f"{path}.{field}", source.get("kind"), detail))
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if old and new:
        if new.get("namespace"):
            detail = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(FieldError.invalid(path, f"{path}.dataSource", detail))
        elif any(old.get(name) != new.get(name) for name in ("apiGroup", "kind", "name")):
            detail = "must match dataSourceRef"
            errors.append(FieldError.invalid(path, f"{path}.dataSource", detail))
    return errors


def _access_mode_errors(modes: list[str], path: str) -> list[FieldError]:
    if not modes:
        return [FieldError.required(path, "at least 1 access mode is required")]
    errors = [
        FieldError.not_supported(path, mode, _ACCESS_MODES)
        for mode in modes
        if mode not in _ACCESS_MODES
    ]
    known = {mode for mode in modes if mode in _ACCESS_MODES}
    if "ReadWriteOncePod" in known and len(known) > 1:
        detail = "may not use ReadWriteOncePod with other access modes"
        errors.append(FieldError.forbidden(path, detail))
    return errors


def _access_modes(spec: Any, path: str) -> list[FieldError]:
    return _access_mode_errors(spec.get("accessModes", []), f"{path}.accessModes")


_RESIZE_STATUSES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible"),
    *("NodeResizePending", "NodeResizeInProgress", "NodeResizeInfeasible"),
)


def _allocated_resources(amounts: Any, path: str) -> list[FieldError]:
    """Check what is allocated to a claim."""
    errors = []
    for name, amount in amounts.items():
        of_name = _claim_resource_errors(name, path)
        if not of_name and parse_quantity(amount) < 0:
            detail = "must be greater than or equal to 0"
            of_name = [FieldError.invalid(f"{path}[{name}]", amount, detail)]
        errors += of_name
    return errors


def _resize_statuses(statuses: Any, path: str) -> list[FieldError]:
    """Check how far the resize of a claim is."""
    errors = []
    for name, status in statuses.items():
        errors += _claim_resource_errors(name, path)
        if status not in _RESIZE_STATUSES:
            errors.append(FieldError.not_supported(path, name, _RESIZE_STATUSES))
    return errors


def _claim_resource_errors(name: str, path: str) -> list[FieldError]:
    """Check the name of a resource of a claim: of the native ones, only storage."""
    if problems := label_key_problems(name):
        return [FieldError.invalid(path, name, problem) for problem in problems]
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native and name != "storage":
        return [FieldError.not_supported(path, name, ["storage"])]
    return []


def _flex_options(options: Any, path: str) -> list[FieldError]:
    """Check that the options of a volume have no reserved domain."""
    detail = "kubernetes.io and k8s.io namespaces are reserved"
    return [
        FieldError.invalid(f"{path}[{key}]", key, detail)
        for key in options
        if f".{key.partition('/')[0].lower()}".endswith((".kubernetes.io", ".k8s.io"))
    ]


# -- autoscalers


def _scale_target(reference: Any, path: str) -> list[FieldError]:
    """Check that a scaled object names its API group."""
    version = reference.get("apiVersion", "")
    if version.count("/") == 1 and not version.startswith("/"):
        return []
    detail = "apiVersion must specify API group"
    return [FieldError.invalid(f"{path}.apiVersion", version, detail)]


def _described_object(reference: Any, path: str) -> list[FieldError]:
    """Check that the version of an object of a metric can be read; it may have no API group."""
    version = reference.get("apiVersion", "")
    if version.count("/") < 2:
        return []
    return [FieldError.invalid(f"{path}.apiVersion", version, "unexpected GroupVersion string")]


# -- storage classes


def _topologies(terms: Any, path: str) -> list[FieldError]:
    """Check that the terms differ; as upstream, an empty term equals as many as there are terms."""
    errors: list[FieldError] = []
    seen: Counter[frozenset[tuple[str, frozenset[str]]]] = Counter({frozenset(): len(terms)})
    for index, term in enumerate(terms):
        where = f"{path}[{index}].matchLabelExpressions"
        values: dict[str, frozenset[str]] = {}
        for place, requirement in enumerate(term.get("matchLabelExpressions") or ()):
            key = requirement.get("key", "")
            if key in values:
                errors.append(FieldError.duplicate(f"{where}[{place}].key", key))
            values[key] = frozenset(requirement.get("values") or ())
        term_key = frozenset(values.items())
        left = max(0, _MOST_DUPLICATES - len(errors))
        errors += [FieldError.duplicate(where, "")] * min(seen[term_key], left)
        seen[term_key] += 1
    return errors


_MOST_DUPLICATES: Final = 100_000
"""At most. A real server finds half a million duplicates in a thousand equal terms."""


def _label_selector(selector: Any, path: str) -> list[FieldError]:
    """Check a selector as a whole, besides its parts."""
    try:
        selector_from_object(selector)
    except SelectorError:
        return [FieldError.invalid(path, selector, "invalid label selector.")]
    return []


CLUSTER_FUNCTIONS: Final[Mapping[str, Check]] = {
    "access-modes": _access_modes,
    "allocated-resources": _allocated_resources,
    "amounts": _amounts,
    "claim-spec": _claim_spec,
    "described-object": _described_object,
    "endpoint-slice": _endpoint_slice,
    "flex-options": _flex_options,
    "ip-block": _ip_block,
    "label-selector": _label_selector,
    "limit-range-item": _limit_range_item,
    "node": node_errors,
    "positive-quantity": _positive_quantity,
    "quota": _quota,
    "resize-statuses": _resize_statuses,
    "scale-target": _scale_target,
    "service-annotations": _service_annotations,
    "topologies": _topologies,
}
"""Checks by the name that tables use."""
