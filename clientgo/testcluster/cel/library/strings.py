"""Functions on text: CEL's, Kubernetes' `find`, and version 2 of cel-go's strings library."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.library.formatting import format_text
from clientgo.testcluster.cel.types import BOOL, BYTES, DYN, INT, STRING, list_of
from clientgo.util.text import go_format
from clientgo.util.text.go_regexp import GoRegexp, GoRegexpError, compile_go_regexp

_SPACES = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""Go's spaces, which are fewer than Python's."""
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}
_ASCII_UPPER = {code: code - 32 for code in range(ord("a"), ord("z") + 1)}


def matches(text: str, pattern: str) -> bool:
    """Return True if a pattern in Go's syntax matches somewhere in the text."""
    return compiled(pattern).matches(text)


def compiled(pattern: str) -> GoRegexp:
    """Compile a pattern that an expression computed."""
    try:
        return compile_go_regexp(pattern)
    except GoRegexpError as error:
        raise CelEvaluationError(str(error)) from error


def _find(text: str, pattern: str) -> str:
    return next(iter(_find_all(text, pattern, 1)), "")


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = compiled(pattern).find_all(text)
    return list(itertools.islice(found, limit if limit >= 0 else None))


def _char_at(text: str, position: int) -> str:
    if not 0 <= position <= len(text):
        raise CelEvaluationError(f"index out of range: {position}")
    return text[position : position + 1]


def _index_of(text: str, wanted: str, start: int = 0) -> int:
    if not wanted:
        return start
    if start < 0:
        raise CelEvaluationError(f"index out of range: {start}")
    return text.find(wanted, start)


def _last_index_of(text: str, wanted: str, last: int | None = None) -> int:
    if last is None:
        return text.rfind(wanted)
    if not wanted:
        return last
    if last < 0:
        raise CelEvaluationError(f"index out of range: {last}")
    return text.rfind(wanted, 0, last + len(wanted)) if last < len(text) else -1


def _substring(text: str, start: int, end: int | None = None) -> str:
    stop = len(text) if end is None else end
    if not 0 <= start <= len(text) or not 0 <= stop <= len(text):
        raise CelEvaluationError(f"index out of range: {start if end is None else stop}")
    if start > stop:
        raise CelEvaluationError(f"invalid substring range. start: {start}, end: {stop}")
    return text[start:stop]


def _split(text: str, separator: str, limit: int = -1) -> list[str]:
    if limit == 0:
        return []
    if limit == 1:
        return [text]
    if not separator:
        if limit < 0 or limit >= len(text):
            return list(text)
        return [*text[: limit - 1], text[limit - 1 :]]
    return text.split(separator, limit - 1 if limit > 0 else -1)


def _join(items: list[Any], separator: str = "") -> str:
    if not all(isinstance(item, str) for item in items):
        raise CelEvaluationError("no such overload")
    return separator.join(items)


def _sized(call: Callable[[Any], int]) -> tuple[Overload, ...]:
    return (
        function("size", [STRING], INT, call),
        method("size", STRING, [], INT, call),
        function("size", [BYTES], INT, call),
        method("size", BYTES, [], INT, call),
    )


def _escape_key(key: str) -> str:
    """Return a key as a path of a JSON patch has it."""
    return key.replace("~", "~0").replace("/", "~1")


OVERLOADS: tuple[Overload, ...] = (
    *_sized(len),
    function("jsonpatch.escapeKey", [STRING], STRING, _escape_key),
    method("contains", STRING, [STRING], BOOL, lambda text, part: part in text),
    method("startsWith", STRING, [STRING], BOOL, str.startswith),
    method("endsWith", STRING, [STRING], BOOL, str.endswith),
    function("matches", [STRING, STRING], BOOL, matches),
    method("matches", STRING, [STRING], BOOL, matches),
    method("find", STRING, [STRING], STRING, _find),
    method("findAll", STRING, [STRING], list_of(STRING), _find_all),
    method("findAll", STRING, [STRING, INT], list_of(STRING), _find_all),
    method("charAt", STRING, [INT], STRING, _char_at),
    method("indexOf", STRING, [STRING], INT, _index_of),
    method("indexOf", STRING, [STRING, INT], INT, _index_of),
    method("lastIndexOf", STRING, [STRING], INT, _last_index_of),
    method("lastIndexOf", STRING, [STRING, INT], INT, _last_index_of),
    method("lowerAscii", STRING, [], STRING, lambda text: text.translate(_ASCII_LOWER)),
    method("upperAscii", STRING, [], STRING, lambda text: text.translate(_ASCII_UPPER)),
    method("replace", STRING, [STRING, STRING], STRING, str.replace),
    method("replace", STRING, [STRING, STRING, INT], STRING, str.replace),
    method("split", STRING, [STRING], list_of(STRING), _split),
    method("split", STRING, [STRING, INT], list_of(STRING), _split),
    method("substring", STRING, [INT], STRING, _substring),
    method("substring", STRING, [INT, INT], STRING, _substring),
    method("trim", STRING, [], STRING, lambda text: text.strip(_SPACES)),
    method("format", STRING, [list_of(DYN)], STRING, format_text),
    method("join", list_of(STRING), [], STRING, _join),
    method("join", list_of(STRING), [STRING], STRING, _join),
    function("strings.quote", [STRING], STRING, go_format.quote),
)
