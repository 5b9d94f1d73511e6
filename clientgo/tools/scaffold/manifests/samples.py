"""Samples: objects of a kind with only what is required.

Promises objects that the kind's schema allows, except for rules, which cannot be solved, and for
patterns that are not either: :class:`Sample` has the problems that are left.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from clientgo.codegen.crd import custom_resource_definition
from clientgo.codegen.manifests import Manifest
from clientgo.codegen.schemas.matching_text import text_matching
from clientgo.meta import Resource, resource_of
from clientgo.testcluster.schema import StructuralSchema

_WORD: Final = "example"
_FORMATS: Final[Mapping[str, str]] = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "byte": "ZXhhbXBsZQ==",
    "uuid": "123e4567-e89b-12d3-a456-426614174000",
    "ipv4": "192.0.2.1",
    "duration": "1m0s",
    "uri": "https://example.com",
    "email": "somebody@example.com",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """An object, and the problems that keep it from being valid, usually none."""

    manifest: Manifest
    problems: tuple[str, ...] = ()


def sample(kind: type[Resource]) -> Sample:
    """Return the smallest object of a kind. Raises ``TypeSchemaError`` if it has no schema."""
    declared = resource_of(kind)
    (version,) = custom_resource_definition(kind)["spec"]["versions"]
    schema = version["schema"]["openAPIV3Schema"]
    properties = schema.get("properties", {})
    metadata: Manifest = {"name": f"{declared.kind.lower()}-sample"}
    if declared.namespaced:
        metadata["namespace"] = "default"
    manifest: Manifest = {
        "apiVersion": f"{declared.group}/{declared.version}",
        "kind": declared.kind,
        "metadata": metadata,
    }
    for name in ("spec", *schema.get("required", ())):
        if name in properties and name not in manifest:
            manifest[name] = _smallest(properties[name])
    errors = StructuralSchema.parse(schema).validate(manifest)
    return Sample(manifest, tuple(str(error) for error in errors))


def _smallest(schema: Mapping[str, Any]) -> Any:
    if "default" in schema:
        return schema["default"]
    if schema.get("enum"):
        return schema["enum"][0]
    if schema.get("x-kubernetes-int-or-string"):
        return 1
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: _smallest(properties[name]) for name in schema.get("required", ())}
        case "array":
            return [_smallest(schema["items"])] * schema.get("minItems", 0)
        case "boolean":
            return False
        case "integer" | "number":
            return _number(schema)
        case "string":
            return _text(schema)
    return {}


def _number(schema: Mapping[str, Any]) -> Any:
    step = schema.get("multipleOf", 1)
    lowest = schema.get("minimum")
    if lowest is None:
        return min(step, schema.get("maximum", step))
    number = -(-lowest // step) * step
    return number + step if number == lowest and schema.get("exclusiveMinimum") else number


def _text(schema: Mapping[str, Any]) -> str:
    shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
    word = _FORMATS.get(schema.get("format", ""), _WORD[:longest].ljust(shortest, "x"))
    if "pattern" not in schema:
        return word
    try:
        return text_matching(
            schema["pattern"],
            random.Random(0),
            shortest=shortest,
            longest=longest,
            preferred=word,
        )
    except ValueError:
        return word  # which Sample.problems tell
