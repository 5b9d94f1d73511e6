"""Sets of fields, which say who owns what.

Immutable sets of paths with the usual algebra and the `fieldsV1` encoding. A set can have
`spec.replicas` without `spec`. Source: `Set` in structured-merge-diff/fieldpath.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from clientgo.meta.json_values import JSONObject, JSONValue, copy_json
from clientgo.meta.repeated_values import value_key
from clientgo.testcluster.fields.managed_fields.fields.field_path import (
    ElementKind,
    Path,
    PathElement,
    field_element,
    parse_element,
)

if TYPE_CHECKING:
    from clientgo.testcluster.fields.managed_fields.fields.field_types import FieldType

_SELF = "."


class FieldSet:
    """An immutable set of paths, held as a tree; safe to share between threads."""

    __slots__ = ("_fields_v1", "children", "in_line_with", "members")

    def __init__(
        self,
        members: frozenset[PathElement] = frozenset(),
        children: Mapping[PathElement, FieldSet] | None = None,
    ) -> None:
        self.members = members
        """The elements of this level that are in the set."""
        self.children: Mapping[PathElement, FieldSet] = children or {}
        """The elements of this level below which there is something in the set."""
        self.in_line_with: FieldType | None = None
        """A type that is known to have no field that is atomic and only partly in the set."""
        self._fields_v1: JSONObject | None = None

    @classmethod
    def of(cls, paths: Iterable[Path]) -> FieldSet:
        """Return the set of `paths`. The empty path, the whole object, can't be a member."""
        members = set()
        deeper: dict[PathElement, list[Path]] = {}
        for path in paths:
            if len(path) == 1:
                members.add(path[0])
            elif path:
                deeper.setdefault(path[0], []).append(path[1:])
        return cls(frozenset(members), {element: cls.of(rest) for element, rest in deeper.items()})

    @classmethod
    def of_fields(cls, *fields: str) -> FieldSet:
        """Return the set of dotted paths: ``FieldSet.of_fields("spec", "metadata.labels")``."""
        return cls.of(tuple(map(field_element, field.split("."))) for field in fields)

    @classmethod
    def from_fields_v1(cls, fields: JSONObject) -> FieldSet:
        """Read the ``fieldsV1`` of a managed fields entry.

        Raises ``ValueError`` if it is malformed. Kinds of path elements that are unknown are left
        out.
        """
        key = value_key(fields)
        try:
            return _read_encoded(key) if key else _read_set(fields)
        except RecursionError as error:
            raise ValueError("fieldsV1 is nested too deeply") from error

    def to_fields_v1(self) -> JSONObject:
        """Return the ``fieldsV1`` form, sorted."""
        copied: JSONObject = copy_json(self._to_fields_v1())
        return copied

    def _to_fields_v1(self) -> JSONObject:
        """Return the form that the set keeps, for itself and the sets that it is part of."""
        if self._fields_v1 is not None:
            return self._fields_v1
        fields: JSONObject = {}
        for element in sorted(self.members | self.children.keys()):
            child = self.children.get(element)
            if child is None:
                fields[element.serialize()] = {}
            else:
                itself: JSONObject = {_SELF: {}} if element in self.members else {}
                fields[element.serialize()] = itself | child._to_fields_v1()
        self._fields_v1 = fields
        return fields

    def paths(self, prefix: Path = ()) -> Iterator[Path]:
        """Walk the set, sorted; the members of a level come before what is below them."""
        for element in sorted(self.members):
            yield (*prefix, element)
        for element in sorted(self.children):
            yield from self.children[element].paths((*prefix, element))

    def below(self, element: PathElement) -> FieldSet:
        """Return what the set has below `element`, as a set of its own."""
        return self.children.get(element, EMPTY)

    def __contains__(self, path: Path) -> bool:
        node = self
        for element in path[:-1]:
            if element not in node.children:
                return False
            node = node.children[element]
        return bool(path) and path[-1] in node.members

    def __bool__(self) -> bool:
        return bool(self.members) or any(self.children.values())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FieldSet) and set(self.paths()) == set(other.paths())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"FieldSet({self.to_fields_v1()})"

    def __or__(self, other: FieldSet) -> FieldSet:
        children = dict(self.children)
        for element, child in other.children.items():
            children[element] = children[element] | child if element in children else child
        return FieldSet(self.members | other.members, children)

    def __and__(self, other: FieldSet) -> FieldSet:
        shared = self.children.keys() & other.children.keys()
        children = {element: self.children[element] & other.children[element] for element in shared}
        return FieldSet(self.members & other.members, _non_empty(children))

    def __sub__(self, other: FieldSet) -> FieldSet:
        """Take away the members of `other`; what is below them stays."""
        children = {
            element: child - other.children[element] if element in other.children else child
            for element, child in self.children.items()
        }
        return FieldSet(self.members - other.members, _non_empty(children))

    def without_trees(self, other: FieldSet) -> FieldSet:
        """Take away the members of `other` and everything below them."""
        children = {
            element: child.without_trees(other.children[element])
            if element in other.children
            else child
            for element, child in self.children.items()
            if element not in other.members
        }
        return FieldSet(self.members - other.members, _non_empty(children))

    def with_declared_fields(self, field_type: FieldType | None) -> FieldSet:
        """Add the fields that `field_type` declares and below which the set has members.

        Such fields are not owned by themselves (a struct is always there), unlike keys of maps.
        """
        map_type = field_type.map if field_type else None
        list_type = field_type.list if field_type else None
        members = set(self.members)
        children = {}
        for element, child in self.children.items():
            child_type = None
            if element.kind is ElementKind.FIELD and map_type:
                if map_type.declared(element.selector):
                    members.add(element)
                child_type = map_type.member(element.selector)
            elif element.kind is ElementKind.KEY and list_type:
                child_type = list_type.element
            children[element] = child.with_declared_fields(child_type)
        return FieldSet(frozenset(members), children)


EMPTY = FieldSet()


def _non_empty(children: dict[PathElement, FieldSet]) -> dict[PathElement, FieldSet]:
    return {element: child for element, child in children.items() if child}


def _read_set(fields: JSONValue) -> FieldSet:
    found, _is_member = _read(fields)
    return found or EMPTY


@functools.lru_cache(maxsize=128)
def _read_encoded(fields: bytes) -> FieldSet:
    """Return the set of encoded fields; few sets occur in most objects."""
    return _read_set(msgspec.json.decode(fields))


def _read(fields: JSONValue) -> tuple[FieldSet | None, bool]:
    """Return what `fields` has below itself, and whether it is itself a member."""
    if not isinstance(fields, dict):
        raise ValueError(f"fieldsV1 is made of objects, not of {fields!r:.80}")  # noqa: TRY004
    members = set()
    children = {}
    for name, below in fields.items():
        element = None if name == _SELF else parse_element(name)
        if element is None:
            continue
        child, is_member = _read(below)
        if is_member:
            members.add(element)
        if child is not None:
            children[element] = child
    if not members and not children:
        return None, True
    return FieldSet(frozenset(members), children), _SELF in fields
