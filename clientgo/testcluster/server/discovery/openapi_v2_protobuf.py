"""OpenAPI v2 in protobuf: the only form in which kubectl and client-go read it.

Promises: the documents of ``openapi_v2`` as gnostic's messages. kubectl (1.33 too) asks for it to
check fields before it creates, applies or replaces.

Does not promise members that these documents do not have.

Upstream: ``openapiv2/OpenAPIv2.proto`` of github.com/google/gnostic, whose field numbers these are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from clientgo.testcluster.server.http.protobuf.wire import (
    bytes_field,
    float_field,
    number_field,
    text_field,
)
from clientgo.testcluster.server.storage.deep_values import encode

V2_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Node = dict[str, Any]


def encode_v2(document: Node) -> bytes:
    """Encode a document, or a part: joined parts are one document."""
    parts = []
    if "swagger" in document:
        parts.append(text_field(1, document["swagger"]))
    if "info" in document:
        info = document["info"]
        parts.append(bytes_field(2, text_field(1, info["title"]) + text_field(2, info["version"])))
    if "paths" in document:
        paths = document["paths"].items()
        parts.append(bytes_field(8, _named(2, ((path, _path(item)) for path, item in paths))))
    if "definitions" in document:
        parts.append(bytes_field(9, _schemas(document["definitions"])))
    return b"".join(parts)


def _path(item: Node) -> bytes:
    return bytes_field(8, _operation(item["patch"]))


def _operation(operation: Node) -> bytes:
    parameters = b"".join(
        # Each item is a parameter, which is a non-body parameter, which is a query parameter.
        bytes_field(8, bytes_field(1, bytes_field(2, bytes_field(3, _query_parameter(parameter)))))
        for parameter in operation["parameters"]
    )
    responses = (
        (code, bytes_field(1, text_field(1, response["description"])))
        for code, response in operation["responses"].items()
    )
    return parameters + bytes_field(9, _named(1, responses)) + _extensions(13, operation)


def _query_parameter(parameter: Node) -> bytes:
    return (
        text_field(2, parameter["in"])
        + text_field(4, parameter["name"])
        + text_field(6, parameter["type"])
        + number_field(20, parameter["uniqueItems"])
    )


def _schemas(schemas: Node) -> bytes:
    return _named(1, ((name, _schema(schema)) for name, schema in schemas.items()))


_WRITERS: Mapping[str, tuple[int, Callable[[int, Any], bytes]]] = {
    "$ref": (1, text_field),
    "format": (2, text_field),
    "title": (3, text_field),
    "description": (4, text_field),
    "multipleOf": (6, float_field),
    "maximum": (7, float_field),
    "exclusiveMaximum": (8, number_field),
    "minimum": (9, float_field),
    "exclusiveMinimum": (10, number_field),
    "maxLength": (11, number_field),
    "minLength": (12, number_field),
    "pattern": (13, text_field),
    "maxItems": (14, number_field),
    "minItems": (15, number_field),
    "uniqueItems": (16, number_field),
    "maxProperties": (17, number_field),
    "minProperties": (18, number_field),
}
"""The numbers and types of keywords whose values are no schemas."""


def _schema(schema: Node) -> bytes:
    parts = [
        write(number, schema[key]) for key, (number, write) in _WRITERS.items() if key in schema
    ]
    if "default" in schema:
        parts.append(bytes_field(5, _any(schema["default"])))
    parts += [text_field(19, name) for name in schema.get("required", ())]
    parts += [bytes_field(20, _any(value)) for value in schema.get("enum", ())]
    members = schema.get("additionalProperties")
    if isinstance(members, bool):
        parts.append(bytes_field(21, number_field(2, members)))
    elif members is not None:
        parts.append(bytes_field(21, bytes_field(1, _schema(members))))
    if "type" in schema:
        parts.append(bytes_field(22, text_field(1, schema["type"])))
    if "items" in schema:
        parts.append(bytes_field(23, bytes_field(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(bytes_field(25, _schemas(schema["properties"])))
    if "externalDocs" in schema:
        docs = schema["externalDocs"]
        shown = text_field(1, docs.get("description", "")) + text_field(2, docs.get("url", ""))
        parts.append(bytes_field(29, shown))
    if "example" in schema:
        parts.append(bytes_field(30, _any(schema["example"])))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _extensions(number: int, node: Node) -> bytes:
    return _named(number, ((key, _any(node[key])) for key in node if key.startswith("x-")))


def _any(value: Any) -> bytes:
    return bytes_field(2, encode(value))  # JSON is YAML


def _named(number: int, members: Iterable[tuple[str, bytes]]) -> bytes:
    """Encode a map: a message of a name and a value for each member."""
    entries = (text_field(1, name) + bytes_field(2, value) for name, value in members)
    return b"".join(bytes_field(number, entry) for entry in entries)
