"""The structural schema of a project's own types.

Promises: what the schema allows is what the type decodes, as far as both can say it. A field
without a default is required. A default in Python is a default in the schema, so that every client
sees the same, unless it is what an absent field reads as anyway (``""``, ``0``, ``False``, empty or
``None``). Docstrings of classes and fields are what ``kubectl explain`` shows.

Does not promise a schema for every type that ``msgspec`` decodes: what a structural schema cannot
say is a ``TypeSchemaError``, which names the field and what to write instead.

Differs from upstream (controller-tools) in that the types are read at run time, as values, instead
of from source.
"""

from __future__ import annotations

import datetime
import enum
import types
import uuid
from collections import abc
from collections.abc import Mapping, Sequence
from typing import (
    Annotated,
    Any,
    Literal,
    NewType,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import Meta, Struct

from clientgo.codegen.schemas.field_docs import class_doc, field_docs, inherited_field_docs
from clientgo.codegen.schemas.marker_keywords import QUANTITY, apply_markers
from clientgo.codegen.schemas.type_defaults import default_in_schema, fields_of
from clientgo.codegen.schemas.type_place import Place
from clientgo.meta import Resource
from clientgo.meta.markers import PRESERVE_UNKNOWN_FIELDS, Flag, markers_of

Schema: TypeAlias = dict[str, Any]

_SCALARS: Mapping[type, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    bytes: {"type": "string", "format": "byte"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_LISTS = (list, tuple, abc.Sequence, abc.MutableSequence, abc.Collection)
_SETS = (set, frozenset, abc.Set, abc.MutableSet)
_MAPPINGS = (dict, abc.Mapping, abc.MutableMapping)
_PRESERVE = PRESERVE_UNKNOWN_FIELDS.value


def resource_schema(cls: type[Resource]) -> Schema:
    """The ``openAPIV3Schema`` of a declared class. Raises ``TypeSchemaError``."""
    place = Place(cls.__name__)
    schema = _object_of_fields(cls.__body__, place, docs=field_docs(cls))
    return _finished(schema, cls, place)


def _schema(annotation: Any, place: Place, *, none_is_absent: bool = False) -> Schema:
    """The schema of a type. Where ``None`` stands for an absent field it allows no null."""
    annotation, markers = _unwrapped(annotation)
    if Flag.QUANTITY in markers:
        schema = dict(QUANTITY)
    elif Flag.UNCHECKED in markers:
        schema = {"type": "object", _PRESERVE: True}
    else:
        members = _members(annotation)
        schema = _union([member for member in members if member is not None], annotation, place)
        if None in members and not none_is_absent:
            schema["nullable"] = True
    apply_markers(markers, schema, place)
    if annotation is datetime.datetime and not any(_demands_zone(marker) for marker in markers):
        raise place.error(
            "a datetime may lack its time zone, which the API demands",
            "write Annotated[datetime, Meta(tz=True)]",
        )
    if schema.get("nullable") and None not in schema.get("enum", (None,)):
        schema["enum"] = [*schema["enum"], None]
    return schema


def _unwrapped(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without ``Annotated`` and ``NewType`` around it, and what they carried."""
    markers: tuple[Any, ...] = ()
    while True:
        if get_origin(annotation) is Annotated:
            markers = (*annotation.__metadata__, *markers)
            annotation = annotation.__origin__
        elif isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        else:
            return annotation, markers


def _members(annotation: Any) -> list[Any]:
    """The types of a union, with None for null; any other type alone."""
    if get_origin(annotation) in (Union, types.UnionType):
        members = get_args(annotation)
    elif get_origin(annotation) is Literal and None in get_args(annotation):
        values = tuple(value for value in get_args(annotation) if value is not None)
        members = (Literal[values], None)
    else:
        members = (annotation,)
    return [None if member in (None, types.NoneType) else member for member in members]


def _union(members: list[Any], annotation: Any, place: Place) -> Schema:
    if members == [annotation]:
        return _plain_type(annotation, place)
    if len(members) == 1:
        return _schema(members[0], place)
    if {_unwrapped(member)[0] for member in members} == {int, str}:
        # Bounds concern numbers alone and patterns text alone, so both may stand side by side.
        keywords = {k: v for member in members for k, v in _schema(member, place).items()}
        del keywords["type"]
        return {"x-kubernetes-int-or-string": True, **keywords}
    raise place.error(
        f"{_name(annotation)} is one of several types",
        "write one class with an optional field for each, and a Rule that one of them is set; or "
        "int | str, the only union that a schema can say",
    )


def _plain_type(annotation: Any, place: Place) -> Schema:
    """The schema of what is neither annotated nor a union."""
    cls = get_origin(annotation) or annotation
    if cls is Any or cls is object:
        return {_PRESERVE: True}
    if cls is Literal:
        return _choices(get_args(annotation), place)
    if not isinstance(cls, type):
        raise place.error(
            f"{_name(annotation)} is no type of its own", "write the type that it stands for"
        )
    if cls in _SCALARS:
        return dict(_SCALARS[cls])
    if issubclass(cls, enum.Enum):
        return _choices([member.value for member in cls], place)
    if issubclass(cls, Struct):
        return _class_schema(annotation, place)
    if cls in _MAPPINGS:
        return _mapping(annotation, place)
    if cls in _LISTS:
        return _list(cls, get_args(annotation), place)
    if cls in _SETS:
        raise place.error(
            "a set hides repeated items, which the server refuses, and has no order to store",
            "write Annotated[list[...], ListType.SET]",
        )
    raise place.error(
        f"{_name(annotation)} has no counterpart in JSON that a schema can say",
        "write str, int, float, bool, a list, a dict[str, ...] or a class derived from Model",
    )


def _choices(values: Sequence[Any], place: Place) -> Schema:
    kinds = {type(value) for value in values}
    if kinds == {str}:
        schema: Schema = {"type": "string"}
    elif kinds == {int}:
        schema = {"type": "integer"}
    elif kinds == {int, str}:
        schema = {"x-kubernetes-int-or-string": True}
    else:
        raise place.error(
            f"the choices {', '.join(map(repr, values))} are not all text or whole numbers",
            "write text, or a number with bounds",
        )
    return {**schema, "enum": list(values)}


def _mapping(annotation: Any, place: Place) -> Schema:
    key, value = get_args(annotation) or (str, Any)
    if key is not str:
        raise place.error(
            f"the keys of {_name(annotation)} are not plain text",
            "write dict[str, ...]; what keys may be can be said by a Rule",
        )
    if value is Any:
        return {"type": "object", _PRESERVE: True}
    return {"type": "object", "additionalProperties": _schema(value, place.below("[*]"))}


def _list(cls: type, arguments: tuple[Any, ...], place: Place) -> Schema:
    if cls is tuple and arguments[1:] != (...,):
        raise place.error(
            "the items of a tuple have types of their own",
            "write a class with a field for each, or list[...]",
        )
    return {"type": "array", "items": _schema((arguments or (Any,))[0], place.below("[]"))}


def _class_schema(cls: Any, place: Place) -> Schema:
    if get_origin(cls) is not None or getattr(cls, "__parameters__", None):
        raise place.error(f"{_name(cls)} is generic", "write a class without type parameters")
    if issubclass(cls, Resource):
        raise place.error(
            f"{cls.__name__} is a resource inside of another",
            "write Annotated[dict[str, Any], EMBEDDED_RESOURCE], or the class of its spec",
        )
    if cls in place.classes:
        raise place.error(
            f"{cls.__name__} contains itself, and a structural schema has an end",
            "write list[Any] or dict[str, Any] where it begins again",
        )
    config = cls.__struct_config__
    for problem, present in (
        ("is written as a list", config.array_like),
        ("carries a tag that tells it from other classes", config.tag is not None),
        ("refuses unknown fields, which the server drops instead", config.forbid_unknown_fields),
    ):
        if present:
            raise place.error(
                f"{cls.__name__} {problem}", "leave that option out of the class, or use Model"
            )
    schema = _object_of_fields(cls, place.inside(cls), docs=inherited_field_docs(cls))
    return _finished(schema, cls, place)


def _finished(schema: Schema, cls: type, place: Place) -> Schema:
    """The schema of a class's fields with what the class says of itself."""
    if description := class_doc(cls):
        schema["description"] = description
    apply_markers(markers_of(cls), schema, place)
    return _described_first(schema)


def _object_of_fields(cls: type[Struct], place: Place, docs: Mapping[str, str]) -> Schema:
    hints = _annotations(cls, place)
    properties: dict[str, Schema] = {}
    required = []
    for field in fields_of(cls):
        where = place.below(f".{field.name}")
        annotation = hints[field.name]
        schema = _schema(annotation, where, none_is_absent=True)
        if field.name in docs:
            schema["description"] = docs[field.name]
        if field.required:
            _refuse_optional(annotation, where)
            required.append(field.encode_name)
        elif schema.get("format") == "byte" and field.default == b"":
            problem = (
                "the default would be sent as an empty text, which the server refuses as base64"
            )
            raise where.error(problem, "write bytes | None = None")
        elif "default" not in schema and (default := default_in_schema(field, schema)) is not None:
            schema["default"] = default
        properties[field.encode_name] = _described_first(schema)
    schema = {"type": "object"}
    if properties:
        schema["properties"] = properties
    if required:
        schema["required"] = required
    return schema


def _annotations(cls: type[Struct], place: Place) -> dict[str, Any]:
    try:
        return get_type_hints(cls, include_extras=True)
    except Exception as error:  # whatever code an annotation runs may raise
        raise place.error(
            f"the annotations of {cls.__name__} cannot be evaluated ({error})",
            "correct them; what they name must be known to the whole module",
        ) from error


def _refuse_optional(annotation: Any, place: Place) -> None:
    inner, markers = _unwrapped(annotation)
    if None in _members(inner) and Flag.NULLABLE not in markers:
        raise place.error(
            "the field must be given, but may be None, which is never sent",
            "give it the default None, or leave None out of its type",
        )


def _demands_zone(marker: Any) -> bool:
    return isinstance(marker, Meta) and marker.tz is True


def _described_first(schema: Schema) -> Schema:
    """A manifest is read from the top, where a description belongs."""
    return {key: schema[key] for key in sorted(schema, key=lambda key: key != "description")}


def _name(annotation: Any) -> str:
    return getattr(annotation, "__name__", "") if isinstance(annotation, type) else str(annotation)
