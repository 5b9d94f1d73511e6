"""A published type with the tables that apply to it and to the types below.

Promises: a `Node` is a type at a place, with what tables say of the place and of the type. Types
without tables below have no node, so that nothing walks through them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import msgspec

from clientgo.testcluster.schema.openapi import OpenAPIType, builtin_type
from clientgo.testcluster.server.kinds.tables.kind_table import (
    ITEMS,
    VALUES,
    Place,
    TableError,
    has_table,
    load_types,
)
from clientgo.testcluster.server.kinds.tables.type_names import short_name


class Node(msgspec.Struct):
    """What tables say of the values of a type at a place, and below."""

    type: OpenAPIType
    places: list[Place]
    """From the general to the particular."""
    members: dict[str, Node] = msgspec.field(default_factory=dict)
    items: Node | None = None
    values: Node | None = None

    @property
    def says_nothing(self) -> bool:
        """Return True if no table says anything of this place or below."""
        own = not all(place.says_nothing for place in self.places)
        return not (own or self.members or self.items or self.values)


@functools.cache
def kind_node(api_version: str, kind: str) -> Node | None:
    """Return the node of a built-in kind, or None if it has no table.

    Raises:
        TableError: a table has a mistake.
    """
    openapi_type = builtin_type(api_version, kind)
    if openapi_type is None:
        return None
    file = "/".join(short_name(openapi_type.name).rsplit(".", 1))
    if not has_table(file):
        return None
    return _Builder(load_types(file)).build(openapi_type, [], short_name(openapi_type.name))


class _Builder:
    def __init__(self, types: Mapping[str, Place]) -> None:
        self._types = types
        self._shared: dict[str, Node | None] = {}
        """Nodes of types for which only their own table matters, by name."""

    def build(self, type_: OpenAPIType, places: list[Place], where: str) -> Node | None:
        """Return the node of a type, with the places that the types above say of it."""
        name = short_name(type_.name)
        for place in places:
            name = place.constraints.get("checks", name)
        if name and "." not in name:
            name = f"{short_name(type_.name).rpartition('.')[0]}.{name}"
        if not places and type_.name:
            if name not in self._shared:
                self._shared[name] = None  # a type within itself has no node
                self._shared[name] = self._build(type_, self._of_type(name), where)
            return self._shared[name]
        return self._build(type_, [*self._of_type(name), *places], where)

    def _of_type(self, name: str) -> list[Place]:
        return [self._types[name]] if name in self._types else []

    def _build(self, type_: OpenAPIType, places: list[Place], where: str) -> Node | None:
        node = Node(type_, places)
        said = {name for place in places for name in place.members} - {ITEMS, VALUES}
        declared = type_.field_names
        if unknown := said.difference(declared):
            raise TableError(f"{where}: there is no field {', '.join(sorted(unknown))}")
        for name in declared:
            member = type_.field(name)
            if member is None or (name == "metadata" and name not in said):
                continue
            if (below := self._below(member, places, name, where)) is not None:
                node.members[name] = below
        if type_.items is not None:
            node.items = self._below(type_.items, places, ITEMS, where)
        if not declared and type_.values is not None:
            node.values = self._below(type_.values, places, VALUES, where)
        return None if node.says_nothing else node

    def _below(self, type_: OpenAPIType, places: list[Place], step: str, where: str) -> Node | None:
        inner = [place.members[step] for place in places if step in place.members]
        return self.build(type_, inner, f"{where}.{step}")
