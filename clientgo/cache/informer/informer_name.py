"""Names for informers, under which their metrics appear.

Promises that a name is held by one user at a time in the process and that, under one name, a
resource is reported by one informer only, so that no two informers write the same series. Without
a name an informer reports no metrics of its own. Thread-safe.

Upstream: ``tools/cache`` InformerName, Identifier.
"""

from __future__ import annotations

import logging
import threading
from typing import Final

from clientgo.meta import GroupVersionResource

_log = logging.getLogger("clientgo.cache.informer")

_lock = threading.Lock()
_names: dict[str, InformerName] = {}
"""The names in use; guarded by `_lock`."""


class InformerName:
    """A name for the informers of one component, such as a controller.

    Raises ``ValueError`` for an empty name and for one that is in use; :meth:`release` ends its
    use.
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
        """The identity of this name's informer for a resource.

        Only the first one for each resource is reserved; later ones report no metrics.
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

    def release(self) -> None:
        """Free the name; its informers report no more. Idempotent."""
        with _lock:
            if _names.get(self.name) is self:
                del _names[self.name]


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
        """Whether this informer is the one that reports under its name."""
        with _lock:
            return self._is_first and _names.get(self.name) is self._informer_name

    def labels(self) -> dict[str, str]:
        """The labels of its metrics."""
        return {
            "name": self.name,
            "group": self.resource.group,
            "version": self.resource.version,
            "resource": self.resource.resource,
        }
