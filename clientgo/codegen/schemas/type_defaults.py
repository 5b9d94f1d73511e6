"""From defaults in Python to defaults in a schema.

Promises that an absent field, once the server has filled it in, reads as its default in Python,
and that nothing is filled in which reads so anyway: ``replicas: int = 3`` is filled in,
``paused: bool = False`` is not. Where that is wanted, :class:`~clientgo.meta.markers.Default`
says it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT, Struct
from msgspec.structs import FieldInfo

from clientgo.meta.json_values import without_nulls


def default_in_schema(field: FieldInfo, schema: Mapping[str, Any]) -> Any:
    """The ``default`` of a field that need not be given, or None if it should have none."""
    return _filled_in(_default(field), schema)


def fields_of(struct: Struct | type[Struct]) -> list[FieldInfo]:
    """The fields that a schema shows: all but the private ones."""
    return [found for found in msgspec.structs.fields(struct) if not found.name.startswith("_")]


def _default(field: FieldInfo) -> Any:
    """The default of a field in Python; ``NODEFAULT`` if it must be given."""
    made = field.default_factory is not NODEFAULT
    return field.default_factory() if made else field.default


def _filled_in(value: Any, schema: Mapping[str, Any]) -> Any:
    """What the server has to fill in for an absent field, so that it reads as ``value``."""
    if not isinstance(value, Struct):
        return _plain(value) if value else None
    members = {}
    for field in fields_of(value):
        member, said = getattr(value, field.name), schema["properties"][field.encode_name]
        filled_in = _filled_in(member, said)
        if filled_in is not None:
            members[field.encode_name] = filled_in
        elif member is not None and ("default" in said or member != _default(field)):
            members[field.encode_name] = _plain(member)
    return members or None


def _plain(value: Any) -> Any:
    return without_nulls(msgspec.json.decode(msgspec.json.encode(value)))
