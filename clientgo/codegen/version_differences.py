"""Where the schemas of a kind's versions differ, so that an API server needs a converter.

Promises the fields that a server without a converter drops or cannot read when it gives an object
in another version: those that only one version has, and those of another type.

Does not compare descriptions, defaults and validation: they lose nothing.

Upstream: apiextensions-apiserver ``pkg/apiserver/conversion`` (the strategy ``None``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

_OPEN: Final = "x-kubernetes-preserve-unknown-fields"
_INT_OR_STRING: Final = "x-kubernetes-int-or-string"
_NAMED: Final = 5
"""Fields that a message names."""


def unconverted_fields(definition: Mapping[str, Any]) -> str:
    """Return which fields of a definition need a converter, and empty text if none do.

    A definition that names a converter needs none.
    """
    spec = definition["spec"]
    if spec.get("conversion", {}).get("strategy", "None") != "None":
        return ""
    stored = next(version for version in spec["versions"] if version["storage"])
    found = [
        difference
        for other in spec["versions"]
        for difference in _differences(
            _schema_of(stored), _schema_of(other), (stored["name"], other["name"]), ""
        )
    ]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return ", ".join([*found[:_NAMED], *more])


def versions_warning(fields: str) -> str:
    """Return what to say of a definition with these unconverted fields."""
    return (
        "its versions have different fields, and without spec.conversion a server drops what the "
        f"other version does not have: {fields}"
    )


def _schema_of(version: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = version.get("schema", {}).get("openAPIV3Schema", {})
    return schema


def _differences(
    one: Mapping[str, Any], other: Mapping[str, Any], versions: tuple[str, str], path: str
) -> Iterator[str]:
    """Yield the highest places at which two schemas hold different fields or types."""
    types = _type(one), _type(other)
    if types[0] != types[1]:
        said = (f"{type_} in {name}" for type_, name in zip(types, versions, strict=True))
        yield f"{path or 'the object'} ({', '.join(said)})"
        return
    ours, theirs = one.get("properties", {}), other.get("properties", {})
    for name in [*ours, *(name for name in theirs if name not in ours)]:
        place = f"{path}.{name}" if path else name
        if name in ours and name in theirs:
            yield from _differences(ours[name], theirs[name], versions, place)
        else:
            yield f"{place} (only in {versions[0 if name in ours else 1]})"
    for keyword, step in (("items", "[]"), ("additionalProperties", "[*]")):
        below = one.get(keyword), other.get(keyword)
        if isinstance(below[0], Mapping) and isinstance(below[1], Mapping):
            yield from _differences(below[0], below[1], versions, f"{path}{step}")


def _type(schema: Mapping[str, Any]) -> str:
    """Return the type of a field, and for an object which members it may have."""
    if schema.get(_INT_OR_STRING):
        return "integer or string"
    type_: str = schema.get("type", "any type")
    if type_ == "object" and "additionalProperties" in schema:
        return "map"
    return f"{type_} of any fields" if schema.get(_OPEN) and type_ == "object" else type_
