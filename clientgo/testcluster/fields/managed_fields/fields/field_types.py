"""What server-side apply needs to know of a type: what is one field, and what has parts.

Protocols for sources of schemas, and `DEDUCED`, the type of objects without one: maps consist of
their keys, lists are one field each. `clientgo.testcluster.schema.field_types` has the built-in
kinds and custom resources. Source: `Atom` in structured-merge-diff/schema.
"""

from __future__ import annotations

import enum
from typing import Protocol

from clientgo.meta.json_values import JSONValue


class ScalarKind(enum.Enum):
    """Which scalars a field accepts; null is always accepted."""

    ANY = "any scalar"
    NUMERIC = "numeric"
    STRING = "string"
    BOOLEAN = "boolean"


class FieldType(Protocol):
    """The forms that a field may take; a form that is None is not allowed."""

    @property
    def scalar(self) -> ScalarKind | None: ...
    @property
    def list(self) -> ListType | None: ...
    @property
    def map(self) -> MapType | None: ...


class ListType(Protocol):
    """A list: atomic (one field), a map by key fields, or a set (neither atomic nor keyed)."""

    @property
    def atomic(self) -> bool: ...
    @property
    def keys(self) -> tuple[str, ...]: ...
    @property
    def element(self) -> FieldType: ...

    def key_default(self, name: str) -> JSONValue:
        """Return the value of a key field that an item leaves out, or None."""


class MapType(Protocol):
    """An object: declared fields, keys of a map, or both; atomic if it is one field in all."""

    @property
    def atomic(self) -> bool: ...

    @property
    def free_form(self) -> bool:
        """True if nothing is declared and anything goes."""

    def declared(self, name: str) -> FieldType | None:
        """Return the type of a declared field, or None."""

    def member(self, name: str) -> FieldType | None:
        """Return the type of a field, declared or not; None if it is not allowed."""


class _AnyType:
    """Any value at all."""

    scalar = ScalarKind.ANY

    def __init__(self, *, atomic: bool) -> None:
        self._atomic = atomic

    @property
    def list(self) -> ListType:
        return _AnyList()

    @property
    def map(self) -> MapType:
        return _AnyMap(self, atomic=self._atomic)

    def __reduce__(self) -> str:
        return "UNTYPED" if self._atomic else "DEDUCED"


class _AnyList:
    atomic = True
    keys = ()

    @property
    def element(self) -> FieldType:
        return UNTYPED

    def key_default(self, _name: str) -> JSONValue:
        return None


class _AnyMap:
    def __init__(self, element: FieldType, *, atomic: bool) -> None:
        self._element = element
        self.atomic = atomic
        self.free_form = not atomic

    def declared(self, _name: str) -> FieldType | None:
        return None

    def member(self, _name: str) -> FieldType:
        return self._element


DEDUCED: FieldType = _AnyType(atomic=False)
"""Any value; each key of a map is a field of its own, a list is one field."""

UNTYPED: FieldType = _AnyType(atomic=True)
"""Any value as one field."""
