"""What an admission plugin is, and how it finds the objects that it decides by.

Upstream: ``plugin/pkg/admission``; each plugin is a package there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.storage.storage import (
    Change,
    Collection,
    CollectionKey,
    Object,
    Storage,
)


class Plugin:
    """Changes and refuses writes to some collections."""

    resources: ClassVar[tuple[CollectionKey, ...]] = ()
    """The collections whose writes are reviewed."""

    subresources: ClassVar[tuple[str, ...]] = ("",)
    """The subresources whose writes are reviewed; "" is the object itself."""

    def admit(self, review: Review, obj: Object) -> None:
        """Change the new state of an object, in place, before it is validated.

        Raises:
            FailedRequestError: the write is refused.
        """


class Cached:
    """A value that is computed from a collection, again after each change in it."""

    def __init__(
        self,
        storage: Storage,
        key: CollectionKey,
        compute: Callable[[Collection], Object | None],
    ) -> None:
        self._collection = storage.collection(key)
        self._compute = compute
        self._is_current = False
        self._value: Object | None = None
        storage.observe(self._observe, key)

    def _observe(self, _collection: Collection, _change: Change) -> None:
        self._is_current = False

    def get(self) -> Object | None:
        """Return the value; the caller does not change it."""
        if not self._is_current:
            self._value = self._compute(self._collection)
            self._is_current = True
        return self._value


def default_class(annotation: str) -> Callable[[Collection], Object | None]:
    """Return a function that finds the newest class with an annotation of the value true."""

    def find(collection: Collection) -> Object | None:
        classes = [stored.decode() for stored in collection.scan()]
        chosen = [
            item
            for item in classes
            if item["metadata"].get("annotations", {}).get(annotation) == "true"
        ]
        chosen.sort(key=lambda item: item["metadata"]["name"])
        return max(
            chosen, key=lambda item: str(item["metadata"]["creationTimestamp"]), default=None
        )

    return find
