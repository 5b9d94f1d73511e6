"""Reading and writing objects: from the caches, and at the API server.

::

    CachedClient ──reads──► the caches        LiveClient ──reads, writes──► the API server
         └──────────writes─────────────────────────▲ what it answers is remembered for the caches
"""

from clientgo.operator.client.differences import merge_from
from clientgo.operator.client.events import (
    CLEANUP_ABANDONED,
    OUTSIDE_CACHE,
    PROCESSING_ERROR,
    RESOURCE_EXISTS,
    SYNCED,
    ObjectEvents,
)
from clientgo.operator.client.live_client import CachedClient, Change, LiveClient, ignore
from clientgo.operator.client.ownership import (
    controller_of,
    has_owner_reference,
    remove_owner_reference,
    set_controller_reference,
    set_owner_reference,
)

__all__ = [
    "CachedClient",
    "LiveClient",
    "Change",
    "merge_from",
    "ignore",
    "set_controller_reference",
    "set_owner_reference",
    "remove_owner_reference",
    "has_owner_reference",
    "controller_of",
    # Events, and their reasons
    "ObjectEvents",
    "SYNCED",
    "RESOURCE_EXISTS",
    "PROCESSING_ERROR",
    "CLEANUP_ABANDONED",
    "OUTSIDE_CACHE",
]
