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
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo

from clientgo.meta.lenient import without_nulls


def default_in_schema(field: FieldInfo, schema: Mapping[str, Any]) -> Any:
    """The ``default`` of a field that need not be given, or None if it should have none."""
    value = field.default if field.default is not NODEFAULT else field.default_factory()
    return _filled_in(without_nulls(msgspec.json.decode(msgspec.json.encode(value))), schema)


def _filled_in(value: Any, schema: Mapping[str, Any]) -> Any:
    """What the server has to fill in for an absent field, so that it reads as ``value``."""
    if not (isinstance(value, dict) and "properties" in schema):
        return value or None
    members = {}
    for name, member in value.items():
        filled_in = _filled_in(member, schema["properties"][name])
        if filled_in is not None:
            members[name] = filled_in
        elif name in schema.get("required", ()) or "default" in schema["properties"][name]:
            members[name] = member
    return members or None
