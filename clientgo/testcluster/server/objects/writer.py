"""The writes: create, update, apply, delete.

Promises: every write (a PUT, a patch, the garbage collector's) goes through ``ObjectWriter``, so
metadata, generation, finalizers, optimistic locking and validation are decided in one place. A
write that changes nothing stores nothing and keeps its resource version. Nothing is awaited between
the read of the old state and the write, except a matching admission webhook, and the thread that
works on large objects; then the write starts again if the old state has changed meanwhile.

The steps are in ``preparation``, ``write_checks`` and ``storing``; admission is between them.

Upstream: apiserver ``registry/generic/registry.Store``.
"""

from __future__ import annotations

import asyncio
import functools
import weakref
from collections.abc import Callable

import msgspec

from clientgo.meta.json_values import copy_json
from clientgo.testcluster.fields.managed_fields import Convert, rewritten
from clientgo.testcluster.server.auth.authorization.authorizer import Attributes
from clientgo.testcluster.server.auth.authorization.refusals import AccessDeniedError
from clientgo.testcluster.server.auth.users import User
from clientgo.testcluster.server.objects import metadata as object_meta
from clientgo.testcluster.server.objects.admission import Admission, Operation, Review
from clientgo.testcluster.server.objects.deletion import (
    Grace,
    check_preconditions,
    finalizers_of_deletion,
    grace_of_deletion,
    is_finished,
    marked_deleted,
)
from clientgo.testcluster.server.objects.large_work import WorkOn
from clientgo.testcluster.server.objects.options import SERVER_OPTIONS, DeleteOptions, WriteOptions
from clientgo.testcluster.server.objects.ownership import with_conversions
from clientgo.testcluster.server.objects.preparation import (
    Preparation,
    avoid_taken_name,
    count_generation,
    prepare_update,
)
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import (
    Target,
    encode_unstored,
    existing_object,
    is_unchanged,
    store,
)
from clientgo.testcluster.server.objects.write_checks import (
    check_changed_type,
    check_has_version,
    check_new,
    check_new_type,
    check_update,
    check_version,
    take_version_of_new,
)
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    already_exists,
    conflict,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import fold
from clientgo.testcluster.server.storage.storage import (
    Collection,
    Object,
    StoredObject,
)

_FREE_ATTEMPTS = 2
"""Tries of an update before it waits for the others that have failed as often. Not from the start:
a webhook may update the object that it is asked about."""

ObjectChange = Callable[[Object], Object]
"""Returns the wanted state; is given a copy of the current one. It may run on a thread, see
``large_work``."""

_ConvertingChange = Callable[[Object, Convert], Object]
"""The same, and is given what converts objects for owners at other versions."""


class WriteResult(msgspec.Struct):
    """The object after a write, or its last state if it was deleted."""

    stored: StoredObject
    deleted: bool = False
    created: bool = False
    warnings: list[str] = msgspec.field(default_factory=list)


class ObjectWriter:
    """Writes objects. On the server's event loop only."""

    def __init__(self, state: State, admission: Admission) -> None:
        self._state = state
        self._admission = admission
        self._preparation = Preparation(state)
        self._turns: weakref.WeakValueDictionary[tuple[Collection, str], asyncio.Lock]
        self._turns = weakref.WeakValueDictionary()
        """By collection and key: updates that others have overtaken go on one after the other."""

    # -- create

    async def create(
        self,
        resource: Resource,
        namespace: str,
        obj: Object,
        options: WriteOptions,
        *,
        applied: bool = False,
    ) -> WriteResult:
        """Store a new object; ``applied`` says that its fields have owners already.

        Raises:
            FailedRequestError: it exists, is invalid, is not admitted, or its namespace is missing.
        """
        metadata = obj["metadata"]
        self._admission.check(Operation.CREATE, resource, namespace, metadata.get("name", ""))
        collection = self._collection(resource)
        must_generate = not metadata.get("name")
        work = self._state.large_work.on(options.work_size)
        new = obj
        obj = await with_conversions(
            resource,
            work,
            lambda convert: self._preparation.new(
                resource, namespace, new, options, convert, applied=applied, is_large=work.is_large
            ),
        )
        metadata = obj["metadata"]
        if must_generate:
            avoid_taken_name(collection, namespace, metadata)
        target = Target(resource, namespace, metadata.get("name", ""))
        review = Review(
            Operation.CREATE,
            resource,
            namespace,
            target.name,
            obj,
            None,
            work,
            dry_run=options.dry_run,
            options=options.sent_as("CreateOptions"),
            user=options.user,
        )
        obj = await self._mutate(review, obj)
        target = Target(resource, namespace, obj["metadata"].get("name", ""))
        check_new_type(resource, target.name, obj)
        review.obj = obj
        version = self._allocate(review)
        review.warnings += await work.evaluate(check_new, resource, target.name, obj)
        await self._admission.validate(review)
        if self._state.storage.version != version:  # the namespace may have gone meanwhile
            self._admission.check(Operation.CREATE, resource, namespace, target.name)
        if not options.dry_run:  # which the storage alone refuses
            take_version_of_new(obj["metadata"])
        form = await resource.stored_form(obj, work.run)
        self._allocate(review, since=version)
        existing = collection.get(target.key)
        if existing is not None:
            existing_obj = await self._work_on(existing).run(existing.decode)
            error = already_exists(
                resource,
                target.name,
                being_deleted="deletionTimestamp" in existing_obj["metadata"],
                may_generate="generateName" in obj["metadata"],
            )
            error.warnings = tuple(review.warnings)
            raise error
        stored = store(self._state, collection, target, form, dry_run=options.dry_run)
        return WriteResult(stored, created=True, warnings=review.warnings)

    async def _mutate(self, review: Review, obj: Object) -> Object:
        """Return the object after mutating admission; a changed one is read and prepared again."""
        await self._admission.mutate(review)
        if review.obj is None or review.obj is obj:
            return obj
        review.obj = await review.work.run(self._preparation.mutated, review, review.obj)
        return review.obj

    def _allocate(self, review: Review, since: int = -1) -> int:
        """Allocate, again if something was written since a version; return the version."""
        version = self._state.storage.version
        if version != since:
            self._admission.allocate(review)
        return version

    # -- update

    async def update(
        self,
        target: Target,
        change: ObjectChange,
        options: WriteOptions,
        subresource: str = "",
    ) -> WriteResult:
        """Bring an object into the state that ``change`` makes of its current one.

        Raises:
            FailedRequestError: it does not exist, it was modified meanwhile, the new state is
                invalid or not admitted.
        """
        return await self._update(target, lambda old, _: change(old), options, subresource)

    async def _update(
        self,
        target: Target,
        change: _ConvertingChange,
        options: WriteOptions,
        subresource: str,
        *,
        applied: bool = False,
    ) -> WriteResult:
        attempt = functools.partial(
            self._try_update, target, change, options, subresource, applied=applied
        )
        for _ in range(_FREE_ATTEMPTS):
            if result := await attempt():
                return result
        key = self._collection(target.resource), target.key
        async with self._turns.setdefault(key, asyncio.Lock()):
            while not (result := await attempt()):
                pass
        return result

    async def _try_update(
        self,
        target: Target,
        change: _ConvertingChange,
        options: WriteOptions,
        subresource: str,
        *,
        applied: bool,
    ) -> WriteResult | None:
        """Update an object; return None if another write was stored meanwhile."""
        resource = target.resource
        collection = self._collection(resource)
        stored = existing_object(collection, target)
        work = self._work_on(stored, options)
        [current] = await resource.served([stored])

        def changed(convert: Convert) -> tuple[Object, Object]:
            old, new = _change(resource, current, change, convert)
            check_version(resource, target.name, new["metadata"], old["metadata"])
            check_has_version(new)
            if not applied:
                new = self._preparation.owned(
                    resource, subresource, old, new, options, convert, is_large=work.is_large
                )
            prepare_update(resource, new, old, subresource)
            return old, new

        old, new = await with_conversions(resource, work, changed)
        review = Review(
            Operation.UPDATE,
            resource,
            target.namespace,
            target.name,
            new,
            old,
            work,
            subresource,
            options.dry_run,
            options.sent_as("UpdateOptions"),
            options.user,
        )
        new = await self._mutate(review, new)
        if subresource != "status":
            await work.run(count_generation, resource, new, old)
        check_changed_type(resource, target.name, new, old)
        review.obj = new
        version = self._allocate(review)
        review.warnings += await work.evaluate(
            check_update, resource, target.name, new, old, subresource
        )
        await self._admission.validate(review)
        if stored.is_deep:  # as the old state is: the managed fields are deeper than the object
            fold(new)
        unchanged = await work.run(is_unchanged, new, old)
        finished = is_finished(resource, new, old)
        form = new if unchanged or finished else await resource.stored_form(new, work.run)
        if collection.get(target.key) is not stored:
            return None
        self._allocate(review, since=version)
        if unchanged:
            return WriteResult(stored, warnings=review.warnings)
        if finished:
            new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
            final = encode_unstored(target, new, stored)
            if not options.dry_run:
                self._state.storage.delete(collection, target.key)
            return WriteResult(final, deleted=True, warnings=review.warnings)
        written = store(self._state, collection, target, form, dry_run=options.dry_run)
        return WriteResult(written, warnings=review.warnings)

    # -- apply

    async def apply(
        self,
        target: Target,
        config: Object,
        read: ObjectChange,
        options: WriteOptions,
        subresource: str = "",
    ) -> WriteResult:
        """Merge the configuration of an applier into an object; create it if it does not exist.

        ``read`` checks the merged object and returns it as its kind reads it.

        Raises:
            FailedRequestError: 409 for fields of other managers; else as ``create`` and ``update``.
        """
        resource = target.resource

        def merge(old: Object | None, convert: Convert) -> Object:
            merged = self._state.ownership.apply(
                resource,
                subresource,
                old,
                copy_json(config),
                options.field_manager,
                convert,
                force=options.force,
            )
            return read(merged)

        if subresource or self._collection(resource).get(target.key) is not None:
            result = await self._update(target, merge, options, subresource, applied=True)
        else:
            self._admission.check(Operation.CREATE, resource, target.namespace, target.name)
            if uid := (config.get("metadata") or {}).get("uid"):
                raise conflict(
                    resource,
                    target.name,
                    f"uid mismatch: the provided object specified uid {uid}, "
                    "and no existing object was found",
                )
            self.check_may_create(target, options.user)
            work = self._state.large_work.on(options.work_size)
            obj = await work.run(merge, None, rewritten)  # there are no other owners
            obj["metadata"].pop("resourceVersion", None)
            result = await self.create(resource, target.namespace, obj, options, applied=True)
        return result

    def check_may_create(self, target: Target, user: User) -> None:
        """Check that the user of an update or apply that creates may create.

        Raises:
            FailedRequestError: 403.
        """
        resource = target.resource
        wanted = Attributes(
            user,
            "create",
            resource.group,
            resource.version,
            resource.plural,
            namespace=target.namespace,
            name=target.name,
        )
        decision = self._state.authorizer.authorize(wanted)
        if not decision.allowed:
            raise AccessDeniedError(wanted, decision.reason)

    # -- delete

    async def delete(self, target: Target, options: DeleteOptions) -> WriteResult:
        """Delete an object, or mark it if it has finalizers or a grace period.

        Raises:
            FailedRequestError: it does not exist, a precondition fails, or it is not admitted.
        """
        strategy = target.resource.strategy
        warnings = [strategy.orphan_warning] if strategy.orphan_warning else []
        if options.propagation is not None:
            warnings = []
        try:
            result = await self._delete(target, options)
        except FailedRequestError as error:
            error.warnings = (*error.warnings, *warnings)
            raise
        result.warnings += warnings
        return result

    async def _delete(self, target: Target, options: DeleteOptions) -> WriteResult:
        resource = target.resource
        self._admission.check(Operation.DELETE, resource, target.namespace, target.name)
        collection = self._collection(resource)
        while True:
            stored = existing_object(collection, target)
            work = self._work_on(stored)
            [current] = await resource.served([stored])
            old = await work.run(resource.decode, current)
            check_preconditions(resource, target.name, options, old["metadata"])
            review = Review(
                Operation.DELETE,
                resource,
                target.namespace,
                target.name,
                None,
                old,
                work,
                dry_run=options.dry_run,
                options=options.as_sent,
                user=options.user,
            )
            await self._admission.validate(review)
            grace = grace_of_deletion(resource, old, options)
            finalizers = finalizers_of_deletion(resource, old["metadata"], options)
            goes = not (finalizers or grace.seconds) and resource.strategy.may_go(old)
            form = None
            if not grace.pending and not (goes and grace.seconds is None):
                now = self._state.now()
                marked = await work.run(_marked, resource, old, finalizers, grace, now)
                form = await resource.stored_form(marked, work.run) if marked else None
            if collection.get(target.key) is stored:
                break
        warnings = list(review.warnings)
        if grace.pending:
            return WriteResult(stored, warnings=warnings)
        last = stored
        if form is not None:
            last = store(self._state, collection, target, form, dry_run=options.dry_run)
        if goes and not options.dry_run:
            last = self._state.storage.delete(collection, target.key, form)
        return WriteResult(last, deleted=goes, warnings=warnings)

    # -- objects of the server itself

    def put_own(self, api_version: str, plural: str, obj: Object, *, keep: bool = False) -> None:
        """Store an object that the server itself makes, complete and valid as it is.

        An object of the name is replaced if it differs; with ``keep`` it stays as it is.
        """
        group, _, version = api_version.rpartition("/")
        resource = self._state.registry.find(group, version, plural)
        if resource is None:
            raise LookupError(f"{plural} of {api_version} are not served")
        collection = self._collection(resource)
        metadata = obj["metadata"]
        target = Target(resource, metadata.get("namespace", ""), metadata["name"])
        existing = collection.get(target.key)
        if existing is not None and keep:
            return
        own = {"uid": object_meta.new_uid(), "creationTimestamp": self._state.timestamp()}
        new = {
            "apiVersion": api_version,
            "kind": resource.kind,
            **obj,
            "metadata": {**metadata, **own},
        }
        if existing is not None:
            old = existing.decode()
            new["metadata"] = {**old["metadata"], **metadata}
            if new == old:
                return
        store(self._state, collection, target, new, dry_run=False)

    def _collection(self, resource: Resource) -> Collection:
        return self._state.storage.collection(resource.collection_key)

    def _work_on(self, stored: StoredObject, options: WriteOptions = SERVER_OPTIONS) -> WorkOn:
        """Return what runs the work on an object and on what a client sends for it."""
        return self._state.large_work.on(max(options.work_size, len(stored.raw)))


def _change(
    resource: Resource, stored: StoredObject, change: _ConvertingChange, convert: Convert
) -> tuple[Object, Object]:
    """Return the current state and the wanted one."""
    return resource.decode(stored), change(resource.decode(stored), convert)


def _marked(
    resource: Resource, obj: Object, finalizers: list[str], grace: Grace, now: float
) -> Object | None:
    """Return the object, marked as deleted; None if it is already."""
    marked = marked_deleted(resource, obj, finalizers, grace, now)
    return marked if marked != obj else None
