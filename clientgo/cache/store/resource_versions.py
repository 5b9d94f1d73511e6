"""The resource version of anything that a store can be given.

Upstream: ``tools/cache`` thread_safe_store.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.meta import NoMetadataError, metadata_of, parse_resource_version


def version_of(obj: Any) -> str | None:
    """Return a resource version; ``None`` for a tombstone or a value without metadata."""
    if type(obj) is DeletedFinalStateUnknown:
        return None
    try:
        return metadata_of(obj).resource_version or ""
    except NoMetadataError:
        return None


def has_reached(version: str, wanted: str) -> bool:
    """Return True if ``version`` is a number and as new as ``wanted``.

    Raises ``ValueError`` if ``wanted`` is not a number.
    """
    wanted_number = parse_resource_version(wanted)
    if wanted_number is None:
        raise ValueError(
            f"resource version {wanted!r:.80} is not a number; pass that of an object you read"
        )
    number = parse_resource_version(version)
    return number is not None and number >= wanted_number


def is_older(version: str, known: str) -> bool:
    """Return True if both are numbers, and ``version`` is the smaller one."""
    number, known_number = parse_resource_version(version), parse_resource_version(known)
    return number is not None and known_number is not None and number < known_number


def gauge_value(version: str) -> float | None:
    """Return the last 15 digits of a version, which a gauge holds exactly.

    Returns zero for an empty version, ``None`` for one that is not a number.
    """
    if not version:
        return 0.0
    number = parse_resource_version(version)
    return None if number is None else float(number % _EXACT)


_EXACT: Final = 10**15
