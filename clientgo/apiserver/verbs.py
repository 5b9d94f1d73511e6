"""What the verbs of the API do: one function each, for every resource.

Promises: a verb reads its options and its body, calls the storage or the writes, and renders the
answer in the representation that was negotiated. None knows a particular kind.

Upstream: apiserver ``endpoints/handlers``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from clientgo.apiserver.bodies import decode_object
from clientgo.apiserver.http import Answer, Request, Response, json_response
from clientgo.apiserver.listing import list_page, parse_list_version
from clientgo.apiserver.negotiation import Representation
from clientgo.apiserver.options import (
    WriteOptions,
    delete_options,
    list_options,
    write_options,
)
from clientgo.apiserver.patching import make_patcher
from clientgo.apiserver.rendering import list_response, object_response
from clientgo.apiserver.resources import Resource
from clientgo.apiserver.selection import selection_of
from clientgo.apiserver.status_errors import (
    bad_request,
    future_resource_version,
    internal,
    not_found,
)
from clientgo.apiserver.storage import Object, StoredObject, object_key
from clientgo.apiserver.watching import WatchStream
from clientgo.apiserver.writes import (
    Outcome,
    Target,
    create_object,
    delete_object,
    read_object,
    update_object,
)

if TYPE_CHECKING:
    from clientgo.apiserver.cluster import Cluster


@dataclass(frozen=True, slots=True)
class Call:
    """A request for a verb on a resource."""

    cluster: Cluster
    request: Request
    resource: Resource
    namespace: str
    name: str
    subresource: str
    representation: Representation

    @property
    def target(self) -> Target:
        """The object that the path names."""
        return Target(self.resource, self.namespace, self.name)


Verb = Callable[[Call], Awaitable[Answer]]


async def get(call: Call) -> Answer:
    """Answer one object."""
    _check_get_version(call)
    return object_response(call.resource, _existing(call), call.representation)


def _check_get_version(call: Call) -> None:
    version = call.request.parameter("resourceVersion")
    if not version:
        return
    if not version.isdigit():
        raise internal(
            f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: '
            f'parsing "{version}": invalid syntax'
        )
    current = call.cluster.storage.version
    if (wanted := parse_list_version(version)) > current:
        raise future_resource_version(wanted, current)


def _existing(call: Call) -> StoredObject:
    collection = call.cluster.storage.collection(call.resource.collection_key)
    stored = collection.get(object_key(call.namespace, call.name))
    if stored is None:
        raise not_found(call.resource, call.name)
    return stored


async def list_objects(call: Call) -> Answer:
    """Answer the objects of a collection."""
    options = list_options(call.request)
    selection = selection_of(call.resource, call.namespace, options)
    storage = call.cluster.storage
    collection = storage.collection(call.resource.collection_key)
    page = list_page(storage, collection, selection, options)
    return list_response(call.resource, page.items, page.metadata, call.representation)


async def watch(call: Call) -> Answer:
    """Answer the changes of a collection as they happen."""
    options = list_options(call.request)
    selection = selection_of(call.resource, call.namespace, options)
    return WatchStream(call.cluster, call.resource, selection, call.representation, options)


async def create(call: Call) -> Answer:
    """Store a new object."""
    options = write_options(call.request, "CreateOptions")
    obj, warnings = _read_body(call, options)
    _check_namespace(call, obj)
    outcome = await create_object(call.cluster, call.resource, call.namespace, obj, options)
    return _written(call, outcome, warnings)


async def update(call: Call) -> Answer:
    """Replace an object."""
    options = write_options(call.request, "UpdateOptions")
    obj, warnings = _read_body(call, options)
    _check_names(call, obj)
    outcome = await update_object(
        call.cluster, call.target, lambda _: obj, options, call.subresource
    )
    return _written(call, outcome, warnings)


async def patch(call: Call) -> Answer:
    """Change an object by a patch."""
    options = write_options(call.request, "PatchOptions")
    apply_patch = make_patcher(call.request, call.resource)
    warnings: list[str] = []

    def change(old: Object) -> Object:
        patched = apply_patch(old)
        new, found = read_object(call.resource, patched, (), options.field_validation)
        _check_names(call, new)
        warnings[:] = found
        return new

    outcome = await update_object(call.cluster, call.target, change, options, call.subresource)
    return _written(call, outcome, warnings)


async def delete(call: Call) -> Answer:
    """Delete an object, or mark it as being deleted."""
    options = delete_options(call.request)
    outcome = await delete_object(call.cluster, call.target, options)
    if outcome.deleted and not call.resource.strategy.returns_deleted_object:
        return json_response(_deleted_status(call.resource, call.name, outcome.stored.uid))
    return object_response(
        call.resource, outcome.stored, call.representation, warnings=outcome.warnings
    )


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


async def delete_collection(call: Call) -> Answer:
    """Delete every object that the selectors mean; answers what they were."""
    options = delete_options(_without_list_version(call.request))
    listed = list_options(call.request)
    selection = selection_of(call.resource, call.namespace, listed)
    storage = call.cluster.storage
    collection = storage.collection(call.resource.collection_key)
    page = list_page(storage, collection, selection, listed)
    for item in page.items:
        namespace, _, name = item.key.rpartition("/")
        if collection.get(item.key) is not None:
            await delete_object(call.cluster, Target(call.resource, namespace, name), options)
    return list_response(call.resource, page.items, page.metadata, call.representation)


def _without_list_version(request: Request) -> Request:
    """The request without the list's resourceVersion, which is no precondition of deletions."""
    query = {key: value for key, value in request.query.items() if key != "resourceVersion"}
    return replace(request, query=query)


# -- bodies


def _read_body(call: Call, options: WriteOptions) -> tuple[Object, list[str]]:
    obj, duplicates = decode_object(call.request, call.resource.kind)
    return read_object(call.resource, obj, duplicates, options.field_validation)


def _check_namespace(call: Call, obj: Object) -> None:
    given = obj["metadata"].get("namespace")
    if call.resource.namespaced and given and given != call.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )


def _check_names(call: Call, obj: Object) -> None:
    name = obj["metadata"].get("name")
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


def _written(call: Call, outcome: Outcome, warnings: list[str]) -> Response:
    return object_response(
        call.resource,
        outcome.stored,
        call.representation,
        201 if outcome.created else 200,
        [*warnings, *outcome.warnings],
    )


OBJECT_VERBS: dict[str, tuple[str, Verb]] = {
    "GET": ("get", get),
    "HEAD": ("get", get),
    "PUT": ("update", update),
    "PATCH": ("patch", patch),
    "DELETE": ("delete", delete),
}
"""Verb and handler of each method on an object."""

COLLECTION_VERBS: dict[str, tuple[str, Verb]] = {
    "GET": ("list", list_objects),
    "HEAD": ("list", list_objects),
    "POST": ("create", create),
    "DELETE": ("deletecollection", delete_collection),
}
"""Verb and handler of each method on a collection."""
