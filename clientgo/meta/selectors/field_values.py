"""The values that field selectors compare, read from an object.

Promises what the API server answers for the fields of built-in kinds and for the selectable fields
of definitions: the text of the field at that path, empty if there is none. Some built-in kinds name
a field differently, or fill it in. A field that an aggregated API computes is empty here.

Source: Kubernetes pkg/registry, ToSelectableFields of each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from clientgo.meta.group_version import APIResource
from clientgo.meta.selectors.field_selectors import FieldSelector

_REFERENCE: Final = (
    "kind",
    "namespace",
    "name",
    "uid",
    "apiVersion",
    "resourceVersion",
    "fieldPath",
)

_EVENT: Final = {
    "source": (
        "source.component",
        "deprecatedSource.component",
        "reportingComponent",
        "reportingController",
    ),
    "reportingComponent": ("reportingComponent", "reportingController"),
    "reportingController": ("reportingComponent", "reportingController"),
    **{
        f"{one}.{name}": (f"involvedObject.{name}", f"regarding.{name}")
        for name in _REFERENCE
        for one in ("involvedObject", "regarding")
    },
}

_PATHS: Final[Mapping[tuple[str, str], Mapping[str, Sequence[str]]]] = {
    ("", "Event"): _EVENT,
    ("events.k8s.io", "Event"): _EVENT,
    ("", "Pod"): {"spec.host": ("spec.nodeName",)},
    ("batch", "Job"): {"status.successful": ("status.succeeded",)},
}
"""Where the value is that is not at its own path: the first that is not empty."""

_WITHOUT: Final[Mapping[tuple[str, str], Mapping[str, str]]] = {
    ("", "Node"): {"spec.unschedulable": "false"},
    ("", "Pod"): {"spec.hostNetwork": "false"},
    ("", "ReplicationController"): {"status.replicas": "0"},
    ("apps", "ReplicaSet"): {"status.replicas": "0"},
    ("batch", "Job"): {"status.successful": "0"},
}
"""The value of a field that is left out, where it is not the empty text."""


def selects_object(selector: FieldSelector, kind: APIResource, plain: Mapping[str, Any]) -> bool:
    """Return True if a selector matches an object of a kind, given as JSON values."""
    fields = [requirement.field for requirement in selector.requirements]
    return selector.matches({field: field_reader(kind, field)(plain) for field in fields})


def field_reader(kind: APIResource, field: str) -> Callable[[Mapping[str, Any]], str]:
    """Return what reads the value of a field, as text, from objects of a kind."""
    name = kind.group, kind.kind
    paths = [path.split(".") for path in _PATHS.get(name, {}).get(field, (field,))]
    absent = _WITHOUT.get(name, {}).get(field, "")

    def read(plain: Mapping[str, Any]) -> str:
        return next(filter(None, (_text_at(plain, path) for path in paths)), absent)

    return read


def _text_at(plain: Any, path: Sequence[str]) -> str:
    """Return the value at a path as text; empty if there is none, or if it is no scalar."""
    value = plain
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None or isinstance(value, (dict, list)) else str(value)
