"""What reviewers of an API would say of a project's types, found before they are published.

Promises to judge by the API conventions only what may be changed: the project's own classes. What
is taken from the library (a pod template, say) is as Kubernetes has it.

Does not promise that a type without findings is a good one, and refuses nothing: what no schema
can say is a :class:`~clientgo.codegen.schemas.type_place.TypeSchemaError` of the generator.

Source: the Kubernetes API conventions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, get_args, get_origin, get_type_hints

from msgspec import Struct
from msgspec.structs import fields

from clientgo.codegen.schemas.field_docs import field_docs, inherited_field_docs
from clientgo.meta import Resource
from clientgo.meta.markers import ListMap

_CAMEL_CASE: Final = re.compile(r"[a-z][a-zA-Z0-9]*")
_LIBRARY: Final = "clientgo."


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to think about: where, and what to do instead."""

    field: str
    problem: str
    advice: str

    def __str__(self) -> str:
        return f"{self.field}: {self.problem}; {self.advice}"


def findings(cls: type[Resource]) -> list[Finding]:
    """What the conventions say against a declared class."""
    return [
        *_in_status(cls),
        *_in_class(cls.__body__, cls.__name__, docs=field_docs(cls), seen=()),
    ]


def _in_status(cls: type[Resource]) -> Iterator[Finding]:
    if any(field.name == "status" and field.required for field in fields(cls.__body__)):
        yield Finding(
            f"{cls.__name__}.status",
            "the status must be given, but users create objects without one",
            "give it a default: status: FooStatus = FooStatus()",
        )


def _in_class(
    cls: type[Struct], place: str, *, docs: Mapping[str, str], seen: tuple[type, ...]
) -> Iterator[Finding]:
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):
        where = f"{place}.{field.name}"
        if not _CAMEL_CASE.fullmatch(field.encode_name):
            yield Finding(
                where,
                f"its name on the wire, {field.encode_name!r}, is not camelCase",
                "derive the class from Model, or rename the field",
            )
        yield from _in_field(hints[field.name], where, field.name in docs)
        for inner in _classes_in(hints[field.name]):
            if not inner.__module__.startswith(_LIBRARY) and inner not in seen:
                docs_inside = inherited_field_docs(inner)
                yield from _in_class(inner, where, docs=docs_inside, seen=(*seen, inner))


def _in_field(annotation: Any, where: str, is_explained: bool) -> Iterator[Finding]:
    leaves = list(_leaves(annotation))
    if float in leaves:
        yield Finding(
            where,
            "a float is rounded differently by every language that reads it",
            "write an int of a smaller unit, or a Quantity",
        )
    if bool in leaves and not is_explained:
        yield Finding(
            where,
            "a bool grows a third state sooner or later, and nothing says what its two mean",
            "explain it in a text below the field, or write a Literal of named choices",
        )
    if where.endswith(".status.conditions") and ListMap("type") not in _markers(annotation):
        yield Finding(
            where,
            "server-side apply replaces these conditions as a whole",
            'write Annotated[list[Condition], ListMap("type")]',
        )


def _markers(annotation: Any) -> tuple[Any, ...]:
    return annotation.__metadata__ if get_origin(annotation) is Annotated else ()


def _leaves(annotation: Any) -> Iterator[Any]:
    """The types that an annotation is made of, without containers and markers."""
    if get_origin(annotation) is Annotated:
        yield from _leaves(annotation.__origin__)
    elif arguments := get_args(annotation):
        for argument in arguments:
            yield from _leaves(argument)
    else:
        yield annotation


def _classes_in(annotation: Any) -> Iterator[type[Struct]]:
    for leaf in _leaves(annotation):
        if isinstance(leaf, type) and issubclass(leaf, Struct):
            yield leaf
