"""Reading the resource version of whatever a store is given.

Promises the text that the server sent, and its value as a number where versions must be compared.
Does not promise that comparing makes sense across kinds of objects. Upstream: ``tools/cache``
thread_safe_store and mutation_cache, apimachinery ``util/resourceversion``.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.meta import NoMetadataError, metadata_of, parse_resource_version


def version_of(obj: Any) -> str | None:
    """An object's resource version; ``None`` for a tombstone or a value without metadata."""
    if type(obj) is DeletedFinalStateUnknown:
        return None
    try:
        return metadata_of(obj).resource_version or ""
    except NoMetadataError:
        return None


def has_reached(version: str, wanted: str) -> bool:
    """Whether ``version`` is as new as ``wanted``; one that is empty or no number has not.

    Raises ``ValueError`` if ``wanted`` is no number: no version could be compared with it.
    """
    wanted_number = parse_resource_version(wanted)
    if wanted_number is None:
        raise ValueError(
            f"resource version {wanted!r:.80} is not a number; pass that of an object you read"
        )
    number = parse_resource_version(version)
    return number is not None and number >= wanted_number


def gauge_value(version: str) -> float | None:
    """A resource version for a gauge: its last 15 digits, which a float holds exactly.

    Zero for an empty version, ``None`` for one that is no number.
    """
    if not version:
        return 0.0
    number = parse_resource_version(version)
    return None if number is None else float(number % _EXACT)


_EXACT: Final = 10**15
