"""How much of the cluster a process holds.

Promises a gauge of objects and one of bytes for each kind, and a warning, once, where a kind that
clusters have very many of is cached as a whole.

Bytes are those of the objects' JSON, which is nearly all that an unused object holds; what a
decoded body costs besides is not counted.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from typing import Any, Final

from clientgo.meta import APIResource
from clientgo.metrics import Metric, MetricsProvider

OBJECTS: Final = Metric("operator_cache_objects", "Objects in the caches", labels=("kind",))
BYTES: Final = Metric("operator_cache_bytes", "Their size, as JSON", labels=("kind",))

NUMEROUS: Final = frozenset({("", "Secret"), ("", "ConfigMap"), ("", "Pod")})
"""Kinds, by group, that other programs make without end."""

_log = logging.getLogger("clientgo.operator.cache")


@dataclass(slots=True)
class CacheSize:
    """What one informer holds."""

    objects: int = 0
    bytes: int = 0


class CacheMetrics:
    """The gauges of the cache of one kind. Thread-safe."""

    def __init__(self, kind: str, provider: MetricsProvider) -> None:
        self._objects = provider.gauge(OBJECTS, kind=kind)
        self._bytes = provider.gauge(BYTES, kind=kind)
        self._lock = threading.Lock()
        self._total = CacheSize()

    def changed(self, size: CacheSize, old: Any | None, new: Any | None) -> None:
        """Count that an informer replaced one object by another; None stands for no object."""
        self._add(size, (new is not None) - (old is not None), _bytes_of(new) - _bytes_of(old))

    def cleared(self, size: CacheSize) -> None:
        """Count that an informer has ended."""
        self._add(size, -size.objects, -size.bytes)

    def _add(self, size: CacheSize, objects: int, bytes_: int) -> None:
        with self._lock:
            for changed in (size, self._total):
                changed.objects += objects
                changed.bytes += bytes_
            self._objects.set(self._total.objects)
            self._bytes.set(self._total.bytes)


def warn_if_numerous(resource: APIResource, *, selective: bool) -> None:
    """Warn when a cache of all objects of a numerous kind is about to be filled."""
    if not selective and (resource.group, resource.kind) in NUMEROUS:
        _log.warning(
            "every %s of the cluster will be cached; if that is too much memory, limit it with "
            "namespaces, labels or fields in a CacheScope, or watch it with project='metadata'",
            resource.kind,
        )


def _bytes_of(obj: Any | None) -> int:
    return len(getattr(obj, "_raw", None) or b"")
