"""The preparation of a write: owners of fields, and what only the server may set.

Promises nothing of a valid object; the checks come after. Its functions may run on a thread.

Upstream: apiserver ``registry/rest.BeforeCreate`` and ``BeforeUpdate``, and the field manager.
"""

from __future__ import annotations

from typing import Any, Final

from clientgo.testcluster.fields.managed_fields import Convert
from clientgo.testcluster.server.objects import metadata as object_meta
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.objects.decoding import read_object
from clientgo.testcluster.server.objects.options import WriteOptions
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.write_checks import check_has_version, type_causes
from clientgo.testcluster.server.resources.errors import another_namespace
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Collection, Object, object_key

_GENERATE_ATTEMPTS: Final = 8
"""Tries to find a free generated name, as upstream does."""


class Preparation:
    """Prepares the objects of one server."""

    def __init__(self, state: State) -> None:
        self._state = state

    def new(
        self,
        resource: Resource,
        namespace: str,
        obj: Object,
        options: WriteOptions,
        convert: Convert,
        *,
        applied: bool,
        is_large: bool,
    ) -> Object:
        """Return a new object with the owners of its fields and what only the server may set."""
        if not applied:
            obj = self.owned(resource, "", None, obj, options, convert, is_large=is_large)
        self._prepare_new(resource, namespace, obj)
        return obj

    def mutated(self, review: Review, mutated: Object) -> Object:
        """Return what mutating admission has made, read and prepared again.

        Raises:
            FailedRequestError: it can't be read, or is of another namespace.
        """
        obj, _ = read_object(review.resource, mutated)
        check_has_version(obj)
        if review.namespace and obj["metadata"].get("namespace", "") not in ("", review.namespace):
            raise another_namespace()
        if review.old is None:
            self._prepare_new(review.resource, review.namespace, obj)
        else:
            prepare_update(review.resource, obj, review.old, review.subresource)
        return obj

    def owned(
        self,
        resource: Resource,
        subresource: str,
        old: Object | None,
        new: Object,
        options: WriteOptions,
        convert: Convert,
        *,
        is_large: bool,
    ) -> Object:
        """Return the object with the owners of its fields; as it is if it fits no type."""
        if type_causes(resource, new):
            return new
        manager = options.field_manager
        update = self._state.ownership.update
        return update(resource, subresource, old, new, manager, convert, is_large=is_large)

    def _prepare_new(self, resource: Resource, namespace: str, obj: Object) -> None:
        """Set what only the server may set, in place."""
        object_meta.prepare_for_create(obj["metadata"], namespace, self._state.timestamp())
        if resource.strategy.starts_generation:
            obj["metadata"]["generation"] = 1
        resource.strategy.prepare_for_create(obj)
        resource.strategy.drop_disabled(obj)


def avoid_taken_name(collection: Collection, namespace: str, metadata: dict[str, Any]) -> None:
    """Generate another name while the generated one is taken."""
    prefix = metadata.get("generateName")
    if not prefix:
        return
    for _ in range(_GENERATE_ATTEMPTS):
        if collection.get(object_key(namespace, metadata["name"])) is None:
            return
        metadata["name"] = object_meta.generate_name(prefix)


def count_generation(resource: Resource, new: Object, old: Object) -> None:
    """Count a change of what the kind counts, in place."""
    strategy = resource.strategy
    if strategy.counts_generations and strategy.spec_changed(new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def prepare_update(resource: Resource, new: Object, old: Object, subresource: str) -> None:
    """Keep what a client can't change, in place."""
    strategy = resource.strategy
    object_meta.prepare_for_update(new["metadata"], old["metadata"])
    strategy.drop_disabled(new)
    if subresource == "status":
        strategy.prepare_for_status_update(new, old)
    elif subresource:
        strategy.prepare_for_subresource(subresource, new, old)
    else:
        strategy.prepare_for_update(new, old)
