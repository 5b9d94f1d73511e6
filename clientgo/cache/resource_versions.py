"""Reading the resource version of whatever a store is given.

Promises the text that the server sent, and its value as a number where versions must be compared.
Does not promise that comparing makes sense across kinds of objects. Upstream: ``tools/cache``
thread_safe_store and mutation_cache, apimachinery ``util/resourceversion``.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.cache.tombstone import DeletedFinalStateUnknown
from clientgo.meta import NoMetadataError, metadata_of


def version_of(obj: Any) -> str | None:
    """An object's resource version; ``None`` for a tombstone or a value without metadata."""
    if type(obj) is DeletedFinalStateUnknown:
        return None
    try:
        return metadata_of(obj).resource_version or ""
    except NoMetadataError:
        return None


def version_number(obj: Any) -> int:
    """An object's resource version as a number, zero if it has none.

    Raises ``ValueError`` for a version that is no number: such an object was not read from a
    server.
    """
    version = version_of(obj) or "0"
    if not _is_number(version):
        raise ValueError(f"resource version {version!r} of {obj!r:.80} is no number")
    return int(version)


def has_reached(version: str, wanted: str) -> bool:
    """Whether ``version`` is as new as ``wanted``; one that is empty or no number has not.

    Raises ``ValueError`` if ``wanted`` is no number: no version could be compared with it.
    """
    if not _is_number(wanted):
        raise ValueError(f"resource version {wanted!r} is no number; take that of an object read")
    return _is_number(version) and int(version) >= int(wanted)


def gauge_value(version: str) -> float | None:
    """A resource version for a gauge: its last 15 digits, which a float holds exactly.

    Zero for an empty version, ``None`` for one that is no number.
    """
    if not version:
        return 0.0
    return float(version[-_EXACT_DIGITS:]) if _is_number(version) else None


_EXACT_DIGITS: Final = 15


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()
