"""Stored objects as the bytes of a response, in the negotiated representation.

Promises: in the usual form (JSON, the object itself) nothing is decoded or encoded again: a get
answers the stored bytes, a list joins them. Tables (what ``kubectl get`` prints), metadata-only
objects and YAML are made on request.

Upstream: apiserver ``endpoints/handlers/response.go``, ``pkg/printers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clientgo.testcluster.server.http.messages import Response, value_response
from clientgo.testcluster.server.http.negotiation import Form, Included, Representation
from clientgo.testcluster.server.resources.errors import FailedRequestError, internal
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import decode_deep, encode
from clientgo.testcluster.server.storage.storage import Object, StoredObject, decode

META_VERSION = "meta.k8s.io/v1"
"""apiVersion of a Table or of metadata, if the client does not ask for another."""


def rendering_size(
    resource: Resource, items: Sequence[StoredObject], representation: Representation
) -> int:
    """Return the bytes that are decoded for a response in another form than the stored one."""
    if representation.is_stored_form:
        items = [item for item in items if resource.reads_again(item)] if resource.read else ()
    return sum([len(item.raw) for item in items])


def object_response(
    resource: Resource,
    stored: StoredObject,
    representation: Representation,
    status: int = 200,
) -> Response:
    """Return the response with one object."""
    if representation.is_stored_form:
        return Response(status, resource.encoded(stored) + b"\n")
    body = render_object(resource, stored, representation)
    return value_response(body, representation.media_type, status)


def render_object(resource: Resource, stored: StoredObject, representation: Representation) -> Any:
    """Return one object in the negotiated form, as a JSON value."""
    obj = resource.decode(stored)
    if representation.form is Form.OBJECT:
        return obj
    if representation.form is Form.METADATA:
        return partial_metadata(obj, representation.version)
    if representation.form is Form.METADATA_LIST:
        if resource.is_custom:
            raise internal("content is not a list")
        raise _other_form(representation.form, "not a list")
    version = obj["metadata"].get("resourceVersion", "")
    return make_table(resource, [obj], {"resourceVersion": version}, representation)


def _other_form(form: Form, what: str) -> FailedRequestError:
    message = f"you requested {form.value}, but the requested object is {what}"
    return FailedRequestError(406, "NotAcceptable", message)


def partial_metadata(obj: dict[str, Any], api_version: str = META_VERSION) -> dict[str, Any]:
    """Return an object reduced to its metadata."""
    return {
        "apiVersion": api_version,
        "kind": Form.METADATA.value,
        "metadata": obj["metadata"],
    }


def list_response(
    resource: Resource,
    items: Sequence[StoredObject],
    metadata: dict[str, Any],
    representation: Representation,
) -> Response:
    """Return the response with a list."""
    if representation.is_stored_form:
        return Response(200, encode_list(resource, items, metadata))
    objects = [resource.decode(item) for item in items]
    body: dict[str, Any]
    if representation.form is Form.TABLE:
        body = make_table(resource, objects, metadata, representation)
    elif representation.form is Form.METADATA:
        raise _other_form(representation.form, "a list")
    elif representation.form is Form.METADATA_LIST:
        body = {
            "kind": Form.METADATA_LIST.value,
            "apiVersion": representation.version,
            "metadata": metadata,
            "items": [partial_metadata(obj, representation.version) for obj in objects],
        }
    else:
        raw = encode_list(resource, items, metadata)
        body = decode_deep(raw) if any(item.is_deep for item in items) else decode(raw)
    return value_response(body, representation.media_type)


def encode_list(
    resource: Resource, items: Sequence[StoredObject], metadata: dict[str, Any]
) -> bytes:
    """Return a list in JSON: a head, the stored objects joined by commas, and a newline."""
    kind, version = resource.list_kind, resource.api_version
    if resource.is_custom:
        metadata = {"continue": "", **metadata}
    head = f'{{"kind":"{kind}","apiVersion":"{version}","metadata":'.encode() + encode(metadata)
    encoded = [resource.encoded(item) for item in items]
    if not encoded:
        return head + b',"items":[]}\n'
    if resource.is_custom:
        opening, joint = b',"items":[', b","
    else:
        cut = len(resource.type_prefix)
        encoded = [raw[cut:] for raw in encoded]
        opening, joint = b',"items":[{', b",{"
    # One join: each copy of a list of 20 MB takes some milliseconds.
    encoded[0] = head + opening + encoded[0]
    encoded[-1] += b"]}\n"
    return joint.join(encoded)


# -- tables


def make_table(
    resource: Resource,
    objects: Sequence[Object],
    metadata: dict[str, Any],
    representation: Representation,
) -> dict[str, Any]:
    """Return a Table of objects; ``metadata`` is that of the list."""
    return {
        "kind": "Table",
        "apiVersion": representation.version,
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in resource.strategy.columns],
        "rows": [_row(resource, obj, representation) for obj in objects],
    }


def _row(resource: Resource, obj: Object, representation: Representation) -> dict[str, Any]:
    row: dict[str, Any] = {"cells": [column.cell(obj) for column in resource.strategy.columns]}
    if conditions := resource.strategy.row_conditions(obj):
        row["conditions"] = conditions
    return row | {"object": _included_object(obj, representation)}


def _included_object(obj: Object, representation: Representation) -> Object | None:
    match representation.included:
        case Included.NONE:
            return None
        case Included.OBJECT:
            return obj
    return partial_metadata(obj, representation.version)
