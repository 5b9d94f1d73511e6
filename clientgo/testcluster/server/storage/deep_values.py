"""Objects of any depth, for functions that call themselves for each level.

What is below the first ``MOST_LEVELS`` levels of a value is kept as JSON, in a ``msgspec.Raw``. So
all that walks objects (schemas, managed fields, patches) sees a value without members there, which
may be replaced as a whole and is encoded as it is. Everything here is done level by level, whatever
Python's limits are.

Differs from upstream, whose stack grows: there the owner of each of these members is known.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from itertools import chain
from typing import Any, Final

import msgspec
from msgspec import Raw

from clientgo.meta.json_values import WholeFloat
from clientgo.meta.nesting import MAX_NESTING, is_deeper_than, tokens_of

MOST_LEVELS: Final = 200
"""Levels of a value in memory. What walks it makes at most four of the interpreter's thousand calls
a level, so that what is stored can be read, whatever its schema becomes."""


def _encode_other(value: Any) -> Any:
    """Return a number that a client wrote as a float as the integer that it is."""
    if isinstance(value, WholeFloat):
        return int(value)
    raise NotImplementedError(f"{type(value).__name__} is no JSON")


encode: Callable[[Any], bytes] = msgspec.json.Encoder(enc_hook=_encode_other).encode


class DeepText:
    """JSON of any depth, as a shallow text and the parts that were cut out of it.

    ``parse`` reads each part, and fails for malformed ones. If ``whole``, the parts are values.
    """

    def __init__(self, raw: bytes, parse: Callable[[bytes], Any], *, whole: bool = False) -> None:
        self._parse = parse
        self._whole = whole
        self._mark = f"deep-{secrets.token_hex(8)}-"  # no text of a client
        self._parts: dict[str, Any] = {}
        self.text = self._cut(raw)

    def value(self, shallow: Any) -> Any:
        """Return what ``text`` was read as, with the parts in their places."""
        if isinstance(shallow, dict):
            return {key: self.value(item) for key, item in shallow.items()}
        if isinstance(shallow, list):
            return [self.value(item) for item in shallow]
        return self._parts.get(shallow, shallow) if type(shallow) is str else shallow

    def _cut(self, raw: bytes) -> bytes:
        """Replace what is below so many levels, from the innermost part outwards."""
        texts = [bytearray()]
        level = done = 0
        for token in tokens_of(raw):
            sign = token[0]
            if sign in (b"{", b"["):
                level += 1
                if level > MOST_LEVELS and level % MOST_LEVELS == 1:
                    texts[-1] += raw[done : token.start()]
                    texts.append(bytearray())
                    done = token.start()
            elif sign in (b"}", b"]"):
                if len(texts) > 1 and level % MOST_LEVELS == 1:
                    texts[-1] += raw[done : token.end()]
                    done = token.end()
                    part = self._part(bytes(texts.pop()))
                    texts[-1] += part
                level -= 1
        texts[-1] += raw[done:]
        return b"".join(texts)

    def _part(self, text: bytes) -> bytes:
        name = f"{self._mark}{len(self._parts)}"
        value = self.value(self._parse(text))
        self._parts[name] = value if self._whole else Raw(encode(value))
        return b'"%s"' % name.encode()


def fold(value: Any) -> None:
    """Encode what is below so many levels of a value, in place."""
    borders: list[list[tuple[Any, Any]]] = []
    holders, level = [value] if isinstance(value, dict | list) else [], 1
    while holders:
        inner = [
            (holder, key, item)
            for holder in holders
            for key, item in (holder.items() if isinstance(holder, dict) else enumerate(holder))
            if isinstance(item, dict | list)
        ]
        holders = [item for _, _, item in inner]
        if level % MOST_LEVELS == 0:
            borders.append([(holder, key) for holder, key, _ in inner])
        level += 1
    for border in reversed(borders):
        for holder, key in border:
            holder[key] = Raw(encode(holder[key]))


def unfold(value: Any) -> Any:
    """Decode what is kept as JSON in a value, in place."""
    top = [value]
    holders: list[Any] = [top]
    while holders:
        holder = holders.pop()
        for key, item in [*(holder.items() if isinstance(holder, dict) else enumerate(holder))]:
            if isinstance(item, Raw):
                holder[key] = _decode(bytes(item), whole=True)
            elif isinstance(item, dict | list):
                holders.append(item)
    return top[0]


def is_deep(value: Any) -> bool:
    """Return True if a value has more levels than in memory, or a part of it is kept as JSON."""
    level = [value]
    for _ in range(MOST_LEVELS):
        members = chain.from_iterable(
            item.values() if isinstance(item, dict) else item for item in level
        )
        level = [member for member in members if isinstance(member, dict | list | Raw)]
        if not level:
            return False
        if Raw in map(type, level):
            return True
    return True


def decode_deep(raw: bytes) -> Any:
    """Decode JSON that has more levels than a value in memory."""
    return _decode(raw)


def decode_any(raw: bytes) -> Any:
    """Decode JSON from outside, of any depth.

    Raises:
        ValueError: it is malformed, or has more levels than the API allows.
    """
    if not is_deeper_than(raw, MOST_LEVELS):
        return msgspec.json.decode(raw)
    if is_deeper_than(raw, MAX_NESTING):
        raise ValueError("exceeded max depth")
    return decode_deep(raw)


def _decode(raw: bytes, *, whole: bool = False) -> Any:
    deep = DeepText(raw, msgspec.json.decode, whole=whole)
    return deep.value(msgspec.json.decode(deep.text))
