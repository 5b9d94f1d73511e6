"""Stored objects as the bytes of a response, in the negotiated representation.

Promises: in the usual form (JSON, the object itself) nothing is decoded or encoded again: a get
answers the stored bytes, a list joins them. Tables (what ``kubectl get`` prints), metadata-only
objects and YAML are made on request.

Upstream: apiserver ``endpoints/handlers/response.go``, ``pkg/printers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clientgo.apiserver.http.messages import Response
from clientgo.apiserver.http.negotiation import Form, Included, Representation
from clientgo.apiserver.resources.resource import Resource
from clientgo.apiserver.storage.storage import Object, StoredObject, decode, encode

META_VERSION = "meta.k8s.io/v1"


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
    return Response(status, serialise(body, representation), representation.media_type)


def serialise(body: Any, representation: Representation) -> bytes:
    """Encode a JSON value in the negotiated media type."""
    if representation.media_type == "application/json":
        return encode(body) + b"\n"
    import yaml  # slow to import, and rarely needed

    text: str = yaml.safe_dump(body, sort_keys=False)
    return text.encode()


def render_object(resource: Resource, stored: StoredObject, representation: Representation) -> Any:
    """Return one object in the negotiated form, as a JSON value."""
    obj = resource.decode(stored)
    if representation.form is Form.OBJECT:
        return obj
    if representation.form is Form.METADATA:
        return partial_metadata(obj)
    version = obj["metadata"].get("resourceVersion", "")
    return make_table(resource, [obj], {"resourceVersion": version}, representation.included)


def partial_metadata(obj: dict[str, Any]) -> dict[str, Any]:
    """Return an object reduced to its metadata."""
    return {
        "apiVersion": META_VERSION,
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
        body = make_table(resource, objects, metadata, representation.included)
    elif representation.form is Form.METADATA:
        body = {
            "kind": f"{Form.METADATA.value}List",
            "apiVersion": META_VERSION,
            "metadata": metadata,
            "items": [partial_metadata(obj) for obj in objects],
        }
    else:
        body = decode(encode_list(resource, items, metadata))
    return Response(200, serialise(body, representation), representation.media_type)


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
        return b"".join((head, b',"items":[', b",".join(encoded), b"]}\n"))
    cut = len(resource.type_prefix)
    bare = b",{".join([raw[cut:] for raw in encoded])
    return b"".join((head, b',"items":[{', bare, b"]}\n"))


# -- tables


def make_table(
    resource: Resource,
    objects: Sequence[Object],
    metadata: dict[str, Any],
    included: Included = Included.METADATA,
) -> dict[str, Any]:
    """Return a Table of objects; ``metadata`` is that of the list."""
    columns = resource.strategy.columns
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in columns],
        "rows": [
            {
                "cells": [column.cell(obj) for column in columns],
                "object": _included_object(obj, included),
            }
            for obj in objects
        ],
    }


def _included_object(obj: Object, included: Included) -> Object | None:
    if included is Included.NONE:
        return None
    if included is Included.OBJECT:
        return obj
    return {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": obj["metadata"],
    }
