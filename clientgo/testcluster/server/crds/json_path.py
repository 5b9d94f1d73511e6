"""Kubernetes' JSONPath, as printer columns and selectable fields use it.

Promises: fields, escaped dots, quoted keys, indexes, slices, wildcards, recursive descent, unions
and filters, read and evaluated as the API server does. A missing key selects nothing.

Does not promise: ``range`` loops and text around the path; definitions have no use for them.

Upstream: client-go ``util/jsonpath``, with missing keys allowed.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

from clientgo.util.text import go_format

_Step = Callable[[list[Any]], list[Any]]

_SLICE = re.compile(r"(-?\d*)(:-?\d*)?(:-?\d*)?", re.ASCII)
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[\d.]*", re.ASCII)
_FIELD_NAME = re.compile(r"(?:\\.|[^ \t\r\n.,\[\]$@{}\\])*", re.DOTALL)
_WORD = re.compile(r"[^ \t\r\n.,\[\]$@{}]*")
_QUOTED_KEY = re.compile(r"'([^']*)'")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"'}

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


class JsonPathError(ValueError):
    """A path is malformed, or does not fit the document."""


class JsonPath:
    """A parsed path. Immutable and safe for any number of threads."""

    def __init__(self, text: str) -> None:
        """Parse a path without surrounding braces.

        Raises:
            JsonPathError: it is malformed.
        """
        self._steps = _Parser(text).steps()

    def find(self, document: Any) -> list[Any]:
        """Return every value that the path selects.

        Raises:
            JsonPathError: an index is out of bounds, or a step needs another type of value.
        """
        return _walk(self._steps, [document])


def as_text(value: Any) -> str:
    """Return a value that a path has found as the server prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return go_format.compact_json(value)
    return value if isinstance(value, str) else go_format.number(value)


def _walk(steps: list[_Step], values: list[Any]) -> list[Any]:
    for step in steps:
        values = step(values)
    return values


# -- parsing


class _Parser:
    """Reads one path; used once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def steps(self) -> list[_Step]:
        found: list[_Step] = []
        while self._position < len(self._text):
            found += self._step(found)
        return found

    def _step(self, before: list[_Step]) -> list[_Step]:
        rest = self._text[self._position :]
        char = rest[0]
        if rest.startswith("[?("):
            return [self._filter()]
        if rest.startswith(".."):
            if before and before[-1] is _descendants:
                raise self._error("invalid multiple recursive descent")
            self._position += 2
            following = self._text[self._position : self._position + 1]
            name = [self._field()] if following.isalnum() or following == "_" else []
            return [_descendants, *name]
        self._position += 1
        if char in " @$":
            return []
        if char == ".":
            return [self._field()]
        if char == "[":
            return self._brackets()
        if char in "\"'":
            return [_constant_once(self._quoted(char))]
        self._position -= 1
        if char in "+-" or char.isdigit():
            return [_constant(self._number())]
        if char.isalnum() or char == "_":
            return [self._word()]
        raise self._error(f"unrecognized character {char!r}")

    def _take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self._text, self._position)
        if match is None:
            raise self._error("invalid syntax")
        self._position = match.end()
        return match[0]

    def _field(self) -> _Step:
        name = self._take(_FIELD_NAME)
        return _members if name == "*" else _field(name.replace("\\", ""))

    def _number(self) -> float:
        text = self._take(_NUMBER)
        try:
            return float(text) if "." in text else int(text)
        except ValueError:
            raise self._error(f"cannot parse number {text}") from None

    def _word(self) -> _Step:
        word = self._take(_WORD)
        if word in ("true", "false"):
            return _constant(word == "true")
        return _refuse(f"unrecognized identifier {word}")

    def _quoted(self, quote: str) -> str:
        start = self._position
        while True:
            end = self._text.find(quote, self._position)
            if end < 0 or "\n" in self._text[start:end]:
                raise self._error("unterminated quoted string")
            self._position = end + 1
            if self._text[end - 1] != "\\":
                return self._unescape(self._text[start:end])

    def _unescape(self, text: str) -> str:
        try:
            return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], text)
        except KeyError as error:
            raise self._error("invalid escape") from error

    def _brackets(self) -> list[_Step]:
        end = self._text.find("]", self._position)
        if end < 0 or "\n" in self._text[self._position : end]:
            raise self._error("unterminated array")
        inner = self._text[self._position : end]
        self._position = end + 1
        if "," in inner:
            parts = [_Parser(f"[{part.strip(' ')}]").steps() for part in inner.split(",")]
            return [lambda values: [item for part in parts for item in _walk(part, values)]]
        if (key := _QUOTED_KEY.fullmatch(inner)) is not None:
            return _Parser(f".{key[1]}").steps()
        return [self._slice(":" if inner == "*" else inner)]

    def _slice(self, text: str) -> _Step:
        match = _SLICE.fullmatch(text)
        if match is None:
            raise self._error(f"invalid array index {text}")
        try:
            start = int(match[1]) if match[1] else None
            end, step = (
                int(part[1:]) if part and part != ":" else None for part in match.groups()[1:]
            )
        except ValueError as error:
            raise self._error(f"invalid array index {text}") from error
        return _item(start or 0) if match[2] is None else _slice(start or 0, end, step)

    def _filter(self) -> _Step:
        start = self._position + len("[?(")
        end = self._end_of_filter(start)
        inner = self._text[start:end]
        self._position = end + len(")]")
        match = _COMPARISON.fullmatch(inner)
        if match is None:
            return _having(_Parser(inner).steps())
        left, right = _Parser(match[1]).steps(), _Parser(match[3]).steps()
        return _matching(left, match[2], right)

    def _end_of_filter(self, start: int) -> int:
        """Return the position of the parenthesis that ends a filter, outside of its quotes."""
        quote, closed = "", False
        for position in range(start, len(self._text)):
            char = self._text[position]
            if char == "\n":
                break
            if char in "\"'" and not quote:
                quote = char
            elif char == quote and self._text[position - 1] != "\\":
                closed = True
            elif char == ")" and bool(quote) == closed:
                if self._text[position + 1 : position + 2] != "]":
                    raise self._error("unclosed array expect ]")
                return position
        raise self._error("unterminated filter")

    def _error(self, problem: str) -> JsonPathError:
        return JsonPathError(f"JSONPath {self._text!r}: {problem}")


# -- evaluation


def _constant(value: Any) -> _Step:
    return lambda values: [value] * len(values)


def _constant_once(value: Any) -> _Step:
    return lambda _: [value]


def _refuse(problem: str) -> _Step:
    def step(_: list[Any]) -> list[Any]:
        raise JsonPathError(problem)

    return step


def _field(name: str) -> _Step:
    return lambda values: [
        value[name] for value in values if isinstance(value, dict) and name in value
    ]


def _members_of(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, str):
        return list(value.encode())
    return value if isinstance(value, list) else []


def _members(values: list[Any]) -> list[Any]:
    return [member for value in values for member in _members_of(value)]


def _descendants(values: list[Any]) -> list[Any]:
    """Return the values that have members, and those below them, parents first."""
    found: list[Any] = []
    rest = list(reversed(values))
    while rest:
        value = rest.pop()
        if members := _members_of(value):
            found.append(value)
            rest += reversed(members)
    return found


def _item(position: int) -> _Step:
    def read(items: list[Any]) -> list[Any]:
        if not -len(items) <= position < len(items):
            raise JsonPathError(f"array index out of bounds: {position} of {len(items)}")
        return [items[position]]

    return _of_lists(read)


def _slice(start: int, end: int | None, step: int | None) -> _Step:
    def read(items: list[Any]) -> list[Any]:
        count = len(items)
        first = start + count if start < 0 else start
        last = count if end is None else end + count if end < 0 else end
        if first == last:
            return []
        if not (0 <= first < count and 0 <= last <= count and first < last):
            raise JsonPathError(f"array index out of bounds: {start}:{end} of {count}")
        if step is not None and step <= 0:
            raise JsonPathError("step must be > 0")
        return items[first : last : step or 1]

    return _of_lists(read)


def _of_lists(read: Callable[[list[Any]], list[Any]]) -> _Step:
    """Return a step that applies to lists, skips null and refuses other values."""

    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if isinstance(value, list):
                found += read(value)
            elif value is not None:
                raise JsonPathError("the value is not a list")
        return found

    return step


def _having(path: list[_Step]) -> _Step:
    def holds(item: Any) -> bool:
        try:
            return bool(_walk(path, [item]))
        except JsonPathError:
            return False

    return _selecting(holds)


def _matching(left: list[_Step], sign: str, right: list[_Step]) -> _Step:
    def holds(item: Any) -> bool:
        lefts = _walk(left, [item])
        rights = _walk(right, [item]) if lefts else []
        if len(lefts) > 1 or len(rights) > 1:
            raise JsonPathError("can only compare one element at a time")
        return bool(rights) and _compared(lefts[0], sign, rights[0])

    return _selecting(holds)


def _selecting(holds: Callable[[Any], bool]) -> _Step:
    def step(values: list[Any]) -> list[Any]:
        found: list[Any] = []
        for value in values:
            if not isinstance(value, list):
                raise JsonPathError("the value is not a list and cannot be filtered")
            found += [item for item in value if holds(item)]
        return found

    return step


def _compared(left: Any, sign: str, right: Any) -> bool:
    """Compare two scalars of one type; booleans have no order."""
    compare = _COMPARE.get(sign)
    if compare is None:
        raise JsonPathError(f"unrecognized filter operator {sign}")
    ordered = sign not in ("==", "!=")
    kinds = (int, float, str) if ordered else (int, float, str, bool)
    if type(left) is not type(right) or type(left) not in kinds:
        raise JsonPathError("incompatible types for comparison")
    return compare(left, right)
