"""How the OpenAPI documents describe the kinds of definitions.

Promises: the schema of a definition as a real server publishes it in version 3 and, without what
that can't express, in version 2: with the standard fields of objects, those of embedded objects,
both types of int-or-string, and a schema for the list.

Upstream: apiextensions ``pkg/controller/openapi/builder`` and ``openapi/v2``, ``apiserver/schema``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.server.resources.resource import Resource

Node = dict[str, Any]

V2_REFERENCE, V3_REFERENCE = "#/definitions/", "#/components/schemas/"

META = "io.k8s.apimachinery.pkg.apis.meta.v1"

_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_TYPE_META = {
    "apiVersion": {
        "type": "string",
        "description": "APIVersion defines the versioned schema of this representation of an "
        "object. Servers should convert recognized schemas to the latest internal value, and may "
        f"reject unrecognized values. More info: {_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "Kind is a string value representing the REST resource this object "
        "represents. Servers may infer this from the endpoint the client submits requests to. "
        f"Cannot be updated. In CamelCase. More info: {_CONVENTIONS}#types-kinds",
    },
}
_EMBEDDED_TYPE_META = {
    "apiVersion": {
        "type": "string",
        "description": "apiVersion defines the versioned schema of this representation of an "
        f"object. More info: {_CONVENTIONS}#resources",
    },
    "kind": {
        "type": "string",
        "description": "kind is a string value representing the type of this object. In "
        f"CamelCase. More info: {_CONVENTIONS}#types-kinds",
    },
}
_OBJECT_META = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_META = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"

_PRESERVES = "x-kubernetes-preserve-unknown-fields"
_EMBEDDED = "x-kubernetes-embedded-resource"
_INT_OR_STRING = "x-kubernetes-int-or-string"
_JUNCTORS = ("allOf", "anyOf", "oneOf", "not")
_PUBLISHED = frozenset(
    {
        "default",
        "description",
        "enum",
        "example",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "externalDocs",
        "format",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "nullable",
        "pattern",
        "required",
        "title",
        "type",
        "uniqueItems",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-list-type",
        "x-kubernetes-map-type",
        "x-kubernetes-validations",
        _EMBEDDED,
        _INT_OR_STRING,
        _PRESERVES,
        *_JUNCTORS,
    }
)
"""Keywords that are published, beside those with schemas of members."""
_ALWAYS_TOLD = frozenset({"default", "enum", "example", "maximum", "minimum", "multipleOf"})
"""Keywords whose false and empty values are told."""

_TYPES = [{"type": "integer"}, {"type": "string"}]


def definition_name(resource: Resource, kind: str) -> str:
    """Return the name of a kind of a definition in the documents."""
    group = ".".join(reversed(resource.group.split(".")))
    return f"{group}.{resource.version}.{kind}"


def kind_of(resource: Resource, kind: str) -> dict[str, str]:
    """Return a group, version and kind as the documents have it."""
    return {"group": resource.group, "version": resource.version, "kind": kind}


def published_schemas(resource: Resource, *, v2: bool = False) -> dict[str, Node]:
    """Return the schemas of a custom resource and of its list, by name."""
    name = definition_name(resource, resource.kind)
    listed = _list_schema(resource, name, v2=v2)
    described = _object_schema(resource, v2=v2)
    described["x-kubernetes-group-version-kind"] = [kind_of(resource, resource.kind)]
    listed["x-kubernetes-group-version-kind"] = [kind_of(resource, resource.list_kind)]
    if fields := resource.strategy.selectable_fields:
        selectable = [{"fieldPath": path} for path in fields]
        described["x-kubernetes-selectable-fields"] = selectable
        listed["x-kubernetes-selectable-fields"] = selectable
    return {name: described, definition_name(resource, resource.list_kind): listed}


def _object_schema(resource: Resource, *, v2: bool) -> Node:
    declared = resource.strategy.published_schema
    if not declared or (v2 and declared.get(_PRESERVES)):
        return {"type": "object"}  # kubectl would call all other fields unknown
    schema = _publish(declared, v2=v2)
    schema["properties"] = {
        **schema.get("properties", {}),
        **_TYPE_META,
        "metadata": _reference(f"{META}.ObjectMeta", _OBJECT_META, v2=v2),
    }
    return schema


def _list_schema(resource: Resource, name: str, *, v2: bool) -> Node:
    items = {
        "type": "array",
        "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
        "items": _reference(name, "", v2=v2),
    }
    return {
        "type": "object",
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "required": ["items"],
        "properties": {
            **_TYPE_META,
            "items": items,
            "metadata": _reference(f"{META}.ListMeta", _LIST_META, v2=v2),
        },
    }


def _reference(name: str, description: str, *, v2: bool) -> Node:
    """Refer to a schema. In version 3, nothing stands beside a reference."""
    reference = {"$ref": (V2_REFERENCE if v2 else V3_REFERENCE) + name}
    if not description:
        return reference
    described = {"description": description}
    return reference | described if v2 else described | {"allOf": [reference]}


def _publish(schema: Mapping[str, Any], *, v2: bool) -> Node:
    if v2:
        schema = _without_v3(schema)
    elif schema.get(_INT_OR_STRING):
        schema = _with_types(schema)
    published = {
        key: value
        for key, value in schema.items()
        if key in _PUBLISHED and (value or key in _ALWAYS_TOLD)
    }
    if (items := schema.get("items")) is not None:
        published["items"] = _publish(items, v2=v2)
    if members := schema.get("properties"):
        published["properties"] = {
            name: _publish(member, v2=v2) for name, member in members.items()
        }
    if (values := schema.get("additionalProperties")) is not None:
        is_schema = isinstance(values, Mapping)
        published["additionalProperties"] = _publish(values, v2=v2) if is_schema else values
    if schema.get(_EMBEDDED) and not (v2 and schema.get(_PRESERVES)):
        _embed(published, v2=v2)
    return published


def _embed(published: Node, *, v2: bool) -> None:
    """Add the fields that an embedded object has."""
    published["properties"] = {
        **published.get("properties", {}),
        **_EMBEDDED_TYPE_META,
        "metadata": _reference(f"{META}.ObjectMeta", _OBJECT_META, v2=v2),
    }
    required = published.get("required", [])
    published["required"] = [
        *required,
        *(name for name in ("kind", "apiVersion") if name not in required),
    ]


def _with_types(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say in the schema of an int-or-string which types it has, unless it says so itself."""
    any_of, all_of = schema.get("anyOf"), schema.get("allOf") or [{}]
    if any_of == _TYPES or all_of[0].get("anyOf") == _TYPES:
        return schema
    if not any_of:
        return {**schema, "anyOf": _TYPES}
    return {**schema, "allOf": [{"anyOf": _TYPES}, *schema.get("allOf", ())]}


def _without_v3(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Remove what version 2 can't express, or what makes kubectl refuse good objects."""
    left = {key: value for key, value in schema.items() if key not in _JUNCTORS}
    nullable, preserves = schema.get("nullable"), schema.get(_PRESERVES)
    if nullable or preserves:
        left = {key: left[key] for key in left if key not in ("items", "nullable", "properties")}
    if nullable or (preserves and left.get("type") == "object"):
        left.pop("type", None)
    if "items" not in left and left.get("type") == "array":
        del left["type"]
    nullables = {name for name, member in left.get("properties", {}).items() if _is_null(member)}
    if nullables and "required" in left:
        left["required"] = [name for name in left["required"] if name not in nullables]
    if _is_null(left.get("additionalProperties")):
        left.pop("required", None)
    return left


def _is_null(schema: Any) -> bool:
    return isinstance(schema, Mapping) and bool(schema.get("nullable"))
