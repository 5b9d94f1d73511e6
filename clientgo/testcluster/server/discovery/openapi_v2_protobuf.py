"""OpenAPI v2 in protobuf: the only form in which kubectl and client-go read it.

Promises: the documents of ``openapi_v2`` as gnostic's messages. kubectl (1.33 too) asks for it to
check fields before it creates, applies or replaces.

Does not promise members that these documents do not have.

Upstream: ``openapiv2/OpenAPIv2.proto`` of github.com/google/gnostic, whose field numbers these are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from clientgo.testcluster.server.storage.deep_values import encode

V2_PROTOBUF_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"

Node = dict[str, Any]


def encode_v2(document: Node) -> bytes:
    """Encode a document, or a part: joined parts are one document."""
    parts = []
    if "swagger" in document:
        parts.append(_text(1, document["swagger"]))
    if "info" in document:
        info = document["info"]
        parts.append(_field(2, _text(1, info["title"]) + _text(2, info["version"])))
    if "paths" in document:
        paths = document["paths"].items()
        parts.append(_field(8, _named(2, ((path, _path(item)) for path, item in paths))))
    if "definitions" in document:
        parts.append(_field(9, _schemas(document["definitions"])))
    return b"".join(parts)


def _path(item: Node) -> bytes:
    return _field(8, _operation(item["patch"]))


def _operation(operation: Node) -> bytes:
    parameters = b"".join(
        # Each item is a parameter, which is a non-body parameter, which is a query parameter.
        _field(8, _field(1, _field(2, _field(3, _query_parameter(parameter)))))
        for parameter in operation["parameters"]
    )
    responses = (
        (code, _field(1, _text(1, response["description"])))
        for code, response in operation["responses"].items()
    )
    return parameters + _field(9, _named(1, responses)) + _extensions(13, operation)


def _query_parameter(parameter: Node) -> bytes:
    return (
        _text(2, parameter["in"])
        + _text(4, parameter["name"])
        + _text(6, parameter["type"])
        + _flag(20, parameter["uniqueItems"])
    )


def _schemas(schemas: Node) -> bytes:
    return _named(1, ((name, _schema(schema)) for name, schema in schemas.items()))


def _schema(schema: Node) -> bytes:
    parts = [
        _text(number, schema[key])
        for number, key in ((1, "$ref"), (2, "format"), (4, "description"))
        if key in schema
    ]
    if "default" in schema:
        parts.append(_field(5, _any(schema["default"])))
    parts += [_text(19, name) for name in schema.get("required", ())]
    parts += [_field(20, _any(value)) for value in schema.get("enum", ())]
    members = schema.get("additionalProperties")
    if isinstance(members, bool):
        parts.append(_field(21, _flag(2, members)))
    elif members is not None:
        parts.append(_field(21, _field(1, _schema(members))))
    if "type" in schema:
        parts.append(_field(22, _text(1, schema["type"])))
    if "items" in schema:
        parts.append(_field(23, _field(1, _schema(schema["items"]))))
    if "properties" in schema:
        parts.append(_field(25, _schemas(schema["properties"])))
    parts.append(_extensions(31, schema))
    return b"".join(parts)


def _extensions(number: int, node: Node) -> bytes:
    return _named(number, ((key, _any(node[key])) for key in node if key.startswith("x-")))


def _any(value: Any) -> bytes:
    return _field(2, encode(value))  # JSON is YAML


def _named(number: int, members: Iterable[tuple[str, bytes]]) -> bytes:
    """Encode a map: a message of a name and a value for each member."""
    return b"".join(_field(number, _text(1, name) + _field(2, value)) for name, value in members)


# -- the wire


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3) + _varint(int(value))


def _field(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
