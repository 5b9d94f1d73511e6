"""Split CEL source text into tokens.

Promises: `tokenize` returns every token with its value and offset. The last one is `END`.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any

from clientgo.testcluster.cel.errors import CelCompileError
from clientgo.testcluster.cel.values import INT_RANGE, UINT_RANGE, Uint

_TOKEN = re.compile(
    r"""
    (?P<space>\s+|//[^\n]*)
  | (?P<string>(?P<prefix>[rRbB]|[bB][rR])?
      (?P<quote>\"\"\"|'''|"|') )
  | (?P<float>(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?))
  | (?P<uint>(?:0x[0-9a-fA-F]+|\d+)[uU])
  | (?P<int>0x[0-9a-fA-F]+|\d+)
  | (?P<name>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<quoted_name>`[A-Za-z0-9_.\-/ ]+`)
  | (?P<symbol>&&|\|\||[<>=!]=|[-+*/%!<>?:.,()\[\]{}])
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{2})|X([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"
    r"|([0-3][0-7]{2})|([abfnrtv\\?\"'`]))|\\"
)
_TOO_LARGE = UINT_RANGE.stop
_SIMPLE_ESCAPES = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}


class TokenKind(enum.Enum):
    """The kinds of tokens."""

    NAME = enum.auto()
    QUOTED_NAME = enum.auto()
    SYMBOL = enum.auto()
    INT = enum.auto()
    UINT = enum.auto()
    FLOAT = enum.auto()
    STRING = enum.auto()
    BYTES = enum.auto()
    END = enum.auto()


@dataclass(frozen=True, slots=True)
class Token:
    """A token. The value of a name or symbol is its text."""

    kind: TokenKind
    value: Any
    offset: int
    text: str


def tokenize(source: str) -> list[Token]:
    """Return the tokens of `source`.

    Raises:
        CelCompileError: a character or literal is not CEL.
    """
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        match = _TOKEN.match(source, position)
        if match is None:
            problem = f"Syntax error: token recognition error at: '{source[position]}'"
            raise CelCompileError(problem, source, position)
        end = match.end()
        if match["string"]:
            end = _string_end(source, match["quote"], end, position)
            tokens.append(_string_token(source, match, end))
        elif not match["space"]:
            tokens.append(_token(source, match))
        position = end
    tokens.append(Token(TokenKind.END, None, len(source), "<EOF>"))
    return tokens


def _token(source: str, match: re.Match[str]) -> Token:
    text, offset = match[0], match.start()
    if match["name"]:
        return Token(TokenKind.NAME, text, offset, text)
    if match["quoted_name"]:
        return Token(TokenKind.QUOTED_NAME, text[1:-1], offset, text)
    if match["symbol"]:
        return Token(TokenKind.SYMBOL, text, offset, text)
    if match["float"]:
        return Token(TokenKind.FLOAT, float(text), offset, text)
    if match["uint"]:
        unsigned = _integer(text[:-1])
        if unsigned not in UINT_RANGE:
            raise CelCompileError(f"invalid uint literal: {text}", source, offset)
        return Token(TokenKind.UINT, Uint(unsigned), offset, text)
    value = _integer(text)
    if value > -INT_RANGE.start:  # the parser checks the sign of the last one
        raise CelCompileError(f"invalid int literal: {text}", source, offset)
    return Token(TokenKind.INT, value, offset, text)


def _integer(text: str) -> int:
    """Return the value of a literal; a value beyond 64 bits for one that is too long."""
    digits = text.removeprefix("0x").lstrip("0") or "0"
    return int(digits, 16 if text.startswith("0x") else 10) if len(digits) <= 20 else _TOO_LARGE


def _string_end(source: str, quote: str, start: int, offset: int) -> int:
    position = start
    raw = "r" in source[offset:start].lower()
    while position < len(source):
        if source.startswith(quote, position):
            return position + len(quote)
        if source[position] == "\n" and len(quote) == 1:
            break
        position += 2 if source[position] == "\\" and not raw else 1
    problem = f"Syntax error: token recognition error at: '{source[offset:]}'"
    raise CelCompileError(problem, source, offset)


def _string_token(source: str, match: re.Match[str], end: int) -> Token:
    prefix, quote = (match["prefix"] or "").lower(), match["quote"]
    body = source[match.end() : end - len(quote)].replace("\r\n", "\n")
    text = source[match.start() : end]
    if "b" in prefix:
        data = body.encode() if "r" in prefix else _unescape_bytes(body, source, match.start())
        return Token(TokenKind.BYTES, data, match.start(), text)
    value = body if "r" in prefix else _unescape(body, source, match.start())
    return Token(TokenKind.STRING, value, match.start(), text)


def _escaped_code(match: re.Match[str], source: str, offset: int) -> int | str:
    """Return the code point of a numeric escape, or the character of a simple one."""
    hexadecimal = match[1] or match[2] or match[3] or match[4]
    if hexadecimal:
        code = int(hexadecimal, 16)
        if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
            raise CelCompileError(f"invalid escape {match[0]}", source, offset)
        return code
    if match[5]:
        return int(match[5], 8)
    if match[6]:
        return _SIMPLE_ESCAPES.get(match[6], match[6])
    raise CelCompileError("unable to unescape string", source, offset)


def _unescape(body: str, source: str, offset: int) -> str:
    def replace(match: re.Match[str]) -> str:
        escaped = _escaped_code(match, source, offset)
        return escaped if isinstance(escaped, str) else chr(escaped)

    return _ESCAPE.sub(replace, body)


def _unescape_bytes(body: str, source: str, offset: int) -> bytes:
    parts: list[bytes] = []
    position = 0
    for match in _ESCAPE.finditer(body):
        parts.append(body[position : match.start()].encode())
        escaped = _escaped_code(match, source, offset)
        if isinstance(escaped, str):
            parts.append(escaped.encode())
        elif match[3] or match[4]:
            parts.append(chr(escaped).encode())
        else:
            parts.append(bytes([escaped]))
        position = match.end()
    return b"".join([*parts, body[position:].encode()])
