"""Applies a transform to everything that a reflector writes.

Promises one call for each object, in the reflector's thread; it may change the object in place. An
object that it fails for is left out, logged once and counted: the cache keeps its last good state,
and its deletion continues. In client-go such a failure loses the event, or the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from clientgo.cache.queues.queue import Queue
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import key_for_report
from clientgo.cache.store.parts import Parts, in_parts
from clientgo.meta import ObjectMeta, drop_managed_fields
from clientgo.util.copies import uncopyable

Transform = Callable[[Any], Any]
"""Takes an object and returns the one to cache, usually a smaller one."""


_SHARED_AT_MOST: Final = 10_000
"""Different sets of labels; with more of them there is little to share."""


@uncopyable("it has locks; make one in each process")
class CompactMetadata:
    """A transform that makes cached objects smaller by what few programs read or what is repeated.

    It drops the managed fields; objects share the text of their namespace, and equal labels. Reads
    and writes of an object are as before, but a program that breaks the rule and changes the labels
    of a cached object changes those of others. Thread-safe; takes about a microsecond an object.
    """

    def __init__(self) -> None:
        self._namespaces: dict[str, str] = {}
        self._labels: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}
        self._no_annotations: dict[str, str] = {}

    def __call__(self, obj: Any) -> Any:
        metadata = getattr(obj, "metadata", None)
        if type(metadata) is not ObjectMeta:
            return obj
        drop_managed_fields(obj)
        if len(self._labels) >= _SHARED_AT_MOST:
            self._namespaces, self._labels = {}, {}
        metadata.namespace = self._namespaces.setdefault(metadata.namespace, metadata.namespace)
        labels = metadata.labels
        metadata.labels = self._labels.setdefault(tuple(labels.items()), labels)
        if not metadata.annotations:
            metadata.annotations = self._no_annotations
        return obj


class TransformingStore:
    """A reflector's store in front of a queue."""

    def __init__(self, queue: Queue, transform: Transform, quarantine: QuarantineLog) -> None:
        self._queue = queue
        self._transform = transform
        self._quarantine = quarantine
        self.bookmark = queue.bookmark
        self.resync = queue.resync

    def add(self, obj: Any) -> None:
        self.apply([Delta(DeltaType.ADDED, obj)])

    def update(self, obj: Any) -> None:
        self.apply([Delta(DeltaType.UPDATED, obj)])

    def delete(self, obj: Any) -> None:
        self.apply([Delta(DeltaType.DELETED, obj)])

    def apply(self, changes: Sequence[Delta]) -> None:
        transformed: list[Delta] = []
        for change in changes:
            try:
                transformed.append(Delta(change.type, self._transformed(change.object)))
            except Exception as error:  # noqa: BLE001 - a transform may raise anything
                self._report(change.object, error)
                if change.type is DeltaType.DELETED:
                    transformed.append(change)
        self._queue.apply(transformed)

    def replace(
        self, objs: Sequence[Any], resource_version: str, unknown: Collection[str] = ()
    ) -> None:
        refused = set(unknown)
        transformed = Parts(in_parts(self._all_transformed(objs, refused)))
        self._queue.replace(transformed, resource_version, refused)

    def _all_transformed(self, objs: Sequence[Any], refused: set[str]) -> Iterator[Any]:
        """Return the transformed objects; add the keys of those that the transform fails for."""
        for obj in objs:
            try:
                transformed = self._transformed(obj)
            except Exception as error:  # noqa: BLE001 - a transform may raise anything
                self._report(obj, error)
                refused.add(key_for_report(obj))
            else:
                yield transformed

    def _transformed(self, obj: Any) -> Any:
        if type(obj) is DeletedFinalStateUnknown:
            return obj
        transformed = self._transform(obj)
        if transformed is None:
            raise TypeError("it returned None; return the object, also if it was changed in place")
        return transformed

    def _report(self, obj: Any, error: Exception) -> None:
        self._quarantine.report(obj, f"the transform failed: {error}")
