"""The three ways in which an object changes: created, updated, deleted.

Promises: whoever writes (a PUT, a patch, the garbage collector, a CRD's controller) goes through
these functions, so metadata, generation, finalizers, optimistic locking and validation have one
home. A write that changes nothing stores nothing and keeps its resource version. Nothing is
awaited between the read of the old state and the write, unless an admission webhook is asked;
then the old state is compared again and the write starts over if it has moved.

Upstream: apiserver ``registry/generic/registry.Store``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clientgo.apiserver.admission.admission import (
    Operation,
    Review,
    check_namespace,
    check_namespace_deletion,
)
from clientgo.apiserver.http.numbers import parse_unsigned
from clientgo.apiserver.objects import metadata as object_meta
from clientgo.apiserver.objects.ownership import without_times
from clientgo.apiserver.requests.options import (
    DeleteOptions,
    FieldValidation,
    Propagation,
    WriteOptions,
)
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.resources.status_errors import (
    already_exists,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    invalid_of_resource,
    modified,
    not_found,
)
from clientgo.apiserver.storage.storage import Collection, Object, StoredObject, encode, object_key
from clientgo.schema.field_errors import FieldError

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster

FOREGROUND_FINALIZER = "foregroundDeletion"
ORPHAN_FINALIZER = "orphan"

_GENERATE_ATTEMPTS = 8
"""Tries to find a free generated name, as upstream does."""


@dataclass(frozen=True, slots=True)
class Target:
    """The object that a request is about."""

    resource: Resource
    namespace: str
    name: str

    @property
    def key(self) -> str:
        """Its key within the collection."""
        return object_key(self.namespace, self.name)


@dataclass(slots=True)
class Outcome:
    """What a write left behind."""

    stored: StoredObject
    deleted: bool = False
    created: bool = False
    warnings: list[str] = field(default_factory=list)


def read_object(
    resource: Resource, obj: Object, duplicates: tuple[str, ...], validation: FieldValidation
) -> tuple[Object, list[str]]:
    """Check the types of an object from outside and drop what its kind does not know.

    Returns the object with apiVersion, kind and metadata first, and warnings for the client.

    Raises:
        StatusError: 400, a field has the wrong type, or validation is strict and one is unknown.
    """
    resource.strategy.check_type(resource, obj)
    unknown_metadata = object_meta.read_metadata(obj)
    ordered = {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": obj["metadata"],
    } | {key: value for key, value in obj.items() if key not in _HEADER}
    decoded = resource.strategy.decode(resource, ordered)
    if validation is FieldValidation.IGNORE:
        return decoded.obj, []
    problems = [f'duplicate field "{path}"' for path in duplicates]
    unknown = sorted((*unknown_metadata, *decoded.unknown_fields))
    problems += [f'unknown field "{path}"' for path in unknown]
    if problems and validation is FieldValidation.STRICT:
        raise bad_request(
            f'{resource.kind} in version "{resource.version}" cannot be handled as a '
            f"{resource.kind}: strict decoding error: {', '.join(problems)}"
        )
    return decoded.obj, problems


_HEADER = frozenset({"apiVersion", "kind", "metadata"})


# -- create


async def create_object(
    cluster: Cluster,
    resource: Resource,
    namespace: str,
    obj: Object,
    options: WriteOptions,
    *,
    applied: bool = False,
) -> Outcome:
    """Store a new object; ``applied`` says that its fields have owners already.

    Raises:
        StatusError: it exists, is invalid, is not admitted, or its namespace is missing.
    """
    metadata = obj["metadata"]
    if given := metadata.get("resourceVersion"):
        if given != "0":
            raise internal("resourceVersion should not be set on objects to be created")
        del metadata["resourceVersion"]
    check_namespace(cluster, resource, namespace, metadata.get("name", ""))
    if why := cluster.why_not_create(resource):
        raise forbidden(resource, metadata.get("name", ""), why)
    strategy = resource.strategy
    collection = cluster.storage.collection(resource.collection_key)
    prepare_new(cluster, resource, namespace, obj)
    _avoid_taken_name(collection, namespace, metadata)
    target = Target(resource, namespace, metadata.get("name", ""))
    review = Review(
        Operation.CREATE,
        resource,
        namespace,
        target.name,
        obj,
        None,
        dry_run=options.dry_run,
        options=options.as_sent,
    )
    obj = await _mutated(cluster, review, obj)
    if not applied:
        obj = cluster.ownership.update(resource, "", None, obj, options.field_manager)
    causes = object_meta.create_causes(
        obj["metadata"], strategy.name_rule, namespaced=resource.namespaced
    )
    causes += strategy.validate(obj)
    if causes:
        raise invalid(resource, target.name, causes)
    await cluster.webhooks.validate(review)
    existing = collection.get(target.key)
    if existing is not None:
        doomed = "deletionTimestamp" in existing.decode()["metadata"]
        raise already_exists(resource, target.name, being_deleted=doomed)
    stored = _store(cluster, collection, target, obj, dry_run=options.dry_run)
    return Outcome(stored, created=True, warnings=review.warnings)


async def _mutated(cluster: Cluster, review: Review, obj: Object) -> Object:
    """The object as the mutating webhooks leave it, read again if they have changed it."""
    await cluster.webhooks.mutate(review)
    if review.obj is None or review.obj is obj:
        return obj
    review.obj, _ = read_object(review.resource, review.obj, (), FieldValidation.IGNORE)
    return review.obj


def prepare_new(cluster: Cluster, resource: Resource, namespace: str, obj: Object) -> None:
    """Turn what a client sent into what a new object begins as, in place."""
    object_meta.prepare_for_create(obj["metadata"], namespace, cluster.timestamp())
    strategy = resource.strategy
    if strategy.counts_generations:
        obj["metadata"]["generation"] = 1
    strategy.prepare_for_create(obj)


def _avoid_taken_name(collection: Collection, namespace: str, metadata: dict[str, Any]) -> None:
    """Draw again while a generated name is taken."""
    prefix = metadata.get("generateName")
    if not prefix or not metadata["name"].startswith(prefix):
        return
    for _ in range(_GENERATE_ATTEMPTS):
        if collection.get(object_key(namespace, metadata["name"])) is None:
            return
        metadata["name"] = object_meta.generate_name(prefix)


# -- update

Change = Callable[[Object], Object]
"""Makes the wanted state out of a copy of the current one."""


async def update_object(
    cluster: Cluster,
    target: Target,
    change: Change,
    options: WriteOptions,
    subresource: str = "",
    *,
    applied: bool = False,
) -> Outcome:
    """Bring an object into the state that ``change`` makes of its current one.

    Raises:
        StatusError: it does not exist, somebody else wrote first, the new state is invalid or
            not admitted.
    """
    resource = target.resource
    collection = cluster.storage.collection(resource.collection_key)
    while True:
        stored = collection.get(target.key)
        if stored is None:
            raise not_found(resource, target.name)
        old = resource.decode(stored)
        new = change(resource.decode(stored))
        _check_preconditions(target, new["metadata"], old["metadata"])
        _prepare_update(resource, new, old, subresource)
        review = Review(
            Operation.UPDATE,
            resource,
            target.namespace,
            target.name,
            new,
            old,
            subresource,
            options.dry_run,
            options.as_sent,
        )
        new = await _mutated(cluster, review, new)
        if not applied:
            new = cluster.ownership.update(resource, subresource, old, new, options.field_manager)
        _validate_update(target, new, old, subresource)
        await cluster.webhooks.validate(review)
        if collection.get(target.key) is stored:
            break
    if new == old or without_times(new) == without_times(old):
        return Outcome(stored, warnings=review.warnings)
    if _is_finished(resource, new, old):
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
        final = _encode_unstored(target, new, stored)
        if not options.dry_run:
            cluster.storage.delete(collection, target.key)
        return Outcome(final, deleted=True, warnings=review.warnings)
    written = _store(cluster, collection, target, new, dry_run=options.dry_run)
    return Outcome(written, warnings=review.warnings)


def _check_preconditions(target: Target, new: dict[str, Any], old: dict[str, Any]) -> None:
    """Optimistic locking: the version that the client names must be the current one."""
    version = new.get("resourceVersion", "")
    if version in ("", "0"):
        if not target.resource.strategy.allow_unconditional_update:
            cause = FieldError.invalid(
                "metadata.resourceVersion", 0, "must be specified for an update"
            )
            raise invalid_of_resource(target.resource, target.name, [cause])
    elif parse_unsigned(version) is None:
        raise internal(f'strconv.ParseUint: parsing "{version}": invalid syntax')
    elif version != old["resourceVersion"]:
        raise modified(target.resource, target.name)
    new["resourceVersion"] = old["resourceVersion"]


def _prepare_update(resource: Resource, new: Object, old: Object, subresource: str) -> None:
    strategy = resource.strategy
    object_meta.prepare_for_update(new["metadata"], old["metadata"])
    if subresource == "status":
        strategy.prepare_for_status_update(new, old)
    elif subresource == "finalize":
        strategy.prepare_for_finalize(new, old)
    else:
        strategy.prepare_for_update(new, old)
    if strategy.counts_generations and strategy.spec_changed(new, old):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def _validate_update(target: Target, new: Object, old: Object, subresource: str) -> None:
    strategy = target.resource.strategy
    causes = object_meta.update_causes(
        new["metadata"], old["metadata"], checks=strategy.metadata_checks
    )
    if subresource == "status":
        causes += strategy.validate_status_update(new, old)
    else:
        causes += strategy.validate_update(new, old)
    if causes:
        raise invalid(target.resource, target.name, causes)


def _is_finished(resource: Resource, new: Object, old: Object) -> bool:
    """Whether an update takes the last finalizer from an object that waits to be deleted."""
    metadata = new["metadata"]
    return bool(
        resource.strategy.may_go(new)
        and old["metadata"].get("deletionTimestamp")
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
    )


# -- delete


async def delete_object(cluster: Cluster, target: Target, options: DeleteOptions) -> Outcome:
    """Delete an object, or mark it if finalizers or a grace period hold it.

    Raises:
        StatusError: it does not exist, a precondition fails, or it is not admitted.
    """
    resource = target.resource
    check_namespace_deletion(resource, target.name)
    collection = cluster.storage.collection(resource.collection_key)
    while True:
        stored = collection.get(target.key)
        if stored is None:
            raise not_found(resource, target.name)
        old = resource.decode(stored)
        _check_delete_preconditions(target, options, old["metadata"])
        review = Review(
            Operation.DELETE,
            resource,
            target.namespace,
            target.name,
            None,
            old,
            dry_run=options.dry_run,
            options=options.as_sent,
        )
        await cluster.webhooks.validate(review)
        if collection.get(target.key) is stored:
            break
    marked = resource.decode(stored)
    finalizers = _deletion_finalizers(resource, marked["metadata"], options)
    grace = resource.strategy.grace_period(marked, options.grace_period)
    if not finalizers and not grace and resource.strategy.may_go(marked):
        last = stored if options.dry_run else cluster.storage.delete(collection, target.key)
        return Outcome(last, deleted=True, warnings=review.warnings)
    _mark_deleted(cluster, resource, marked, finalizers, grace)
    if marked == old:
        return Outcome(stored, warnings=review.warnings)
    written = _store(cluster, collection, target, marked, dry_run=options.dry_run)
    return Outcome(written, warnings=review.warnings)


def _check_delete_preconditions(
    target: Target, options: DeleteOptions, metadata: dict[str, Any]
) -> None:
    for label, wanted, actual, hint in (
        (
            "UID",
            options.uid,
            metadata["uid"],
            "The object might have been deleted and then recreated",
        ),
        (
            "ResourceVersion",
            options.resource_version,
            metadata["resourceVersion"],
            "The object might have been modified",
        ),
    ):
        if wanted is not None and wanted != actual:
            raise conflict(
                target.resource,
                target.name,
                f"the {label} in the precondition ({wanted}) does not match the {label} in record "
                f"({actual}). {hint}",
                by_kind=True,
            )


def _deletion_finalizers(
    resource: Resource, metadata: dict[str, Any], options: DeleteOptions
) -> list[str]:
    """The finalizers that a deletion leaves on an object, the propagation policy's included."""
    finalizers = list(metadata.get("finalizers") or ())
    if "deletionTimestamp" not in metadata:
        added = resource.strategy.deletion_finalizers
        finalizers += [item for item in added if item not in finalizers]
    wanted = {
        Propagation.FOREGROUND: FOREGROUND_FINALIZER,
        Propagation.ORPHAN: ORPHAN_FINALIZER,
    }
    if options.propagation is None:
        return finalizers
    kept = [item for item in finalizers if item not in wanted.values()]
    if holder := wanted.get(options.propagation):
        kept.append(holder)
    return kept


def _mark_deleted(
    cluster: Cluster, resource: Resource, obj: Object, finalizers: list[str], grace: int
) -> None:
    metadata = obj["metadata"]
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    if "deletionTimestamp" in metadata:
        if grace < metadata.get("deletionGracePeriodSeconds", 0):
            metadata["deletionGracePeriodSeconds"] = grace
        return
    metadata["deletionTimestamp"] = cluster.timestamp(grace)
    metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation"):
        metadata["generation"] += 1
    resource.strategy.mark_deleted(obj)


# -- storing


def _store(
    cluster: Cluster, collection: Collection, target: Target, obj: Object, *, dry_run: bool
) -> StoredObject:
    stored_form = target.resource.write(obj) if target.resource.write else obj
    if dry_run:
        return _encode_unstored(target, stored_form, None)
    fields = selectable_values(target.resource, stored_form)
    return cluster.storage.put(collection, target.key, stored_form, fields)


def _encode_unstored(target: Target, obj: Object, previous: StoredObject | None) -> StoredObject:
    """A state that is answered but not stored."""
    version = previous.resource_version if previous else 0
    return StoredObject(target.key, version, encode(obj), obj["metadata"]["uid"], {}, {}, ())


def selectable_values(resource: Resource, obj: Object) -> dict[str, str]:
    """What field selectors can ask of an object."""
    metadata = obj["metadata"]
    values = {"metadata.name": metadata["name"]}
    if resource.namespaced:
        values["metadata.namespace"] = metadata["namespace"]
    for path, read in resource.strategy.selectable_fields.items():
        values[path] = read(obj)
    return values
