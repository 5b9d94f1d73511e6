"""Random values: of a schema, with mistakes, and in protobuf."""

from __future__ import annotations

import base64
import copy
import random
from collections.abc import Mapping
from typing import Any

from clientgo.testcluster.server.http.protobuf.decoding import MAGIC
from clientgo.testcluster.server.http.protobuf.fields import (
    UnknownKindError,
    fields_of,
    message_of_kind,
)
from tests.testcluster.server.fuzz.objects import JUNK

NAMES = ["a", "b", "c", "d", "default", "kube-system"]
_TEXTS = [
    *(
        "a",
        "b",
        "x",
        "",
        "default",
        "kube-system",
        "app",
        "web",
        "nginx:1",
        "http",
        "/",
        "/tmp",
        ".",
    ),
    *("TCP", "ClusterIP", "Always", "Never", "OnFailure", "Exists", "In", "Equal", "NoSchedule"),
    *(
        "RollingUpdate",
        "Recreate",
        "ReadWriteOnce",
        "Filesystem",
        "Fail",
        "Ignore",
        "None",
        "Prefix",
    ),
    *("1", "100m", "1Gi", "50%", "1e3", "0.5", "-1", "9" * 30, "* * * * *", "@daily", "10.0.0.1"),
    *(
        "::1",
        "10.0.0.0/8",
        "example.com",
        "https://127.0.0.1:1/x",
        "2020-01-01T00:00:00Z",
        "x" * 300,
    ),
    *("self == oldSelf", "object.spec.x > 1", "1 +", "é", "a b", "a/b", "A", "true", "null", "\0"),
    *(
        "kubernetes.io/hostname",
        "example.com/x",
        "Deployment",
        "apps/v1",
        "v1",
        "apps",
        "*",
        "pods",
    ),
]
_TIMES = ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.000000Z", "2020-13-01T00:00:00Z", "x", ""]
_NUMBERS = [0, 1, 1, 2, 3, 80, 443, 8080, 65536, -1, 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 100]


class Values:
    """Makes values with a source of randomness."""

    def __init__(self, source: random.Random, components: Mapping[str, Any]) -> None:
        self._random = source
        self._components = components

    def name(self) -> str:
        return self._random.choice(NAMES)

    def text(self) -> str:
        return self._random.choice(_TEXTS)

    def object_of(self, api_version: str, kind: str, schema: Mapping[str, Any]) -> dict[str, Any]:
        """An object of a kind, mostly of the right types."""
        made = self.of(schema, depth=0, mistakes=self._random.choice((0.0, 0.0, 0.01, 0.05)))
        if not isinstance(made, dict):
            made = {}
        metadata: dict[str, Any] = {"name": self.name()}
        if self._random.random() < 0.3:
            more = self.of({"$ref": "#/components/schemas/" + _METADATA}, 1, 0.02)
            metadata = {**more, **metadata} if isinstance(more, dict) else metadata
            metadata.pop("resourceVersion", None)
            if self._random.random() < 0.8:
                metadata.pop("managedFields", None)
                metadata.pop("ownerReferences", None)
                metadata.pop("namespace", None)
        return {**made, "apiVersion": api_version, "kind": kind, "metadata": metadata}

    def of(self, schema: Mapping[str, Any], depth: int, mistakes: float) -> Any:
        """A value of a schema; ``mistakes`` is the probability of another one."""
        chance = self._random.random
        if chance() < mistakes:
            return copy.deepcopy(self._random.choice(JUNK))
        schema = self._resolved(schema)
        if "enum" in schema and chance() < 0.9:
            return self._random.choice(schema["enum"])
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return self._random.choice((1, 0, "50%", "http", "80", -1))
        match schema.get("type"):
            case "object" | None if "properties" in schema:
                return self._members(schema, depth, mistakes)
            case "object":
                inner = schema.get("additionalProperties")
                if not isinstance(inner, Mapping):
                    return {}
                count = self._random.choice((0, 1, 1, 2))
                return {
                    self.text() or "k": self.of(inner, depth + 1, mistakes) for _ in range(count)
                }
            case "array":
                count = self._random.choice((0, 1, 1, 1, 2)) if depth < 9 else 0
                return [self.of(schema.get("items", {}), depth + 1, mistakes) for _ in range(count)]
            case "string":
                return self._text_of(schema.get("format", ""))
            case "integer" | "number":
                return self._random.choice(_NUMBERS)
            case "boolean":
                return chance() < 0.5
        return self._random.choice(({}, [], "x", 1, None, {"a": {"b": 1}}))

    def _members(self, schema: Mapping[str, Any], depth: int, mistakes: float) -> dict[str, Any]:
        required = set(schema.get("required", ()))
        properties = schema["properties"]
        share = min(0.9, (6 if depth < 2 else 3) / (len(properties) + 1))
        return {
            name: self.of(inner, depth + 1, mistakes)
            for name, inner in properties.items()
            if (name in required and self._random.random() < 0.95)
            or (depth < 9 and self._random.random() < share)
        }

    def _text_of(self, format_: str) -> str:
        if format_ == "byte":
            return base64.b64encode(self._random.randbytes(self._random.randrange(9))).decode()
        return self._random.choice(_TIMES) if format_ == "date-time" else self.text()

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        for _ in range(5):
            if "allOf" in schema:
                schema = schema["allOf"][0]
            elif "$ref" in schema:
                name = schema["$ref"].rpartition("/")[2]
                schema = self._components.get(name, {})
            else:
                break
        return schema

    def with_mistakes(self, value: Any, most: int = 3) -> Any:
        """A copy with up to ``most`` places replaced, removed or added."""
        value = copy.deepcopy(value)
        for _ in range(self._random.randrange(most + 1)):
            holder = value
            while isinstance(holder, dict | list) and holder:
                key = self._random.choice(
                    list(holder) if isinstance(holder, dict) else range(len(holder))
                )
                if not isinstance(holder[key], dict | list) or self._random.random() < 0.25:
                    self._damage(holder, key)
                    break
                holder = holder[key]
        return value

    def _damage(self, holder: Any, key: Any) -> None:
        what = self._random.choice(("junk", "junk", "remove", "add", "text", "number", "repeat"))
        if what == "remove":
            del holder[key]
        elif what == "add" and isinstance(holder, dict):
            holder[self.text()] = copy.deepcopy(self._random.choice(JUNK))
        elif what == "repeat" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        elif what == "text":
            holder[key] = self.text()
        elif what == "number":
            holder[key] = self._random.choice(_NUMBERS)
        else:
            holder[key] = copy.deepcopy(self._random.choice(JUNK))

    # -- protobuf

    def protobuf(self, api_version: str, kind: str) -> bytes:
        """A body for a kind, mostly of the right wire types."""
        try:
            raw = self._message(message_of_kind(api_version, kind), 0)
        except UnknownKindError:  # a kind that has none
            raw = self._random.randbytes(9)
        header = _bytes_field(1, api_version.encode()) + _bytes_field(2, kind.encode())
        body = MAGIC + _bytes_field(1, header) + _bytes_field(2, raw)
        if self._random.random() < 0.2:
            position = self._random.randrange(len(body))
            body = body[:position] + self._random.randbytes(2) + body[position + 1 :]
        return body

    def _message(self, name: str, depth: int) -> bytes:
        fields = fields_of(name)
        raw = b""
        for number, (json_name, type_, _) in fields.items():
            wanted = 0.8 if json_name in ("metadata", "name", "") else 0.25
            if self._random.random() > wanted or depth > 6:
                continue
            plain = type_.removeprefix("[]").removeprefix("{}")
            for _ in range(self._random.choice((1, 1, 2)) if type_ != plain else 1):
                value = self._wire(number, plain, depth)
                if type_.startswith("{}"):
                    key = _bytes_field(1, self.text().encode())
                    value = _bytes_field(number, key + self._wire(2, plain, depth))
                raw += value
        return raw

    def _wire(self, number: int, type_: str, depth: int) -> bytes:
        if self._random.random() < 0.02:
            return _varint(number << 3 | self._random.randrange(8)) + self._random.randbytes(3)
        match type_:
            case "int" | "bool":
                value = self._random.choice(_NUMBERS) if type_ == "int" else 1
                return _varint(number << 3) + _varint(value & (1 << 64) - 1)
            case "string":
                return _bytes_field(number, self.text().encode())
            case "bytes":
                return _bytes_field(number, self._random.randbytes(4))
            case "quantity":
                return _bytes_field(number, _bytes_field(1, self.text().encode()))
            case "json":
                return _bytes_field(number, _bytes_field(1, b'{"a":1}'))
            case "time" | "micro-time":
                return _bytes_field(
                    number, _varint(1 << 3) + _varint(self._random.choice((0, 1, 2**62)))
                )
            case "int-or-string":
                return _bytes_field(number, _varint(2 << 3) + _varint(80))
            case "list-message":
                return _bytes_field(number, _bytes_field(1, self.text().encode()))
        return _bytes_field(number, self._message(type_, depth + 1))


_METADATA = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def _varint(number: int) -> bytes:
    made = bytearray()
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*made, number])


def _bytes_field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value
