"""Which shard a key belongs to, and which member should hold each shard. Pure functions.

Promises: every member that sees the same holders and the same members makes the same plan; a plan
is balanced to one shard, moves no more shards than that needs, and is kept when made again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import blake2b
from typing import Final

NO_HOLDER: Final = ""
"""The holder of a shard that no member holds."""


def shard_of(text: str, shards: int) -> int:
    """Return the shard of a text, from 0; the same in every process."""
    return _hash(text) % shards


def plan(holders: Sequence[str], members: Collection[str]) -> list[str]:
    """Return who should hold each shard, given who holds it and who could.

    Holders that are no members lose their shards. Without members no shard has a holder.
    """
    if not members:
        return [NO_HOLDER] * len(holders)
    held: dict[str, list[int]] = {member: [] for member in members}
    for shard, holder in enumerate(holders):
        if holder in held:
            held[holder].append(shard)
    limits = _limits({member: len(shards) for member, shards in held.items()}, len(holders))
    wanted = [NO_HOLDER] * len(holders)
    for member, shards in held.items():
        kept = sorted(shards, key=lambda shard: _weight(member, shard))[: limits[member]]
        limits[member] -= len(kept)
        for shard in kept:
            wanted[shard] = member
    for shard, holder in enumerate(wanted):
        if holder == NO_HOLDER:
            free = [member for member, limit in limits.items() if limit]
            chosen = min(free, key=lambda member: _weight(member, shard))
            limits[chosen] -= 1
            wanted[shard] = chosen
    return wanted


def _limits(counts: dict[str, int], shards: int) -> dict[str, int]:
    """Return how many shards each member should have; those with the most keep one more."""
    least, more = divmod(shards, len(counts))
    order = sorted(counts, key=lambda member: (-counts[member], member))
    return {member: least + (place < more) for place, member in enumerate(order)}


def _weight(member: str, shard: int) -> tuple[int, str]:
    return _hash(f"{shard} {member}"), member


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
