"""Check the schema of another project before types are made of it.

Promises a copy in which each keyword that is there has a value of its kind, without keywords that
are null, as a server reads them; or a :class:`SchemaFormatError` that names the place. What YAML
can say and JSON cannot (dates, ``.inf``, values that hold themselves) is refused too.

Does not promise a valid schema: what keywords mean together is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from clientgo.meta.decoding import convert
from clientgo.meta.json_values import without_nulls
from clientgo.meta.markers import ListType, MapType, Rule
from clientgo.util.copies import CopyableError

MAX_DEPTH: Final = 100
"""Levels of a schema. Each is a class or a bracket, and Python takes 200 brackets."""

MAX_PARTS: Final = 70_000
"""Schemas in a schema: more do not fit into the 1.5 MiB of a definition. Aliases of YAML can stand
for any number of them."""

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "type": _TYPES,
    "x-kubernetes-list-type": (*(item.value for item in ListType), "map"),
    "x-kubernetes-map-type": tuple(item.value for item in MapType),
}
_TEXTS: Final = frozenset({"description", "title", "format", "pattern", "$ref"})
_FLAGS: Final = frozenset(
    {
        *("nullable", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"),
        *("x-kubernetes-int-or-string", "x-kubernetes-preserve-unknown-fields"),
        "x-kubernetes-embedded-resource",
    }
)
_NUMBERS: Final = frozenset({"minimum", "maximum", "multipleOf"})
_COUNTS: Final = frozenset(
    f"{end}{what}" for end in ("min", "max") for what in ("Length", "Items", "Properties")
)
_LISTS_OF_TEXTS: Final = frozenset({"required", "x-kubernetes-list-map-keys"})
_SCHEMAS: Final = frozenset({"properties", "patternProperties", "definitions"})
_LISTS_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf"})


class SchemaFormatError(CopyableError, ValueError):
    """A schema has a part that no schema can have; the message begins with its path."""


def checked_schema(schema: Any, path: str) -> dict[str, Any]:
    """Return a copy of a schema, which is at ``path``. Raises :class:`SchemaFormatError`."""
    return _Checker().schema(schema, path, 0)


class _Checker:
    def __init__(self) -> None:
        self._parts = 0

    def schema(self, schema: Any, path: str, depth: int) -> dict[str, Any]:
        self._enter(path, depth)
        if not isinstance(schema, Mapping):
            raise _wrong(path, "a schema", schema)
        checked = {}
        for keyword, value in schema.items():
            if not isinstance(keyword, str):
                raise _wrong(path, "a keyword", keyword)
            if value is not None:
                checked[keyword] = self._keyword(keyword, value, path, depth)
        return checked

    def _keyword(self, keyword: str, value: Any, path: str, depth: int) -> Any:
        where = f"{path}: {printable(keyword)}"
        if keyword in _SCHEMAS:
            return {
                name: self.schema(member, f"{path}.{printable(name)}", depth + 1)
                for name, member in self._mapping(value, where).items()
            }
        if keyword in _LISTS_OF_SCHEMAS:
            members = enumerate(_list(value, where))
            return [self.schema(item, f"{path}.{keyword}[{i}]", depth + 1) for i, item in members]
        if keyword == "items":
            return self.schema(value, f"{path}[]", depth + 1)
        if keyword == "not":
            return self.schema(value, f"{path}.not", depth + 1)
        if keyword == "additionalProperties" and not isinstance(value, bool):
            return self.schema(value, f"{path}.*", depth + 1)
        self.json(value, where, depth)
        if keyword == "x-kubernetes-validations":
            value = without_nulls(value)
        _check_plain(keyword, value, where)
        return value

    def json(self, value: Any, where: str, depth: int) -> None:
        """Check a value of any kind, as a default."""
        if isinstance(value, Mapping | list):
            self._enter(where, depth)
        if isinstance(value, Mapping):
            for name, member in self._mapping(value, where).items():
                self.json(member, f"{where}.{printable(name)}", depth + 1)
        elif isinstance(value, list):
            for index, item in enumerate(value):
                self.json(item, f"{where}[{index}]", depth + 1)
        elif isinstance(value, str):
            _check_text(value, where)
        elif isinstance(value, float) and not math.isfinite(value):
            raise SchemaFormatError(f"{where} is {value}, which JSON does not have")
        elif value is not None and not isinstance(value, bool | int | float):
            raise SchemaFormatError(
                f"{where} is a {type(value).__name__}, which JSON does not have; put it in quotes"
            )

    def _mapping(self, value: Any, where: str) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            raise _wrong(where, "a mapping", value)
        for name in value:
            if not isinstance(name, str):
                raise SchemaFormatError(
                    f"{where} has the key {name!r}, which is no text; put it in quotes"
                )
            _check_text(name, where)
        return value

    def _enter(self, path: str, depth: int) -> None:
        self._parts += 1
        if depth > MAX_DEPTH:
            raise SchemaFormatError(
                f"{path:.120}… is more than {MAX_DEPTH} levels deep, or holds itself"
            )
        if self._parts > MAX_PARTS:
            raise SchemaFormatError(
                f"{path:.120} is one of more than {MAX_PARTS} parts, which no definition holds; "
                "does it repeat aliases?"
            )


def _check_plain(keyword: str, value: Any, where: str) -> None:
    """Check a keyword whose value holds no schema."""
    if keyword in _CHOICES:
        if value not in _CHOICES[keyword]:
            raise _wrong(where, f"one of {', '.join(_CHOICES[keyword])}", value)
    elif keyword in _TEXTS:
        if not isinstance(value, str):
            raise _wrong(where, "a text", value)
    elif keyword in _FLAGS:
        if not isinstance(value, bool):
            raise _wrong(where, "true or false", value)
    elif keyword in _NUMBERS:
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise _wrong(where, "a number", value)
    elif keyword in _COUNTS:
        if not isinstance(value, int) or isinstance(value, bool):
            raise _wrong(where, "a whole number", value)
    elif keyword in _LISTS_OF_TEXTS:
        if not all(isinstance(item, str) for item in _list(value, where)):
            raise _wrong(where, "a list of texts", value)
    elif keyword == "enum":
        _list(value, where)
    elif keyword == "x-kubernetes-validations":
        for index, rule in enumerate(_list(value, where)):
            try:
                convert(rule, Rule)
            except msgspec.ValidationError as error:
                raise SchemaFormatError(f"{where}[{index}] is no rule: {error}") from error


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "a list", value)
    return value


def _check_text(text: str, where: str) -> None:
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        raise SchemaFormatError(f"{where} is no Unicode text: {text!r:.60} has half of a character")


def _wrong(where: str, expected: str, value: Any) -> SchemaFormatError:
    return SchemaFormatError(f"{where} must be {expected}, not {shown(value)}")


def printable(name: str) -> str:
    """A name in a message, which stays one line."""
    return name if name.isprintable() else repr(name)[1:-1]


def shown(value: Any) -> str:
    """A value in a message. Never a whole one that may be large, or hold itself."""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, list) and any(isinstance(item, Mapping | list) for item in value):
        return "a list"
    return f"{value!r:.60}"
