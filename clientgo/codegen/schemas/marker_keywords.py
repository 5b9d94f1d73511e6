"""The keywords of a schema that markers and ``msgspec.Meta`` stand for.

Promises each keyword as the API spells it. Does not promise that the keywords go together: the
finished schema is checked as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import Meta

from clientgo.codegen.schemas.type_place import Place
from clientgo.meta.markers import Default, Flag, Format, ListMap, ListType, MapType, Rule

QUANTITY: Mapping[str, Any] = {
    "x-kubernetes-int-or-string": True,
    "pattern": (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    ),
}
"""What a quantity looks like. A fraction has to be written as text."""

_VALUE: Any = object()
_CONSTRAINTS: Mapping[str, Mapping[str, Any]] = {
    "ge": {"minimum": _VALUE},
    "gt": {"minimum": _VALUE, "exclusiveMinimum": True},
    "le": {"maximum": _VALUE},
    "lt": {"maximum": _VALUE, "exclusiveMaximum": True},
    "multiple_of": {"multipleOf": _VALUE},
    "pattern": {"pattern": _VALUE},
    "title": {"title": _VALUE},
    "description": {"description": _VALUE},
}
_LENGTHS = {"string": "Length", "array": "Items", "object": "Properties"}


def apply_markers(markers: Iterable[Any], schema: dict[str, Any], place: Place) -> None:
    """Add to a schema what the markers of its type say; others' annotations are left alone."""
    for marker in markers:
        match marker:
            case Meta():
                _apply_meta(marker, schema, place)
            case Rule():
                schema.setdefault("x-kubernetes-validations", []).append(_rule(marker))
            case ListType():
                schema["x-kubernetes-list-type"] = marker.value
            case ListMap():
                schema["x-kubernetes-list-type"] = "map"
                schema["x-kubernetes-list-map-keys"] = list(marker.keys)
            case MapType():
                schema["x-kubernetes-map-type"] = marker.value
            case Format():
                schema["format"] = marker.name
            case Default():
                schema["default"] = marker.value
            case Flag() if marker not in (Flag.QUANTITY, Flag.UNCHECKED):
                schema[marker.value] = True


def _apply_meta(meta: Meta, schema: dict[str, Any], place: Place) -> None:
    for constraint, keywords in _CONSTRAINTS.items():
        value = getattr(meta, constraint)
        if value is not None:
            schema |= {key: value if said is _VALUE else said for key, said in keywords.items()}
    for constraint in ("min_length", "max_length"):
        value = getattr(meta, constraint)
        if value is None:
            continue
        if schema.get("format") == "byte":
            raise place.error(
                f"{constraint} counts bytes in Python and characters of base64 in a schema",
                "leave it out",
            )
        measured = _LENGTHS.get(schema.get("type", ""))
        if measured is None:
            raise place.error(
                f"{constraint} is said of what has no length",
                "say it of the text, list or dict inside",
            )
        schema[constraint.removesuffix("_length") + measured] = value
    schema |= meta.extra_json_schema or {}


def _rule(rule: Rule) -> dict[str, Any]:
    """The members of a rule that say anything."""
    return {name: value for name, value in msgspec.to_builtins(rule).items() if value}
