"""Names of informers, and the metrics that they report under them.

Promises client-go's metric names, and that no two informers write the same series: a name has one
user at a time, and one informer for each resource. Series end with their informer. Thread-safe.

Upstream: ``tools/cache`` InformerName, Identifier, InformerMetricsProvider.
"""

from __future__ import annotations

import logging
import threading
from typing import Final, Self

from clientgo.cache.queues.queue import NO_QUEUE_METRICS, QueueMetrics
from clientgo.cache.store.resource_versions import gauge_value
from clientgo.meta import GroupVersionResource
from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.observe.metrics.names import INFORMER_STORE_RESOURCE_VERSION
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.cache.informer")

_lock = threading.Lock()
_names: dict[str, InformerName] = {}
"""The names in use; guarded by `_lock`."""


@uncopyable("its name belongs to one holder in a process")
class InformerName:
    """A name for the informers of one component, such as a controller; ``with`` releases it.

    Raises ``ValueError`` for an empty name and for one that is in use, until :meth:`release`.
    """

    def __init__(self, name: str) -> None:
        if not name:
            raise ValueError("an informer name must not be empty")
        self.name: Final = name
        self._resources: set[GroupVersionResource] = set()
        with _lock:
            if name in _names:
                raise ValueError(f"the informer name {name!r} is in use; release it or choose one")
            _names[name] = self

    def with_resource(self, resource: GroupVersionResource) -> InformerIdentity:
        """Return the identity of this name's informer for a resource.

        Only the first one for each resource reports metrics.
        """
        with _lock:
            is_first = resource not in self._resources and _names.get(self.name) is self
            self._resources.add(resource)
        if not is_first:
            _log.error(
                "Another informer reports %s as %r: this one reports no metrics",
                resource,
                self.name,
            )
        return InformerIdentity(self, resource, is_first)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.release()

    def release(self) -> None:
        """Free the name; its informers stop reporting. Idempotent."""
        with _lock:
            if _names.get(self.name) is self:
                del _names[self.name]


@uncopyable("it belongs to one informer")
class InformerIdentity:
    """One informer under a name."""

    def __init__(
        self, informer_name: InformerName, resource: GroupVersionResource, is_first: bool
    ) -> None:
        self._informer_name = informer_name
        self._is_first = is_first
        self.resource: Final = resource

    @property
    def name(self) -> str:
        return self._informer_name.name

    def is_reserved(self) -> bool:
        """Return True if this informer is the one that reports under its name."""
        with _lock:
            return self._is_first and _names.get(self.name) is self._informer_name

    def labels(self) -> dict[str, str]:
        """Return the labels of its metrics."""
        return {
            "name": self.name,
            "group": self.resource.group,
            "version": self.resource.version,
            "resource": self.resource.resource,
        }


class InformerMetrics:
    """The metrics of one informer; without an identity they are ignored."""

    def __init__(self, provider: MetricsProvider, identity: InformerIdentity | None) -> None:
        self._identity = identity
        if identity is None or not identity.is_reserved():
            self.queue = NO_QUEUE_METRICS
            self._version = NO_METRICS.gauge(INFORMER_STORE_RESOURCE_VERSION)
        else:
            self.queue = QueueMetrics.of(provider, **identity.labels())
            self._version = provider.gauge(INFORMER_STORE_RESOURCE_VERSION, **identity.labels())

    def reached(self, version: str) -> None:
        """Report the version that the store has reached, unless the name was released."""
        number = gauge_value(version)
        if number is not None and self._identity is not None and self._identity.is_reserved():
            self._version.set(number)

    def remove(self) -> None:
        """End the series."""
        self.queue.remove()
        self._version.remove()
