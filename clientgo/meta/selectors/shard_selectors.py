"""Shard selectors: which part of all objects the API server sends, by a hash.

Promises the syntax and the hash of a server that supports them (Kubernetes 1.36, alpha, behind the
feature gate ``ShardedListAndWatch``; KEP-5866): one or more ranges of the 64-bit FNV-1a hash of a
field, joined by ``||``.

Upstream: apiserver ``pkg/sharding`` Parse, apimachinery ``pkg/sharding``.
"""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

from clientgo.meta.objects.accessor import metadata_of
from clientgo.meta.selectors.label_requirements import SelectorError

UID: Final = "object.metadata.uid"
NAMESPACE: Final = "object.metadata.namespace"

_ALL: Final = 2**64
_RANGE: Final = re.compile(
    r"\s*shardRange\(\s*([\w.]+)\s*,\s*(['\"])0x([0-9a-f]{16,17})\2\s*,"
    r"\s*(['\"])0x([0-9a-f]{16,17})\4\s*\)\s*"
)


class ShardSelector(NamedTuple):
    """Ranges of hashes of one field; each includes its start and not its end."""

    field: str
    ranges: tuple[tuple[int, int], ...]

    def matches(self, obj: Any) -> bool:
        """Return True if the API server would send an object for this selector."""
        metadata = metadata_of(obj)
        value = metadata.uid if self.field == UID else metadata.namespace
        hashed = fnv1a(value or "")
        return any(start <= hashed < end for start, end in self.ranges)

    def __str__(self) -> str:
        return " || ".join(
            f"shardRange({self.field}, '{start:#018x}', '{end:#018x}')"
            for start, end in self.ranges
        )


def shard_range(number: int, shards: int, field: str = UID) -> ShardSelector:
    """Return the selector of one of several equal shards, which are numbered from 0.

    ``field`` is :data:`UID`, or :data:`NAMESPACE` to keep the objects of a namespace together.
    Raises ``ValueError`` for a number that is not below ``shards``.
    """
    if not 0 <= number < shards:
        raise ValueError(f"there is no shard {number} of {shards}; they are numbered from 0")
    return ShardSelector(
        _checked(field), ((_ALL * number // shards, _ALL * (number + 1) // shards),)
    )


def parse_shard_selector(text: str) -> ShardSelector:
    """Read a shard selector. Raises :class:`SelectorError` for one that a server would refuse."""
    fields: list[str] = []
    ranges: list[tuple[int, int]] = []
    for part in text.split("||"):
        match = _RANGE.fullmatch(part)
        if match is None:
            raise SelectorError(
                f"unable to parse shard selector {text!r}; write "
                f"shardRange({UID}, '0x0000000000000000', '0x8000000000000000')"
            )
        field, _, start, _, end = match.groups()
        fields.append(_checked(field))
        ranges.append((int(start, 16), int(end, 16)))
    if len(set(fields)) > 1:
        raise SelectorError(f"all ranges of shard selector {text!r} must use the same field")
    if any(not start < end <= _ALL for start, end in ranges):
        raise SelectorError(f"a range of shard selector {text!r} is empty, or ends after 2^64")
    return ShardSelector(fields[0], tuple(ranges))


def _checked(field: str) -> str:
    if field not in (UID, NAMESPACE):
        raise SelectorError(f"shards are by {UID} or {NAMESPACE}, not by {field!r}")
    return field


def fnv1a(text: str) -> int:
    """Return the 64-bit FNV-1a hash of a text in UTF-8."""
    hashed = 0xCBF29CE484222325
    for byte in text.encode():
        hashed = (hashed ^ byte) * 0x100000001B3 % _ALL
    return hashed
