"""Checks of volumes, limits, nodes and networks that an expression can't say.

Upstream: ``pkg/apis/core/validation`` and ``pkg/apis/networking/validation``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from clientgo.apiserver.kinds.tables.formats import FORMATS
from clientgo.meta.selectors import (
    SelectorError,
    label_key_problems,
    label_value_problems,
    selector_from_object,
)
from clientgo.schema.field_errors import FieldError
from clientgo.text.quantities import parse_quantity

Check = Callable[[Any, str], list[FieldError]]


def _positive_quantity(value: Any, path: str) -> list[FieldError]:
    if parse_quantity(value) > 0:
        return []
    return [FieldError.invalid(path, value, "must be greater than zero")]


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


def _node(node: Any, _path: str) -> list[FieldError]:
    spec, status = node.get("spec", {}), node.get("status", {})
    errors = list(_taint_errors(spec.get("taints", ())))
    errors += _range_errors(spec.get("podCIDRs", []))
    for part in ("capacity", "allocatable"):
        errors += [
            FieldError.invalid(
                f"status.{part}.{name}", amount, "must be greater than or equal to 0"
            )
            for name, amount in status.get(part, {}).items()
            if parse_quantity(amount) < 0
        ]
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
    kind = obj.get("addressType", "")
    errors = [
        FieldError.invalid(f"endpoints[{index}].addresses[{place}]", address, problem)
        for index, endpoint in enumerate(obj.get("endpoints") or ())
        for place, address in enumerate(endpoint.get("addresses") or ())
        for problem in _address_problems(address, kind)
    ]
    seen = set()
    for index, port in enumerate(obj.get("ports") or ()):
        name = port.get("name", "")
        if name in seen:
            errors.append(FieldError.duplicate(f"ports[{index}].name", name))
        seen.add(name)
    return errors


def _address_problems(address: str, kind: str) -> list[str]:
    if kind == "FQDN":
        return FORMATS["dns-subdomain"](address)
    if kind not in ("IPv4", "IPv6"):
        return []
    problems = FORMATS["ip"](address)
    if not problems and (":" in address) != (kind == "IPv6"):
        problems = [f"must be an {kind} address"]
    return problems


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
    source = spec.get("dataSource")
    if source and not source.get("apiGroup") and source.get("kind") != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(FieldError.invalid(f"{path}.dataSource", source.get("kind"), detail))
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


# -- autoscalers


def _scale_target(reference: Any, path: str) -> list[FieldError]:
    """Check that a scaled object names its API group."""
    version = reference.get("apiVersion", "")
    if version.count("/") == 1 and not version.startswith("/"):
        return []
    detail = "apiVersion must specify API group"
    return [FieldError.invalid(f"{path}.apiVersion", version, detail)]


def _label_selector(selector: Any, path: str) -> list[FieldError]:
    """Check a selector as a whole, besides its parts."""
    try:
        selector_from_object(selector)
    except SelectorError:
        return [FieldError.invalid(path, selector, "invalid label selector.")]
    return []


CLUSTER_FUNCTIONS: Final[Mapping[str, Check]] = {
    "access-modes": _access_modes,
    "claim-spec": _claim_spec,
    "endpoint-slice": _endpoint_slice,
    "ip-block": _ip_block,
    "label-selector": _label_selector,
    "limit-range-item": _limit_range_item,
    "node": _node,
    "positive-quantity": _positive_quantity,
    "scale-target": _scale_target,
}
"""Checks by the name that tables use."""
