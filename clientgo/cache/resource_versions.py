"""Reading the resource version of whatever a store is given.

Promises the text that the server sent, and its value as a number where versions must be compared.
Does not promise that comparing makes sense across kinds of objects. Upstream: ``tools/cache``
thread_safe_store and mutation_cache, apimachinery ``util/resourceversion``.
"""

from __future__ import annotations

from typing import Any

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
    version = version_of(obj)
    if not version:
        return 0
    if not (version.isascii() and version.isdigit()):
        raise ValueError(f"resource version {version!r} of {obj!r:.80} is no number")
    return int(version)
