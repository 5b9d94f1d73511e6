"""The stored object of a request: how it is found and compared, and stored or only answered.

Upstream: apiserver ``registry/generic/registry.Store``.
"""

from __future__ import annotations

import functools

import msgspec

from clientgo.meta.json_values import json_equal
from clientgo.testcluster.server.objects.ownership import without_times
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.stored_size import check_stored_size
from clientgo.testcluster.server.resources.errors import not_found
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import (
    Collection,
    Object,
    StoredObject,
    encode_state,
    object_key,
)


class Target(msgspec.Struct, frozen=True):
    """The object that a write is about."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Return its key within the collection."""
        return object_key(self.namespace, self.name)


def existing_object(collection: Collection, target: Target) -> StoredObject:
    """Return the stored object.

    Raises:
        FailedRequestError: 404.
    """
    stored = collection.get(target.key)
    if stored is None:
        raise not_found(target.resource, target.name)
    return stored


def is_unchanged(new: Object, old: Object) -> bool:
    """Return True if nothing has to be stored; times of field owners alone are no change."""
    return json_equal(new, old) or json_equal(without_times(new), without_times(old))


def store(
    state: State, collection: Collection, target: Target, obj: Object, *, dry_run: bool
) -> StoredObject:
    """Store an object in its stored form.

    Raises:
        FailedRequestError: it is too large.
    """
    if dry_run:
        return encode_unstored(target, obj, None)
    resource = target.resource
    fields = _selectable_values(resource, obj)
    check = functools.partial(check_stored_size, resource)
    stored = state.storage.put(collection, target.key, obj, fields, check)
    if resource.is_custom:
        state.registry.note_write(resource, stored.resource_version)
    return stored


def encode_unstored(target: Target, obj: Object, previous: StoredObject | None) -> StoredObject:
    """Return a state that is answered but not stored."""
    version = previous.resource_version if previous else 0
    raw, deep = encode_state(obj)
    return StoredObject(target.key, version, raw, obj["metadata"]["uid"], {}, {}, (), deep)


def _selectable_values(resource: Resource, obj: Object) -> dict[str, str]:
    """Return the values that field selectors compare."""
    metadata = obj["metadata"]
    values = {"metadata.name": metadata["name"]}
    if resource.namespaced:
        values["metadata.namespace"] = metadata["namespace"]
    for path, read in resource.strategy.selectable_fields.items():
        values[path] = read(obj)
    return values
