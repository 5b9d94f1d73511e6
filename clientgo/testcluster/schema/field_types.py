"""Field types for server-side apply, read from OpenAPI schemas.

Promises: the types of built-in kinds and of custom resources. A type is read when it is first
used, and kept.

Does not promise: errors for invalid schemas. The server checks schemas before.

Upstream: ``k8s.io/kube-openapi/pkg/schemaconv``, which converts whole documents.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from clientgo.meta.json_values import JSONObject, JSONValue
from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    UNTYPED,
    FieldType,
    ListType,
    MapType,
    ScalarKind,
)
from clientgo.testcluster.schema.openapi import (
    Definitions,
    Node,
    builtin_definition,
    openapi_documents,
    referenced_name,
)


def builtin_field_type(api_version: str, kind: str) -> FieldType | None:
    """Return the type of a built-in kind, or None for any other."""
    found = builtin_definition(api_version, kind)
    if found is None:
        return None
    definitions, name = found
    types = _TYPES.get(definitions)
    if types is None:
        types = _TYPES[definitions] = _Types(definitions)
    return types.named(name)


def custom_resource_field_type(schema: JSONObject | None) -> FieldType:
    """Return the type of a custom resource with this ``openAPIV3Schema``; None if it has none.

    The header that every object has is laid over the schema.
    """
    if schema is None:
        return DEDUCED
    return _Types(_header_definitions()).of({**schema, _EMBEDDED: True}, preserves=False)


def schema_field_type(schema: JSONObject) -> FieldType:
    """Return the type that a schema without references describes, exactly as it is written."""
    return _Types(Definitions({})).of(schema, preserves=False)


class _Types:
    """The field types of one set of definitions."""

    def __init__(self, definitions: Definitions) -> None:
        self._nodes = definitions.nodes
        self._named: dict[str, FieldType] = {}

    def named(self, name: str) -> FieldType:
        known = self._named.get(name)
        if known is None:
            known = _SPECIAL.get(name) or _SchemaType(self._nodes[name], self, preserves=False)
            self._named[name] = known
        return known

    def of(self, node: Node, *, preserves: bool) -> FieldType:
        """Return the type of a field; `preserves` says that unknown fields are kept around it."""
        name = referenced_name(node)
        if name is None:
            return _SchemaType(node, self, preserves=preserves)
        target = self.named(name)
        if _MAP_TYPE in node and target.map:
            return _WithMapType(target, target.map, atomic=node[_MAP_TYPE] == "atomic")
        return target


class _SchemaType:
    """What one schema says."""

    def __init__(self, node: Node, types: _Types, *, preserves: bool) -> None:
        self._node = node
        self._types = types
        self._preserves = preserves or node.get("x-kubernetes-preserve-unknown-fields") is True

    @functools.cached_property
    def scalar(self) -> ScalarKind | None:
        match self._node.get("type", ""):
            case "integer" | "number":
                return ScalarKind.NUMERIC
            case "boolean":
                return ScalarKind.BOOLEAN
            case "string":
                plain = self._node.get("format", "") in ("", "byte")
                return ScalarKind.STRING if plain else ScalarKind.ANY
            case "":
                return ScalarKind.ANY
        return None

    @functools.cached_property
    def list(self) -> ListType | None:
        allowed = self._node.get("type", "") in ("", "array")
        return _SchemaList(self._node, self._types, preserves=self._preserves) if allowed else None

    @functools.cached_property
    def map(self) -> MapType | None:
        allowed = self._node.get("type", "") in ("", "object")
        return _SchemaMap(self._node, self._types, preserves=self._preserves) if allowed else None


class _SchemaList:
    def __init__(self, node: Node, types: _Types, *, preserves: bool) -> None:
        list_type = node.get("x-kubernetes-list-type")
        strategy = node.get("x-kubernetes-patch-strategy", "")
        keys: list[str] = []
        if list_type == "map":
            keys = node.get("x-kubernetes-list-map-keys", [])
        elif list_type is None and "x-kubernetes-patch-merge-key" in node:
            keys = [node["x-kubernetes-patch-merge-key"]]
        merges = list_type in ("set", "map") if list_type else "merge" in strategy.split(",")
        self.atomic = not merges
        self.keys = tuple(keys)
        self._items: Node | None = node.get("items")
        self._types = types
        self._preserves = preserves

    @functools.cached_property
    def element(self) -> FieldType:
        if self._items is None:
            return UNTYPED
        return self._types.of(self._items, preserves=self._preserves)

    def key_default(self, name: str) -> JSONValue:
        element = self.element.map
        return element.default_of(name) if isinstance(element, _SchemaMap) else None


class _SchemaMap:
    def __init__(self, node: Node, types: _Types, *, preserves: bool) -> None:
        self._properties: Mapping[str, Any] = node.get("properties", {})
        if node.get(_EMBEDDED):
            self._properties = {**self._properties, **_HEADER}
        self.atomic = node.get(_MAP_TYPE) == "atomic"
        self._additional = node.get("additionalProperties")
        self._types = types
        self._preserves = preserves
        self._declared: dict[str, FieldType] = {}

    @property
    def free_form(self) -> bool:
        return not self._properties and self._undeclared is DEDUCED

    def declared(self, name: str) -> FieldType | None:
        known = self._declared.get(name)
        if known is None and (node := self._properties.get(name)) is not None:
            known = self._declared[name] = self._types.of(node, preserves=self._preserves)
        return known

    def member(self, name: str) -> FieldType | None:
        return self.declared(name) or self._undeclared

    def default_of(self, name: str) -> JSONValue:
        return self._properties.get(name, {}).get("default")

    @functools.cached_property
    def _undeclared(self) -> FieldType | None:
        if isinstance(self._additional, dict):
            return self._types.of(self._additional, preserves=self._preserves)
        if self._additional is not None:
            return DEDUCED if self._additional else None
        return DEDUCED if self._preserves or not self._properties else None


class _WithMapType:
    """A named type whose ``x-kubernetes-map-type`` is overridden where it is used."""

    def __init__(self, target: FieldType, map_type: MapType, *, atomic: bool) -> None:
        self.scalar = target.scalar
        self.list = target.list
        self.map = _OverriddenMap(map_type, atomic=atomic)


class _OverriddenMap:
    def __init__(self, target: MapType, *, atomic: bool) -> None:
        self.atomic = atomic
        self.free_form = target.free_form
        self.declared = target.declared
        self.member = target.member


class _AnyScalar:
    scalar = ScalarKind.ANY
    list = None
    map = None


_MAP_TYPE = "x-kubernetes-map-type"
_EMBEDDED = "x-kubernetes-embedded-resource"
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_HEADER: Mapping[str, Node] = {
    "apiVersion": {"type": "string"},
    "kind": {"type": "string"},
    "metadata": {"$ref": f"#/components/schemas/{_OBJECT_META}"},
}

# Their schemas describe how they are written, not that they are one field.
_SPECIAL: Mapping[str, FieldType] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": _AnyScalar(),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": UNTYPED,
}

_TYPES: WeakKeyDictionary[Definitions, _Types] = WeakKeyDictionary()


@functools.cache
def _header_definitions() -> Definitions:
    return openapi_documents()["apis/apiextensions.k8s.io/v1"].definitions
