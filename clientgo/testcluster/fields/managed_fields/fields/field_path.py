"""The path of a field in an object: the steps from the root to it.

Path elements are hashable and totally ordered, equal as the API has it (80 is 80.0 but not "80",
true is not 1), and have two text forms: `.spec.ports[port=80]` for people, `k:{"port":80}` in
`fieldsV1`. Source: `PathElement` and `Path` in structured-merge-diff/fieldpath.
"""

from __future__ import annotations

import enum
import functools
import json
from typing import Any, NamedTuple, TypeAlias

from clientgo.meta.json_values import JSONObject, JSONValue, canonical_json


class ElementKind(enum.IntEnum):
    """What a path element selects by. The order is that of the API."""

    FIELD = 0
    """A member of an object, by its name."""
    KEY = 1
    """An item of a list, by the values of its key fields."""
    VALUE = 2
    """An item of a set, by its value."""
    INDEX = 3
    """An item of an atomic list, by its position; only errors name those."""

    __hash__ = int.__hash__  # the one of enums is slow, and path elements are hashed all the time


class _Scalar(NamedTuple):
    """A scalar that compares with every other scalar; numbers come first, then text, booleans.

    Lists and objects are no legal keys, but they can be written; they are told apart by their text.
    """

    rank: int
    comparable: Any

    @property
    def value(self) -> JSONValue:
        return json.loads(self.comparable) if self.rank == _COMPOUND else self.comparable


_NUMBER, _TEXT, _BOOLEAN, _COMPOUND, _NULL = range(5)
_RANKS = {int: _NUMBER, float: _NUMBER, str: _TEXT, bool: _BOOLEAN, type(None): _NULL}


class PathElement(NamedTuple):
    """One step. Made by `field_element`, `key_element`, `value_element` and `index_element`."""

    kind: ElementKind
    selector: Any

    def __str__(self) -> str:
        match self.kind:
            case ElementKind.FIELD:
                return f".{self.selector}"
            case ElementKind.KEY:
                pairs = (f"{name}={_text(scalar.value)}" for name, scalar in self.selector)
                return f"[{','.join(pairs)}]"
            case ElementKind.VALUE:
                return f"[={_text(self.selector.value)}]"
            case _:
                return f"[{self.selector}]"

    def serialize(self) -> str:
        """Return the form in which ``fieldsV1`` has the element as a member name."""
        match self.kind:
            case ElementKind.FIELD:
                return f"f:{self.selector}"
            case ElementKind.KEY:
                return f"k:{canonical_json({name: scalar.value for name, scalar in self.selector})}"
            case ElementKind.VALUE:
                return f"v:{canonical_json(self.selector.value)}"
            case _:
                return f"i:{self.selector}"


Path: TypeAlias = tuple[PathElement, ...]


@functools.lru_cache(maxsize=4096)
def field_element(name: str) -> PathElement:
    """Select a member of an object."""
    return PathElement(ElementKind.FIELD, name)


def key_element(keys: JSONObject) -> PathElement:
    """Select the item of a list whose key fields have these values."""
    pairs = [(name, _scalar(value)) for name, value in sorted(keys.items())]
    return PathElement(ElementKind.KEY, tuple(pairs))


def value_element(value: JSONValue) -> PathElement:
    """Select an item of a set."""
    return PathElement(ElementKind.VALUE, _scalar(value))


def index_element(index: int) -> PathElement:
    """Select an item of an atomic list."""
    return PathElement(ElementKind.INDEX, index)


def field_path(*names: str) -> Path:
    """Return the path of nested fields: ``field_path("metadata", "labels")``."""
    return tuple(map(field_element, names))


def format_path(path: Path) -> str:
    """Write a path for people: ``.spec.containers[name="web"].image``."""
    return "".join(map(str, path))


def parse_element(text: str) -> PathElement | None:
    """Read a member name of ``fieldsV1``; None for a kind that this version does not know.

    Raises ``ValueError`` for text that is malformed.
    """
    kind, colon, content = text[:1], text[1:2], text[2:]
    if colon != ":":
        raise ValueError(f"{text!r} is not a path element: a letter and a colon come first")
    match kind:
        case "f":
            return field_element(content)
        case "v":
            return value_element(_json_in(text, content))
        case "k":
            keys = _json_in(text, content)
            if not isinstance(keys, dict):
                raise ValueError(f"{text!r} is not a path element: keys are an object")  # noqa: TRY004
            return key_element(keys)
        case "i":
            return index_element(int(content))
    return None


def _json_in(text: str, content: str) -> JSONValue:
    try:
        return json.loads(content)
    except RecursionError as error:
        raise ValueError(f"{text[:80]!r} is nested too deeply for a path element") from error


def _scalar(value: JSONValue) -> _Scalar:
    rank = _RANKS.get(type(value))
    return _Scalar(_COMPOUND, canonical_json(value)) if rank is None else _Scalar(rank, value)


def _text(value: JSONValue) -> str:
    return json.dumps(value, ensure_ascii=False)
