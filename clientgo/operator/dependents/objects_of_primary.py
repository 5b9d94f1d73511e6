"""The objects that one dependent has for one primary: those that are there, and the desired ones.

Promises that an object with another owner is neither written nor deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from clientgo.meta import ObjectName, annotations_of, deep_copy, labels_of, metadata_of
from clientgo.operator.cache.object_cache import api_resource
from clientgo.operator.client.object_kind import kind_of
from clientgo.operator.client.ownership import controller_of
from clientgo.operator.context import Context
from clientgo.operator.dependents.declared_dependents import Node
from clientgo.operator.errors import AlreadyOwnedError, OwnershipError, TerminalError
from clientgo.operator.mappers import default_key


class ObjectsOfPrimary:
    """For one pass. Reads the caches only."""

    def __init__(self, node: Node, ctx: Context[Any], obj: Any) -> None:
        self._node = node
        self._ctx = ctx
        self._obj = obj
        kind: Any = node.dependent.kind
        self._existing = {
            ObjectName.of(found): found
            for found in ctx.secondaries(kind, source=node.source)
            if _has(labels_of(found), node.dependent.labels)
        }
        self._desired: dict[ObjectName, Any] = {}

    def existing(self) -> list[Any]:
        return list(self._existing.values())

    def desired(self, answer: Any) -> dict[ObjectName, Any]:
        """What a dependent desires, complete: with namespace, labels and owner.

        Raises ``TerminalError`` for what is no object of the kind, and ``OwnershipError``.
        """
        answers = answer if isinstance(answer, Mapping) else {"": answer}
        for obj in answers.values():
            if obj is not None:
                prepared = self._prepared(obj)
                self._desired[ObjectName.of(prepared)] = prepared
        return self._desired

    def actual(self, key: ObjectName) -> Any | None:
        """The object of that name. Raises ``AlreadyOwnedError``, ``OwnershipError`` if it
        has another owner."""
        found = self._existing.get(key)
        if found is None:
            kind: Any = self._node.dependent.kind
            found = self._ctx.client.find(kind, key.name, key.namespace)
            if found is not None:
                self._check_has_no_other_owner(found)
                self._existing[key] = found
        return found

    def stored(self, obj: Any) -> None:
        """This was the answer to a write."""
        self._existing[ObjectName.of(obj)] = obj

    def wanted(self) -> list[Any | None]:
        """The objects that are desired, as they are now."""
        return [self._existing.get(key) for key in self._desired]

    def not_among(self, desired: Collection[ObjectName]) -> list[Any]:
        return [found for key, found in self._existing.items() if key not in desired]

    def _prepared(self, obj: Any) -> Any:
        node = self._node
        kind = kind_of(obj)
        resource = kind if node.resource is kind else api_resource(kind)
        if resource.gvk != node.resource.gvk:
            raise TerminalError(
                f"{node.name} is declared for {node.resource.kind}, and desires a {resource.kind}"
            )
        obj = deep_copy(obj)
        metadata = metadata_of(obj)
        if node.resource.namespaced and not metadata.namespace:
            metadata.namespace = self._ctx.key.namespace
        metadata.labels = {**(metadata.labels or {}), **node.dependent.labels}
        if node.owned:
            return self._ctx.own(obj)
        metadata.annotations = {**(metadata.annotations or {}), **self._marks()}
        return obj

    def _marks(self) -> dict[str, str]:
        """The annotations by which an object without an owner is found again."""
        primary, key = self._ctx.primary, self._ctx.key
        marks = {default_key(primary, "name"): key.name}
        if primary.namespaced:
            marks[default_key(primary, "namespace")] = key.namespace
        return marks

    def _check_has_no_other_owner(self, found: Any) -> None:
        owner = controller_of(found)
        if owner is not None and owner.uid != metadata_of(self._obj).uid:
            raise AlreadyOwnedError(found, owner)
        marked = annotations_of(found)
        for name, value in self._marks().items():
            if not self._node.owned and marked.get(name, value) != value:
                raise OwnershipError(
                    f"{self._node.resource.kind} {ObjectName.of(found)} belongs to another "
                    f"{self._ctx.primary.kind}, as its annotation {name} says: {marked[name]!r}; "
                    "choose another name"
                )


def _has(labels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(labels.get(name) == value for name, value in wanted.items())
