"""Annotations: how the type of a value is written, with the constraints that its schema names.

Promises that what msgspec decodes into the type is at least what the schema allows: a constraint
that Python would read differently (a pattern in a syntax of its own, a bound beyond 64 bits) is
written down for the schema only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import Struct

from clientgo.codegen.schemas.marker_keywords import QUANTITY
from clientgo.meta.decoding import convert
from clientgo.meta.markers import ListType, MapType, Rule

INT_OR_STRING: Final = "x-kubernetes-int-or-string"

_SCALARS: Final = {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}
_FORMATS: Final = {
    ("string", "date-time"): "Time",
    ("string", "byte"): "bytes",
    ("integer", "int32"): "Int32",
    ("integer", "int64"): "int",
    ("number", "double"): "float",
}
_LITERALS: Final[Mapping[str, tuple[type, ...]]] = {
    "bool": (bool,),
    "int": (int,),
    "Int32": (int,),
    "float": (int, float),
    "str": (str,),
    "Time": (str,),
    "Quantity": (int, str),
    "int | str": (int, str),
}
_LENGTHS: Final = {"string": "Length", "array": "Items", "object": "Properties"}
_SAME_IN_PYTHON: Final = re.compile(
    r"""(?: [^\\\[({*+?]                                    # a character, or one of . ^ $ | )
          | \\(?:[Adfnrstvw]|[^\w\s])
          | \[ (?!\^[^\]]*\\[dsw]) \^? (?:\\(?:[dfnrstvw]|[^\w\s])|[^\\\[\]&~|^])+ \]
          | \( (?:(?!\?)|\?:|\?P<\w+>|\?[ims]+(?:-[ims]+)?:)
          | (?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??(?![*+?{])
        )*""",
    re.VERBOSE | re.ASCII,
)
"""Patterns that Python reads as Go does, or more widely. Its digits, spaces and letters are all of
Unicode's, so that a class which leaves these out is narrower, and not here."""
_OF_DOCUMENTS: Final = (
    "x-kubernetes-group-version-kind",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
)
"""What OpenAPI documents say beside the schema, and definitions do not."""
_FLAGS: Final = {
    "nullable": "NULLABLE",
    "x-kubernetes-preserve-unknown-fields": "PRESERVE_UNKNOWN_FIELDS",
    "x-kubernetes-embedded-resource": "EMBEDDED_RESOURCE",
}


@dataclass(frozen=True, slots=True)
class Annotation:
    """A type as it is written. ``constraint`` is a ``Meta``, which has to stand inside of
    ``| None``; ``markers`` may stand outside. If there are ``choices``, it is one of them."""

    inner: str
    constraint: str = ""
    markers: tuple[str, ...] = ()
    optional: bool = False
    is_class: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def text(self) -> str:
        constraints = [self.constraint] if self.constraint else []
        if not self.optional:
            return _annotated(self.inner, *constraints, *self.markers)
        return _annotated(f"{_annotated(self.inner, *constraints)} | None", *self.markers)

    def can_be(self, value: Any) -> bool:
        """Whether a literal of this value is of the type."""
        return value in self.choices or type(value) in _LITERALS.get(self.inner, ())


def scalar(schema: dict[str, Any]) -> Annotation:
    """The type of a value that is no object or list; takes what it says out of the schema.

    Raises ``ValueError`` for a type that JSON does not have.
    """
    if schema.pop(INT_OR_STRING, False):
        return _int_or_string(schema)
    kind = schema.pop("type")
    if kind not in _SCALARS:
        raise ValueError(f"a schema of type {kind!r} is not understood")
    if choices := _literal(schema, (int,) if kind == "integer" else (str,)):
        return choices
    name = _FORMATS.get((kind, schema.get("format", "")))
    if name is not None:
        del schema["format"]
    inner = name or _SCALARS[kind]
    constraint = "" if inner == "bytes" else taken_constraint(schema, kind)
    return Annotation(inner, constraint)


def taken_constraint(schema: dict[str, Any], kind: str) -> str:
    """The ``Meta`` for what the schema says of numbers, text or lists; empty if nothing."""
    arguments: list[str] = []
    if kind in ("integer", "number"):
        arguments += _taken_bounds(schema, kind)
    elif kind in _LENGTHS:
        arguments += _taken_lengths(schema, kind)
    pattern = schema.get("pattern")
    if kind == "string" and pattern and _means_the_same(pattern):
        del schema["pattern"]
        arguments.append(f"pattern={pattern!r}")
    return f"Meta({', '.join(arguments)})" if arguments else ""


def taken_markers(schema: dict[str, Any]) -> tuple[str, ...]:
    """The markers for all that is left of a schema; what has no marker is kept as it is."""
    for keyword in _OF_DOCUMENTS:
        schema.pop(keyword, None)
    markers = [
        constructed(convert(rule, Rule)) for rule in schema.pop("x-kubernetes-validations", ())
    ]
    list_type = schema.pop("x-kubernetes-list-type", None)
    if list_type == "map":
        keys = schema.pop("x-kubernetes-list-map-keys", ())
        markers.append(f"ListMap({', '.join(map(repr, keys))})")
    elif list_type is not None:
        markers.append(str(ListType(list_type)))
    if (map_type := schema.pop("x-kubernetes-map-type", None)) is not None:
        markers.append(str(MapType(map_type)))
    if (format_ := schema.pop("format", None)) is not None:
        markers.append(f"Format({format_!r})")
    markers += [name for keyword, name in _FLAGS.items() if schema.pop(keyword, False)]
    if schema:
        markers.append(f"Meta(extra_json_schema={schema!r})")
    return tuple(markers)


def constructed(value: Any) -> str:
    """The call that makes a Struct, or a tuple of them, without what is so by default."""
    if isinstance(value, tuple):
        return f"({''.join(f'{constructed(item)}, ' for item in value)})"
    if not isinstance(value, Struct):
        return repr(value)
    said = [
        f"{field.name}={constructed(given)}"
        for field in msgspec.structs.fields(value)
        if (given := getattr(value, field.name)) != field.default and given != {}
    ]
    return f"{type(value).__name__}({', '.join(said)})"


def _annotated(inner: str, *metadata: str) -> str:
    return f"Annotated[{', '.join((inner, *metadata))}]" if metadata else inner


def _int_or_string(schema: dict[str, Any]) -> Annotation:
    if schema.get("anyOf") == [{"type": "integer"}, {"type": "string"}]:
        del schema["anyOf"]  # the other way to say the same
    if schema.get("pattern") == QUANTITY["pattern"]:
        del schema["pattern"]
        return Annotation("Quantity")
    if choices := _literal(schema, (int, str)):
        return choices
    members = [
        Annotation(_SCALARS[kind], taken_constraint(schema, kind)) for kind in ("integer", "string")
    ]
    return Annotation(" | ".join(member.text for member in members))


def _literal(schema: dict[str, Any], kinds: tuple[type, ...]) -> Annotation | None:
    """The choices, if all are of these types; they leave nothing else to be said."""
    choices = [choice for choice in schema.get("enum", ()) if choice is not None]
    if not choices or any(type(choice) not in kinds for choice in choices):
        return None
    del schema["enum"]
    return Annotation(f"Literal[{', '.join(map(repr, choices))}]", choices=tuple(choices))


def _taken_bounds(schema: dict[str, Any], kind: str) -> Iterator[str]:
    for keyword, exclusive, inclusive_name, exclusive_name in (
        ("minimum", "exclusiveMinimum", "ge", "gt"),
        ("maximum", "exclusiveMaximum", "le", "lt"),
    ):
        bound = schema.get(keyword)
        if bound is not None and _can_bound(bound, kind):
            del schema[keyword]
            name = exclusive_name if schema.pop(exclusive, False) else inclusive_name
            yield f"{name}={bound!r}"
    factor = schema.get("multipleOf")
    if kind == "integer" and isinstance(factor, int) and _can_bound(factor, kind) and factor > 0:
        del schema["multipleOf"]
        yield f"multiple_of={factor!r}"


def _can_bound(bound: float, kind: str) -> bool:
    return kind == "number" or (isinstance(bound, int) and -(2**63) < bound < 2**63 - 1)


def _taken_lengths(schema: dict[str, Any], kind: str) -> Iterator[str]:
    for end in ("min", "max"):
        length = schema.get(end + _LENGTHS[kind])
        if length is not None and 0 <= length < 2**31:
            del schema[end + _LENGTHS[kind]]
            yield f"{end}_length={length!r}"


def _means_the_same(pattern: str) -> bool:
    """Return True if Python's ``re`` matches at least what Go does."""
    if _SAME_IN_PYTHON.fullmatch(pattern) is None:
        return False
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    return True
