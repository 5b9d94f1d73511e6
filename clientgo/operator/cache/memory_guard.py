"""How much of the cluster a process holds, and who will regret it.

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
class Shelf:
    """What one informer holds."""

    objects: int = 0
    size: int = 0


class MemoryGuard:
    """The books of the cache of one kind. Thread-safe."""

    def __init__(self, name: str, metrics: MetricsProvider) -> None:
        self._objects = metrics.gauge(OBJECTS, kind=name)
        self._bytes = metrics.gauge(BYTES, kind=name)
        self._lock = threading.Lock()
        self._total = Shelf()

    def changed(self, shelf: Shelf, old: Any | None, new: Any | None) -> None:
        """On a shelf one object took another one's place; None for nothing."""
        self._add(shelf, (new is not None) - (old is not None), _size_of(new) - _size_of(old))

    def cleared(self, shelf: Shelf) -> None:
        """An informer has ended."""
        self._add(shelf, -shelf.objects, -shelf.size)

    def _add(self, shelf: Shelf, objects: int, size: int) -> None:
        with self._lock:
            for changed in (shelf, self._total):
                changed.objects += objects
                changed.size += size
            self._objects.set(self._total.objects)
            self._bytes.set(self._total.size)


def warn_if_numerous(resource: APIResource, *, selective: bool) -> None:
    """A cache of all objects of a kind is about to be filled."""
    if not selective and (resource.group, resource.kind) in NUMEROUS:
        _log.warning(
            "every %s of the cluster will be cached; if that is too much memory, limit it with "
            "namespaces, labels or fields in a CacheScope, or watch it with project='metadata'",
            resource.kind,
        )


def _size_of(obj: Any | None) -> int:
    return len(getattr(obj, "_raw", None) or b"")
