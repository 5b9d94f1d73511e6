"""YAML as the reader of Kubernetes understands it, within limits.

Promises: the values that sigs.k8s.io/yaml gives (booleans and octal numbers of YAML 1.1; no numbers
in base 60, and dates are text; the last of equal keys counts). A document is read in one pass over
the events of libyaml, and everything is counted while it is made: what aliases and merge keys
repeat counts each time. So a short document can neither take long nor fill the memory.

Differs from upstream (``go.yaml.in/yaml/v2``), which limits the ratio of aliases to values.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

import msgspec

from clientgo.util.copies import CopyableError

MOST_VALUES: Final = 100_000
"""Values and keys in a document, with repetitions: a second of work."""

MOST_CHARACTERS: Final = 3 * 1024 * 1024
"""Characters of them and of their tags, with repetitions, or as many as the document has."""

MOST_LEVELS: Final = 1000
"""Nesting: Python's own limit for what is done with the values later."""

MOST_TAG_DIRECTIVES: Final = 1000
"""Each is compared with all before it."""

_GREATEST_INTEGER: Final = 2**63 - 1
_TAG: Final = "tag:yaml.org,2002:"
_WORDS: Final[dict[str, Any]] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE"), True),
    **dict.fromkeys(("on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE"), False),
    **dict.fromkeys(("off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_MERGE: Final = "<<"
_TYPES: Final = {bool: "bool", int: "int", float: "float", type(None): "null", str: "str"}
_RESOLVED_TAGS: Final = frozenset((*_TYPES.values(), "timestamp"))
"""Tags that a scalar must fit; others say nothing."""

_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[bB]([01]+)|0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|([0-9]{1,20}))"
)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_TIME: Final = re.compile(
    r"([0-9]{4})-([0-9][0-9]?)-([0-9][0-9]?)"
    r"(?:(?:[Tt]([0-9][0-9]?):([0-9][0-9]?):([0-9][0-9]?)(?:\.[0-9]+)?(?:Z|[-+][0-9][0-9]:[0-9][0-9]))"
    r"|(?: ([0-9][0-9]?):([0-9][0-9]?):([0-9][0-9]?)(?:\.[0-9]+)?))?"
)


class YamlError(CopyableError, ValueError):
    """A document can't be read, or is larger than the limits."""


class _Anchored(msgspec.Struct):
    """A value with a name, and how many values and characters it has."""

    value: Any
    values: int
    characters: int


class _Level(msgspec.Struct):
    """A mapping or sequence that is being read."""

    value: Any
    anchor: str | None
    values: int
    """How many values and characters there were before it."""
    characters: int
    key: Any = None
    has_key: bool = False
    merges: bool = False
    """The key is a merge key."""
    set_keys: set[str] = msgspec.field(default_factory=set)
    """The keys that the mapping has by itself, not by a merge."""


def read_yaml(body: bytes) -> tuple[Any, tuple[str, ...]]:
    """Return the value of the first document, as in JSON, and where it sets a key twice.

    The value is None if there is no document.

    Raises:
        YamlError: it is no YAML, has no form in JSON, or is too large.
    """
    return next(_documents(body), (None, ()))


def read_yaml_documents(body: bytes) -> list[Any]:
    """Return the values of all documents of a file, without empty ones.

    Raises:
        YamlError: one of them is no YAML, has no form in JSON, or is too large.
    """
    return [value for value, _ in _documents(body) if value is not None]


def is_plain_text(text: str) -> bool:
    """Return True if a text that stands without quotes is read as that text."""
    return bool(text) and _resolve(text) is text and text != _MERGE


def _documents(body: bytes) -> Iterator[tuple[Any, tuple[str, ...]]]:
    import yaml  # slow to import, and rarely needed

    if body.replace(b"\0", b"").count(b"%TAG") > MOST_TAG_DIRECTIVES:  # also in UTF-16
        raise YamlError("yaml: document contains too many tag directives")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        events = yaml.parse(body, Loader=loader)
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                reader = _Reader(most_characters=max(MOST_CHARACTERS, len(body)))
                yield reader.read(events), tuple(reader.duplicates)
    except yaml.MarkedYAMLError as error:
        raise YamlError(f"yaml: {_where(error)}{error.problem}") from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f"yaml: {error}") from error


def _where(error: Any) -> str:
    """Return the line of an error, which counts as upstream does."""
    import yaml

    line = error.problem_mark.line if error.problem_mark else 0
    if line:
        line += isinstance(error, yaml.scanner.ScannerError)
    elif error.context_mark:
        line = error.context_mark.line
    return f"line {line}: " if line else ""


class _Reader(msgspec.Struct):
    """Makes the values of a document from its events."""

    levels: list[_Level] = msgspec.field(default_factory=list)
    anchors: dict[str, _Anchored | None] = msgspec.field(default_factory=dict)
    """By name; None while the value is being read."""
    values: int = 0
    characters: int = 0
    most_characters: int = MOST_CHARACTERS
    duplicates: list[str] = msgspec.field(default_factory=list)

    def read(self, events: Iterator[Any]) -> Any:
        import yaml

        for event in events:
            match event:
                case yaml.ScalarEvent():
                    self._count(1, len(event.value) + len(event.tag or ""))
                    value = _scalar(event)
                    self._name(event.anchor, value, 1, len(event.value))
                    merges = event.value == _MERGE and (
                        event.implicit[0] or event.tag == f"{_TAG}merge"
                    )
                case yaml.AliasEvent():
                    value, merges = self._repeat(event.anchor), False
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    is_mapping = isinstance(event, yaml.MappingStartEvent)
                    self._count(0, len(event.tag or ""))
                    self._begin({} if is_mapping else [], event.anchor)
                    continue
                case yaml.CollectionEndEvent():
                    value, merges = self._end(), False
                case yaml.DocumentEndEvent():
                    break
                case _:
                    continue
            if not self.levels:
                return value
            self._add(value, event.start_mark.line + 1, merges=merges)
        return None

    def _count(self, values: int, characters: int) -> None:
        self.values += values
        self.characters += characters
        if self.values > MOST_VALUES:
            raise YamlError(
                f"yaml: document contains more than {MOST_VALUES} values, or excessive aliasing; "
                "write it as JSON"
            )
        if self.characters > self.most_characters:
            raise YamlError("yaml: document contains excessive aliasing")

    def _name(self, anchor: str | None, value: Any, values: int, characters: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = _Anchored(value, values, characters)

    def _repeat(self, anchor: str | None) -> Any:
        if anchor is None or anchor not in self.anchors:
            raise YamlError(f"yaml: unknown anchor '{anchor}' referenced")
        found = self.anchors[anchor]
        if found is None:
            raise YamlError(f"yaml: anchor '{anchor}' value contains itself")
        self._count(found.values, found.characters)
        return msgspec.to_builtins(found.value)  # a copy: what a reader changes is not shared

    def _begin(self, value: Any, anchor: str | None) -> None:
        if len(self.levels) >= MOST_LEVELS:
            raise YamlError("yaml: document is nested too deep")
        if anchor is not None:
            self.anchors[anchor] = None
        self.levels.append(_Level(value, anchor, self.values, self.characters))
        self._count(1, 0)

    def _end(self) -> Any:
        level = self.levels.pop()
        self._name(
            level.anchor,
            level.value,
            self.values - level.values,
            self.characters - level.characters,
        )
        return level.value

    def _add(self, value: Any, line: int, *, merges: bool) -> None:
        level = self.levels[-1]
        if isinstance(level.value, list):
            level.value.append(value)
        elif not level.has_key:
            level.key = _MERGE if merges else _key(value)
            level.has_key, level.merges = True, merges
            if level.key in level.set_keys:
                self.duplicates.append(f'line {line}: key "{level.key}" already set in map')
            level.set_keys.add(level.key)
        else:
            level.has_key = False
            if level.merges:
                self._merge(level.value, value)
            else:
                level.value[level.key] = value

    def _merge(self, target: dict[str, Any], value: Any) -> None:
        sources = value if isinstance(value, list) else [value]
        for source in reversed(sources):  # the first one has precedence
            if not isinstance(source, dict):
                raise YamlError("yaml: map merge requires map or sequence of maps as the value")
            target.update(source)


def _key(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return f"{value:g}"
    raise YamlError(f"yaml: invalid map key: {str(value)[:30]}")


def _scalar(event: Any) -> Any:
    """Return the value of a scalar by its tag and its form."""
    text: str = event.value
    tag = event.tag
    if tag is None:
        return _in_json(_resolve(text)) if event.implicit[0] else text
    kind = tag.removeprefix(_TAG)
    if kind == "binary":
        return _decode_binary(text)
    if kind == "str" or kind not in _RESOLVED_TAGS:
        return text
    if kind == "timestamp" and _is_time(text):
        return text
    value = _resolve(text)
    found = _TYPES[type(value)]
    if kind == "float" and found == "int":
        value, found = float(value), "float"
    if found != kind:
        raise YamlError(f"yaml: cannot decode !!{found} `{text[:30]}` as a !!{kind}")
    return _in_json(value)


def _resolve(text: str) -> Any:
    """Return the value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    if (found := _INTEGER.fullmatch(plain)) and (number := _integer(found)) is not None:
        return number
    if _FLOAT.fullmatch(plain) and math.isfinite(float(plain)):
        return float(plain)
    return text


def _integer(found: re.Match[str]) -> int | None:
    """Return an integer that 64 bits hold, or None."""
    sign, *digits = found.groups()
    for text, radix in zip(digits, (2, 16, 8, 10), strict=True):
        if text is not None:
            number = int(text, radix)
            negative = sign == "-"
            if number > (2**63 if negative else 2**63 - 1 if sign else 2**64 - 1):
                return None
            return -number if negative else number
    return None


def _in_json(value: Any) -> Any:
    """Return a value as it is after the way through JSON."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise YamlError(f"json: unsupported value: {value}")
        whole = value.is_integer() and -(2**63) <= value <= _GREATEST_INTEGER
        return int(Decimal(repr(value))) if whole else value  # with the digits that Go writes
    if isinstance(value, int) and value > _GREATEST_INTEGER:
        return float(value)
    return value


def _decode_binary(text: str) -> str:
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError) as error:
        raise YamlError("yaml: !!binary value contains invalid base64 data") from error


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    year, month, day, *clock = (int(part) for part in found.groups() if part is not None)
    hour, minute, second = clock or (0, 0, 0)
    try:
        datetime.datetime(year, month, day, hour, minute, second)
    except ValueError:
        return False
    return True
