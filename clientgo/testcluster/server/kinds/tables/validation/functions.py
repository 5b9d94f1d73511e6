"""Checks that tables name because an expression can't say them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from clientgo.meta.selectors import (
    Selector,
    SelectorError,
    label_key_problems,
    selector_from_object,
)
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.kinds.tables.validation.cluster_functions import CLUSTER_FUNCTIONS
from clientgo.util.text.quantities import is_whole, parse_quantity

Check = Callable[[Any, str], list[FieldError]]
"""Returns the errors of a value at a path."""


def _selector_matches_template(spec: Any, path: str) -> list[FieldError]:
    """Check that the selector of a workload is valid and selects the pods of its template."""
    selector = spec.get("selector")
    template = spec.get("template") or {}
    labels = (template.get("metadata") or {}).get("labels") or {}
    if selector and not selector.keys() & {"matchLabels", "matchExpressions"}:
        selector = {"matchLabels": selector}
    try:
        selects = selector is not None and _selects(selector, labels)
    except SelectorError as error:
        return [FieldError.invalid(f"{path}.selector", selector, str(error))]
    if selects:
        return []
    detail = "`selector` does not match template `labels`"
    return [FieldError.invalid(f"{path}.template.metadata.labels", labels or None, detail)]


def _selects(selector: Any, labels: Any) -> bool:
    """Return True if a selector selects labels; it raises `SelectorError`."""
    if selector.keys() == {"matchLabels"}:
        return _selector_of_labels(tuple(selector["matchLabels"].items())).matches(labels)
    return selector_from_object(selector).matches(labels)


@functools.lru_cache(256)
def _selector_of_labels(labels: tuple[tuple[str, str], ...]) -> Selector:
    return selector_from_object({"matchLabels": dict(labels)})


_ENV_FIELDS = frozenset(
    {
        *("metadata.name", "metadata.namespace", "metadata.uid"),
        *("spec.nodeName", "spec.serviceAccountName"),
        *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
    }
)
_VOLUME_FIELDS = frozenset(
    f"metadata.{name}" for name in ("name", "namespace", "labels", "annotations", "uid")
)
_KNOWN_FIELDS = _ENV_FIELDS | _VOLUME_FIELDS | {"spec.restartPolicy", "spec.schedulerName"}
_SUBSCRIPTED = re.compile(r"([\w.]+)\['([^']*)'\]")


def _field_path(supported: Collection[str]) -> Check:
    """Return the check of a field of a pod that a container or volume may show."""

    def check(selector: Any, path: str) -> list[FieldError]:
        field = selector.get("fieldPath")
        if not field:
            return [FieldError.required(f"{path}.fieldPath")]
        unknown = FieldError.invalid(f"{path}.fieldPath", field, "error converting fieldPath")
        if selector.get("apiVersion") != "v1":
            return [unknown]
        if found := _SUBSCRIPTED.fullmatch(field):
            name, key = found.groups()
            if name == "metadata.annotations":
                key = key.lower()
            elif name != "metadata.labels":
                return [unknown]
            return [FieldError.invalid(path, key, problem) for problem in label_key_problems(key)]
        if field not in _KNOWN_FIELDS:
            return [unknown]
        if field not in supported:
            return [FieldError.not_supported(f"{path}.fieldPath", field, sorted(supported))]
        return []

    return check


def _resource_field_of_container(selector: Any, path: str) -> list[FieldError]:
    """Check the resource of a container that a volume shows."""
    if selector.get("containerName"):
        return _resource_field(selector, path)
    others = (error for error in _resource_field(selector, path) if "divisor" in error.field)
    return [FieldError.required(f"{path}.containerName"), *others]


_CONTAINER_RESOURCES = frozenset(
    f"{part}.{name}"
    for part in ("limits", "requests")
    for name in ("cpu", "memory", "ephemeral-storage")
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTE_DIVISORS = frozenset({"1", *(f"1{u}{i}" for u in "KMGTPE" for i in ("", "i")), "1k"})


def _resource_field(selector: Any, path: str) -> list[FieldError]:
    """Check the resource of a container that a variable or volume shows."""
    errors = []
    name = selector.get("resource", "")
    if not name:
        errors.append(FieldError.required(f"{path}.resource"))
    elif name not in _CONTAINER_RESOURCES and not name.startswith(_HUGE_PAGES):
        supported = sorted(_CONTAINER_RESOURCES)
        errors.append(FieldError.not_supported(f"{path}.resource", name, supported))
    divisor = selector.get("divisor", "0")
    allowed: Collection[str] | None = None
    if name.endswith(".cpu"):
        allowed = ("1m", "1")
    elif name in _CONTAINER_RESOURCES or name.startswith(_HUGE_PAGES):
        allowed = _BYTE_DIVISORS
    if divisor != "0" and allowed is not None and divisor not in allowed:
        errors.append(FieldError.invalid(f"{path}.divisor", name, "the divisor is not supported"))
    return errors


def _resource_requirements(requirements: Any, path: str) -> list[FieldError]:
    """Check requests against limits."""
    limits, requests = requirements.get("limits", {}), requirements.get("requests", {})
    errors = []
    for part, amounts in (("limits", limits), ("requests", requests)):
        for name, amount in amounts.items():
            if not is_overcommitted(name) and not is_whole(amount):
                where = f"{path}.{part}[{name}]"
                errors.append(FieldError.invalid(where, amount, "must be an integer"))
    for name, request in requests.items():
        amount = parse_quantity(request)
        if name not in limits:
            if not is_overcommitted(name):
                errors.append(FieldError.required(f"{path}.limits", f"limit of {name}"))
            continue
        limit = parse_quantity(limits[name])
        if amount > limit or (amount != limit and not is_overcommitted(name)):
            detail = f"must be less than or equal to {name} limit of {limits[name]}"
            errors.append(FieldError.invalid(f"{path}.requests", request, detail))
    names = {*limits, *requests}
    if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
        errors.append(FieldError.forbidden(path, "HugePages require cpu or memory"))
    return errors


def is_overcommitted(resource: str) -> bool:
    """Return True if the requests of a resource may be lower than its limit."""
    is_native = "/" not in resource or "kubernetes.io/" in resource
    return is_native and not resource.startswith("hugepages-")


def _readable_selector_matches_template(spec: Any, path: str) -> list[FieldError]:
    """Check that a selector selects the pods of the template, if it can be read."""
    where = f"{path}.selector"
    return [error for error in _selector_matches_template(spec, path) if error.field != where]


_NOT_ON_WINDOWS = ("hostPID", "hostIPC", "hostUsers", "shareProcessNamespace")
_POD_CONTEXT_NOT_ON_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy"),
    *("sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"),
    "seLinuxChangePolicy",
)
_CONTEXT_NOT_ON_WINDOWS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "privileged"),
    *("readOnlyRootFilesystem", "allowPrivilegeEscalation", "procMount", "runAsUser"),
    "runAsGroup",
)
_NOT_ON_LINUX = ("windowsOptions",)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def _windows_fields(spec: Any, path: str) -> list[FieldError]:
    """Check that a pod for an operating system has no fields of the other."""
    system = (spec.get("os") or {}).get("name")
    if system not in ("windows", "linux"):
        return []
    on_windows = system == "windows"
    found = [f"{path}.{name}" for name in _NOT_ON_WINDOWS if on_windows and spec.get(name)]
    contexts = [(f"{path}.securityContext", spec.get("securityContext"), True)]
    contexts += [
        (f"{path}.{field}[{index}].securityContext", container.get("securityContext"), False)
        for field in _CONTAINERS
        for index, container in enumerate(spec.get(field) or ())
    ]
    for where, context, of_pod in contexts:
        names = _POD_CONTEXT_NOT_ON_WINDOWS if of_pod else _CONTEXT_NOT_ON_WINDOWS
        refused = names if on_windows else _NOT_ON_LINUX
        found += [f"{where}.{name}" for name in refused if name in (context or {})]
    return [FieldError.forbidden(field, f"cannot be set for a {system} pod") for field in found]


def _map_matches_template(spec: Any, path: str) -> list[FieldError]:
    """Check that a selector that is a map, if it is not empty, selects the pods of the template."""
    if not spec.get("selector") or not spec.get("template"):
        return []
    return _selector_matches_template(spec, path)


def _admission_resources(resources: Any, path: str) -> list[FieldError]:
    """Check the resources and subresources that a webhook or policy matches."""
    errors = []
    whole: set[str] = set()  # x of x/*
    everywhere: set[str] = set()  # x of */x
    has_plain = False
    for index, resource in enumerate(resources):
        where = f"{path}[{index}]"
        name, slash, part = resource.partition("/")
        if not resource:
            errors.append(FieldError.required(where))
        elif not slash:
            has_plain = resource != "*"  # as upstream: of the last one
        else:
            wider = [f"{name}/*"] * (name in whole) + [f"*/{part}"] * (part in everywhere)
            errors += [
                FieldError.invalid(
                    where, resource, f"if '{other}' is present, must not specify {resource}"
                )
                for other in wider
            ]
            whole |= {name} if part == "*" else set()
            everywhere |= {part} if name == "*" else set()
    if len(resources) > 1 and "*/*" in resources:
        detail = "if '*/*' is present, must not specify other resources"
        errors.append(FieldError.invalid(path, resources, detail))
    if "*" in resources and has_plain:
        detail = "if '*' is present, must not specify other resources without subresources"
        errors.append(FieldError.invalid(path, resources, detail))
    return errors


FUNCTIONS: Final[Mapping[str, Check]] = {
    **CLUSTER_FUNCTIONS,
    "admission-resources": _admission_resources,
    "env-field": _field_path(_ENV_FIELDS),
    "map-matches-template": _map_matches_template,
    "readable-selector-matches-template": _readable_selector_matches_template,
    "resource-field": _resource_field,
    "resource-field-of-container": _resource_field_of_container,
    "resource-requirements": _resource_requirements,
    "selector-matches-template": _selector_matches_template,
    "windows-fields": _windows_fields,
    "volume-field": _field_path(_VOLUME_FIELDS),
}
"""Checks by the name that tables use."""
