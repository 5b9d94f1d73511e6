"""The caches of a manager: one for each kind, shared by all its controllers.

::

    KindSource ──subscribes──► KindCache ──► SharedIndexInformer for each watched namespace
    CachedClient ──reads─────►    └─ OwnWrites: what was written and has not come back yet
"""

from clientgo.operator.cache.kind_cache import KindCache, Subscription
from clientgo.operator.cache.object_cache import Kind, ObjectCache, Projection, api_resource
from clientgo.operator.cache.own_writes import OwnWrites
from clientgo.operator.cache.scope import (
    ALL,
    EVERYWHERE,
    OWN,
    CacheScope,
    Namespaces,
    NamespaceSet,
    namespaces_from_env,
    own_namespace,
)
from clientgo.operator.cache.transforms import keep_keys, strip_managed_fields

__all__ = [
    "ObjectCache",
    "KindCache",
    "Subscription",
    "OwnWrites",
    "Kind",
    "api_resource",
    "Projection",
    "CacheScope",
    "strip_managed_fields",
    "keep_keys",
    "Namespaces",
    "NamespaceSet",
    "EVERYWHERE",
    "ALL",
    "OWN",
    "own_namespace",
    "namespaces_from_env",
]
