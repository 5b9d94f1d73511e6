"""The verbs of the API: one function each, for every resource.

Promises: a verb reads the options and the body, calls the storage or the writer, and renders the
response in the negotiated representation. No verb knows a kind.

Upstream: apiserver ``endpoints/handlers``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from clientgo.meta.json_values import copy_json
from clientgo.meta.selectors import parse_field_selector
from clientgo.meta.validation.field_errors import FieldError
from clientgo.testcluster.server.http.bodies import (
    CUSTOM_TYPES,
    OBJECT_TYPES,
    decode_object,
    parse_yaml,
)
from clientgo.testcluster.server.http.messages import AnyResponse, Request, Response, value_response
from clientgo.testcluster.server.http.negotiation import Representation
from clientgo.testcluster.server.objects.decoding import (
    field_warnings,
    read_object,
    unknown_field,
)
from clientgo.testcluster.server.objects.metadata import drop_duplicate_owners
from clientgo.testcluster.server.objects.options import FieldValidation, WriteOptions
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.objects.storing import Target, existing_object
from clientgo.testcluster.server.objects.turns import in_turns
from clientgo.testcluster.server.objects.writer import (
    ObjectChange,
    ObjectWriter,
    WriteResult,
)
from clientgo.testcluster.server.requests.listing import list_page, selection_of
from clientgo.testcluster.server.requests.options import delete_options, list_options, write_options
from clientgo.testcluster.server.requests.patching import (
    Patch,
    check_patch_type,
    is_apply,
    read_patch,
)
from clientgo.testcluster.server.requests.rendering import (
    list_response,
    object_response,
    rendering_size,
)
from clientgo.testcluster.server.requests.watching import WatchResponse
from clientgo.testcluster.server.resources.errors import (
    FailedRequestError,
    another_namespace,
    bad_request,
    conflict,
    future_resource_version,
    internal,
    invalid_options,
    invalid_patch,
)
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.storage import Object, StoredObject
from clientgo.testcluster.server.storage.versions import parse_version

T = TypeVar("T")


class VerbCall(msgspec.Struct, frozen=True):
    """A request for a verb of a resource."""

    state: State
    writer: ObjectWriter
    request: Request
    resource: Resource
    namespace: str
    name: str
    subresource: str
    representation: Representation
    warnings: list[str] = msgspec.field(default_factory=list)
    """What the client is warned of, if the request succeeds or fails."""

    @property
    def target(self) -> Target:
        """Return the object that the path names."""
        return Target(self.resource, self.namespace, self.name)

    async def read_body(self, read: Callable[[], T]) -> T:
        """Return what ``read`` makes of the body; on a thread if that is large."""
        return await self.state.large_work.on(self.request.work_size).run(read)

    async def show(self, stored: StoredObject, status: int = 200) -> Response:
        """Return the response with an object, as its version is served."""
        resource, representation = self.resource, self.representation
        served = await resource.served([stored])
        size = rendering_size(resource, served, representation)
        work = self.state.large_work.on(size)
        return await work.run(object_response, resource, served[0], representation, status)

    async def show_list(self, stored: Sequence[StoredObject], metadata: dict[str, Any]) -> Response:
        """Return the response with a list of objects, as their version is served."""
        resource, representation = self.resource, self.representation
        served = await resource.served(stored)
        size = rendering_size(resource, served, representation)
        work = self.state.large_work.on(size)
        return await work.run(list_response, resource, served, metadata, representation)


Verb = Callable[[VerbCall], Awaitable[AnyResponse]]


async def get(call: VerbCall) -> AnyResponse:
    """Answer one object."""
    if call.request.flag("export"):
        raise bad_request("the export parameter, deprecated since v1.14, is no longer supported")
    _check_get_version(call)
    return await call.show(_stored(call))


def _check_get_version(call: VerbCall) -> None:
    version = call.request.parameter("resourceVersion")
    if not version:
        return
    wanted = parse_version(version)
    if wanted is None:
        raise internal(
            f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: '
            f'parsing "{version}": invalid syntax'
        )
    current = call.state.storage.version
    if wanted > current:
        raise future_resource_version(wanted, current)


async def existing(call: VerbCall) -> StoredObject:
    """Return the object that the path names, as its version is served.

    Raises:
        FailedRequestError: 404, it does not exist.
    """
    [served] = await call.resource.served([_stored(call)])
    return served


def _stored(call: VerbCall) -> StoredObject:
    collection = call.state.storage.collection(call.resource.collection_key)
    return existing_object(collection, Target(call.resource, call.namespace, call.name))


async def list_objects(call: VerbCall) -> AnyResponse:
    """Answer the objects of a collection."""
    options = list_options(call.request)
    selection = selection_of(call.resource, call.namespace, options)
    storage = call.state.storage
    collection = storage.collection(call.resource.collection_key)
    page = list_page(storage, collection, selection, options)
    return await call.show_list(page.items, page.metadata)


async def watch(call: VerbCall) -> AnyResponse:
    """Answer the changes of a collection."""
    options = list_options(call.request, watch=True)
    if call.name:
        options = replace(
            options, field_selector=parse_field_selector(f"metadata.name={call.name}")
        )
    selection = selection_of(call.resource, call.namespace, options)
    return WatchResponse(call.state, call.resource, selection, call.representation, options)


async def create(call: VerbCall) -> AnyResponse:
    """Store a new object."""
    options = write_options(call.request, "CreateOptions")
    obj = await call.read_body(lambda: _read_body(call, options))
    _check_namespace(call, obj)
    result = await call.writer.create(call.resource, call.namespace, obj, options)
    return await _written(call, result)


async def update(call: VerbCall) -> AnyResponse:
    """Replace an object."""
    options = write_options(call.request, "UpdateOptions")
    obj = await call.read_body(lambda: _read_body(call, options))
    check_names(call, obj)

    def replaced(old: Object) -> Object:
        uid, current = obj["metadata"].get("uid", ""), old["metadata"]["uid"]
        if uid not in ("", current):
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {current}"
            raise conflict(call.resource, call.name, why)
        copied: Object = copy_json(obj)
        return copied

    if _creates(call):
        call.writer.check_may_create(call.target, options.user)
        if uid := obj["metadata"].get("uid", ""):
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: "
            raise conflict(call.resource, call.name, why)
        obj["metadata"].pop("resourceVersion", None)
        result = await call.writer.create(call.resource, call.namespace, obj, options)
    else:
        result = await call.writer.update(call.target, replaced, options, call.subresource)
    return await _written(call, result)


def _creates(call: VerbCall) -> bool:
    """Return True if an update creates its object."""
    if call.subresource or not call.resource.strategy.creates_on_update:
        return False
    collection = call.state.storage.collection(call.resource.collection_key)
    return collection.get(call.target.key) is None


async def patch_object(call: VerbCall) -> AnyResponse:
    """Change an object by a patch."""
    if is_apply(call.request):
        return await apply(call)
    check_patch_type(call.request, call.resource)
    options = write_options(call.request, "PatchOptions")
    if "force" in call.request.query:
        error = FieldError.forbidden("force", "may not be specified for non-apply patch")
        raise invalid_options("PatchOptions", [error])
    patch = await call.read_body(lambda: read_patch(call.request, call.resource))

    def change(old: Object) -> Object:
        new = _read_patched(call, patch, patch.apply(old), options)
        check_names(call, new)
        return new

    result = await call.writer.update(call.target, change, options, call.subresource)
    return await _written(call, result)


def _read_patched(call: VerbCall, patch: Patch, patched: Object, options: WriteOptions) -> Object:
    if patch.is_strategic:  # it is merged into an object of the kind, whatever it says it is
        patched |= {"apiVersion": call.resource.api_version, "kind": call.resource.kind}
    try:
        if not call.resource.is_custom and _has_no_version(call.resource, patched):
            return _read_unversioned(call, patched, options, patch.duplicates)
        return _read(call, patched, options, patch.duplicates)
    except FailedRequestError as error:
        if error.code != 400:
            raise
        raise invalid_patch(error.message) from error


def _has_no_version(resource: Resource, obj: Object) -> bool:
    """Return True if an object names no version, or its group alone."""
    return obj.get("apiVersion") in (None, "", "/", f"{resource.group}/")


def _read_unversioned(
    call: VerbCall, patched: Object, options: WriteOptions, duplicates: tuple[str, ...]
) -> Object:
    """Read an object of a built-in kind from which a patch has removed the version.

    Upstream reads it as the type that the server uses inside, which has fields of other names; so
    it has neither fields nor a name.
    """
    resource = call.resource
    resource.strategy.check_type(resource, {"kind": patched.get("kind")})
    header = {"apiVersion": resource.api_version, "kind": resource.kind}
    unknown = sorted(patched.keys() - header.keys())
    problems = [*duplicates, *map(unknown_field, unknown)]
    call.warnings[:] = field_warnings(resource, header, problems, options.field_validation)
    return header


async def apply(call: VerbCall) -> AnyResponse:
    """Apply a configuration to an object; create the object if it does not exist."""
    options = write_options(call.request, "PatchOptions")
    config, duplicates = await read_configuration(call)
    return await _written(call, await apply_configuration(call, config, duplicates, options))


async def read_configuration(call: VerbCall) -> tuple[Object, tuple[str, ...]]:
    """Return the configuration in a body, and the problems of fields that it has twice.

    Raises:
        FailedRequestError: 422 without a field manager, 400 if the body is no object.
    """
    if not call.request.parameter("fieldManager"):
        error = FieldError.required("fieldManager", "is required for apply patch")
        raise invalid_options("PatchOptions", [error])
    problem = "error decoding YAML: error converting YAML to JSON: "
    config, duplicates = await call.read_body(lambda: parse_yaml(call.request.body, problem))
    if not isinstance(config, dict) or not isinstance(config.get("metadata"), dict | None):
        raise bad_request("error decoding YAML: the body or its metadata is not an object")
    return config, duplicates


async def apply_configuration(
    call: VerbCall,
    config: Object,
    duplicates: tuple[str, ...],
    options: WriteOptions,
    complete: ObjectChange | None = None,
) -> WriteResult:
    """Apply what `read_configuration` has returned; ``complete`` changes the merged object."""

    def read(merged: Object) -> Object:
        read = _read(call, complete(merged) if complete else merged, options, applied=True)
        check_names(call, read)
        call.warnings[:0] = _strict_problems(duplicates, options)
        return read

    return await call.writer.apply(call.target, config, read, options, call.subresource)


def _strict_problems(duplicates: tuple[str, ...], options: WriteOptions) -> list[str]:
    """Return what the client is warned of an applied configuration.

    Raises:
        FailedRequestError: 400, validation is strict.
    """
    if not duplicates or options.field_validation is FieldValidation.IGNORE:
        return []
    problem = "\n  ".join(("yaml: unmarshal errors:", *duplicates))
    problem = f"error converting YAML to JSON: {problem}"
    if options.field_validation is FieldValidation.STRICT:
        raise bad_request(f"error strict decoding patch: {problem}")
    return [problem]


async def delete(call: VerbCall) -> AnyResponse:
    """Delete an object, or mark it as being deleted."""
    options = await call.read_body(lambda: delete_options(call.request))
    result = await call.writer.delete(call.target, options)
    call.warnings.extend(result.warnings)
    if result.deleted and not call.resource.strategy.returns_deleted_object:
        body = _deleted_status(call.resource, call.name, result.stored.uid)
        if call.state.minor_version >= 37 and not options.dry_run:
            body["metadata"] = {"resourceVersion": str(result.stored.resource_version)}
        return value_response(body, call.representation.media_type)
    accepted = not result.deleted and options.as_sent.get("orphanDependents") is False
    status = 202 if accepted else 200
    return await call.show(result.stored, status)


def _deleted_status(resource: Resource, name: str, uid: str) -> Object:
    details: dict[str, Any] = {"name": name, "kind": resource.plural, "uid": uid}
    if resource.group:
        details["group"] = resource.group
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


async def delete_collection(call: VerbCall) -> AnyResponse:
    """Delete the selected objects; answer their last states."""
    listed = list_options(call.request)
    if listed.resource_version not in ("", "0") and not listed.match:
        listed = replace(listed, match="Exact")  # upstream lists in pages, which are exact
    selection = selection_of(call.resource, call.namespace, listed)
    options = await call.read_body(lambda: delete_options(call.request))
    storage = call.state.storage
    collection = storage.collection(call.resource.collection_key)
    page = list_page(storage, collection, selection, listed)
    async for item in in_turns(page.items):
        namespace, _, name = item.key.rpartition("/")
        if collection.get(item.key) is not None:
            result = await call.writer.delete(Target(call.resource, namespace, name), options)
            call.warnings[:] = dict.fromkeys([*call.warnings, *result.warnings])
    return await call.show_list(page.items, page.metadata)


# -- bodies


async def read_body_as(call: VerbCall, kind: Resource, options: WriteOptions) -> Object:
    """Return the object in a body, of a kind that is not stored; warn of its problems.

    Raises:
        FailedRequestError: 400 or 415, it is not of the kind, or a field has the wrong type.
    """
    obj, duplicates = await call.read_body(lambda: decode_object(call.request, kind.kind))
    read, warnings = read_object(kind, obj, options.field_validation, duplicates)
    call.warnings.extend(warnings)
    return read


def _read_body(call: VerbCall, options: WriteOptions) -> Object:
    accepted = CUSTOM_TYPES if call.resource.is_custom else OBJECT_TYPES
    obj, duplicates = decode_object(call.request, call.resource.kind, accepted)
    return _read(call, obj, options, duplicates)


def _read(
    call: VerbCall,
    obj: Object,
    options: WriteOptions,
    duplicates: tuple[str, ...] = (),
    *,
    applied: bool = False,
) -> Object:
    """Return the object as its kind reads it; a write that starts again reads again."""
    read, warnings = read_object(
        call.resource,
        obj,
        options.field_validation,
        duplicates,
        applied=applied,
        is_patched=call.request.method == "PATCH",
    )
    if owners := drop_duplicate_owners(read["metadata"]):
        warnings.append(_duplicate_owners_warning(call, owners))
    call.warnings[:] = warnings
    if call.request.method != "PATCH":  # a patched object is checked with its other errors
        call.resource.strategy.check_version(call.resource, obj.get("apiVersion", ""))
    return read


def _duplicate_owners_warning(call: VerbCall, uids: list[str]) -> str:
    when = " after mutating admission happens" if call.request.method == "PATCH" else ""
    return (
        f".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner "
        "references in 1.20+, and may reject such requests as early as 1.24; "
        f"please fix your requests; duplicate UID(s) observed: {', '.join(uids)}"
    )


def _check_namespace(call: VerbCall, obj: Object) -> None:
    given = obj.get("metadata", {}).get("namespace")
    if call.resource.namespaced and given and given != call.namespace:
        raise another_namespace()


def set_namespace(call: VerbCall, obj: Object) -> None:
    """Set the namespace of the request in an object that is not stored.

    Raises:
        FailedRequestError: 400, the object is of another one.
    """
    _check_namespace(call, obj)
    obj["metadata"].pop("namespace", None)
    if call.namespace:
        obj["metadata"]["namespace"] = call.namespace


def check_names(call: VerbCall, obj: Object) -> None:
    """Check that a body names the object and the namespace of the request.

    Raises:
        FailedRequestError: 400.
    """
    metadata = obj.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not name:
        raise bad_request(
            f"the name of the object ({call.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != call.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({call.name})"
        )
    _check_namespace(call, obj)


async def _written(call: VerbCall, result: WriteResult) -> Response:
    call.warnings.extend(result.warnings)
    status = 201 if result.created else 200
    return await call.show(result.stored, status)


OBJECT_VERBS: dict[str, tuple[str, Verb]] = {
    "GET": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch_object),
    "DELETE": ("delete", delete),
}
"""Verb and handler of each method on an object."""

COLLECTION_VERBS: dict[str, tuple[str, Verb]] = {
    "GET": ("list", list_objects),
    "POST": ("create", create),
    "DELETE": ("deletecollection", delete_collection),
}
"""Verb and handler of each method on a collection."""
