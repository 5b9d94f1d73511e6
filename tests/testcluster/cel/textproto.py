"""A reader of protobuf's text format, as far as the conformance tests of cel-spec use it.

A message is a dict from field names to the list of their values. Text is bytes, because the format
does not tell a string from bytes; enum values are `Name`. The key of an extension or of the content
of an ``Any`` is written in brackets, as in the file.
"""

from __future__ import annotations

import math
import re
from typing import Any

Message = dict[str, list[Any]]

_TOKEN = re.compile(
    r"""\s+|\#[^\n]*
      | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>-?(?:0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[fF]?)
      | (?P<name>-?[A-Za-z_][A-Za-z0-9_]*)
      | (?P<type>\[[A-Za-z_][\w./-]*\])
      | (?P<symbol>[{}<>\[\]:,;])""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{1,3})|(.))", re.DOTALL
)
_SIMPLE_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_CONSTANTS = {"true": True, "false": False, **_FLOATS}


class Name(str):
    """The name of an enum value."""

    __slots__ = ()


def parse(source: str) -> Message:
    """Return the message in a file. Raises ``ValueError`` if it is not in text format."""
    return _Reader(source).message("")


class _Reader:
    def __init__(self, source: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(source):
            token = _TOKEN.match(source, position)
            if token is None:
                raise ValueError(f"not in text format: {source[position : position + 30]!r}")
            if token.lastgroup is not None:
                self._tokens.append((token.lastgroup, token[0]))
            position = token.end()
        self._tokens.append(("end", ""))
        self._at = 0

    def message(self, closing: str) -> Message:
        fields: Message = {}
        while not self._accept(closing):
            kind, name = self._next()
            if kind not in ("name", "type"):
                raise ValueError(f"expected a field, found {name!r}")
            self._accept(":")
            fields.setdefault(name, []).extend(self._values())
            self._accept(",") or self._accept(";")
        return fields

    def _next(self) -> tuple[str, str]:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _accept(self, text: str) -> bool:
        kind, found = self._tokens[self._at]
        if found != text or kind == "text":
            return False
        self._at += 1
        return True

    def _values(self) -> list[Any]:
        if not self._accept("["):
            return [self._value()]
        values = []
        while not self._accept("]"):
            values.append(self._value())
            self._accept(",")
        return values

    def _value(self) -> Any:
        for opening, closing in ("{}", "<>"):
            if self._accept(opening):
                return self.message(closing)
        kind, text = self._next()
        if kind == "text":
            data = _unescape(text)
            while self._tokens[self._at][0] == "text":
                data += _unescape(self._next()[1])
            return data
        if kind == "number":
            is_float = "x" not in text and re.search(r"[.eEfF]", text) is not None
            return float(text.rstrip("fF")) if is_float else int(text, 0)
        if kind == "name":
            return _CONSTANTS[text] if text in _CONSTANTS else Name(text)
        raise ValueError(f"expected a value, found {text!r}")


def _unescape(text: str) -> bytes:
    def replace(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return bytes([int(match[1], 16)])
        if code := match[2] or match[3]:
            return chr(int(code, 16)).encode()
        if match[4]:
            return bytes([int(match[4], 8)])
        return bytes([_SIMPLE_ESCAPES.get(match[5][0], match[5][0])])

    return _ESCAPE.sub(replace, text[1:-1].encode())
