"""JSON that may be nested deeper than a decoder can follow: measure it and cut it into pieces.

A decoder calls itself for each level and gives up at 1,000 levels or at 10,000, as the version of
Python has it, or where the stack of the thread ends, since 3.14. An API server takes 10,000. The
functions here are loops. They are slower than a decoder, so use them for what it gave up on.

Does not promise to notice malformed JSON inside of a piece: what decodes the piece does.

Upstream: Go's encoding/json refuses more than 10,000 levels.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Final, ParamSpec, TypeVar

import msgspec

P = ParamSpec("P")
T = TypeVar("T")

MAX_NESTING: Final = 10_000
"""Levels of JSON that an API server accepts."""

_STRING: Final = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_strings: Final = re.compile(_STRING, re.DOTALL)
_tokens: Final = re.compile(_STRING + rb"|[\[\]{},:]", re.DOTALL)
_OTHERS: Final = bytes(byte for byte in range(256) if byte not in b"[]{}")
_STEPS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_BLANK: Final = b" \t\r\n"


def nesting_depth(raw: bytes) -> int:
    """Return how many objects and arrays of a JSON text are open at the same time, at most."""
    if not (b"{" in raw or b"[" in raw):
        return 0
    brackets = _strings.sub(b"", raw).translate(None, _OTHERS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def is_deeper_than(raw: bytes, levels: int) -> bool:
    """Return True if a JSON text has more levels; cheap for one that has few brackets."""
    if len(raw) <= levels or raw.count(b"{") + raw.count(b"[") <= levels:
        return False
    return nesting_depth(raw) > levels


def tokens_of(raw: bytes) -> Iterator[re.Match[bytes]]:
    """Yield the brackets, commas, colons and texts of JSON in their order."""
    return _tokens.finditer(raw)


def too_deep(raw: bytes) -> str:
    """Say why JSON can't be processed, in place of a ``RecursionError``; it may be unknown."""
    if not raw:
        return "it is nested too deeply"
    return f"it is nested too deeply ({nesting_depth(raw):,} levels)"


def refuses_too_deep(error: type[Exception]) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function raise this error, and no ``RecursionError``, for values nested too deeply."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @functools.wraps(function)
        def bounded(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                return function(*args, **kwargs)
            except RecursionError as cause:
                raise error("a value is nested too deeply") from cause

        return bounded

    return decorate


def members_of(raw: bytes) -> dict[str, bytes]:
    """Return the values of a JSON object, as JSON, by their names; the last one of a name.

    Raises ``ValueError`` for text that is no object.
    """
    members: dict[str, bytes] = {}
    for piece in _pieces(raw, b"{}"):
        name = _strings.match(piece)
        colon = piece[name.end() :].lstrip(_BLANK) if name else b""
        if name is None or not colon.startswith(b":"):
            raise ValueError(f"a member without a name: {piece[:40]!r}")
        members[msgspec.json.decode(name[0], type=str)] = colon[1:].strip(_BLANK)
    return members


def items_of(raw: bytes) -> list[bytes]:
    """Return the items of a JSON array, as JSON. Raises ``ValueError`` for other text."""
    return list(_pieces(raw, b"[]"))


def _pieces(raw: bytes, brackets: bytes) -> Iterator[bytes]:
    """Yield what stands between the commas of a container.

    Raises ``ValueError`` for text that is not one container of these brackets.
    """
    level, start, pieces = 0, 0, 0
    for token in tokens_of(raw):
        sign = token[0]
        if sign in (b"{", b"["):
            if not level and (sign != brackets[:1] or start or raw[: token.start()].strip(_BLANK)):
                break
            level += 1
            start = start or token.end()
        elif sign in (b"}", b"]"):
            level -= 1
            if not level:
                piece = raw[start : token.start()].strip(_BLANK)
                if sign != brackets[1:] or raw[token.end() :].strip(_BLANK):
                    break
                if piece or pieces:
                    yield piece
                return
        elif sign == b"," and level == 1:
            yield raw[start : token.start()].strip(_BLANK)
            start, pieces = token.end(), pieces + 1
    raise ValueError(f"no JSON in {brackets.decode()}: {raw[:40]!r}")
