"""Refuses objects that a cluster could not store, because etcd bounds a request.

Custom resources are measured exactly, objects of built-in kinds by the texts in them: a cluster
stores those in protobuf, where names of fields take no bytes. So what a cluster stores is never
refused here, but some objects of built-in kinds of just above the bound are stored.

Upstream: apiserver ``storage/etcd3``, which answers with the unclassified errors of etcd's client.
"""

from __future__ import annotations

from typing import Any

from clientgo.testcluster.server.resources.errors import internal
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.testcluster.server.storage.storage import Object

MOST_BYTES = 1_572_864
"""The 1.5 MiB of etcd's ``--max-request-bytes``."""

MOST_MESSAGE_BYTES = 2_097_152
"""The 2 MiB above which etcd's client sends no request."""

_BASE64_FIELDS = ("data", "binaryData")
"""Of Secrets and ConfigMaps; three stored bytes are four characters."""


def check_stored_size(resource: Resource, obj: Object, raw: bytes) -> None:
    """Check that an object and its encoded form are not too large to be stored.

    Raises:
        FailedRequestError: 500, as a cluster answers.
    """
    if len(raw) <= MOST_BYTES:
        return
    size = len(raw) if resource.is_custom else _least_protobuf_size(obj)
    if size > MOST_MESSAGE_BYTES:
        raise internal(
            "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
            f"({size} vs. {MOST_MESSAGE_BYTES})"
        )
    if size > MOST_BYTES:
        raise internal("etcdserver: request is too large")


def _least_protobuf_size(obj: Object) -> int:
    metadata = obj["metadata"]
    size = sum(len(encode(owned["fieldsV1"])) for owned in metadata.get("managedFields", ()))
    size += sum(_text_bytes(value) for key, value in metadata.items() if key != "managedFields")
    for field, value in obj.items():
        if field in _BASE64_FIELDS:
            size += _text_bytes(value) * 3 // 4
        elif field != "metadata":
            size += _text_bytes(value)
    return size


def _text_bytes(value: Any) -> int:
    """Return the bytes of all texts in a value, without the keys."""
    found = 0
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            found += len(item) if item.isascii() else len(item.encode())
        elif isinstance(item, dict):
            rest.extend(item.values())
        elif isinstance(item, list):
            rest.extend(item)
    return found
