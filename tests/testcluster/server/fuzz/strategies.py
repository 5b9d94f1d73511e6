"""Requests with errors, as hypothesis strategies.

A request is made of resources, parameters and kinds that the server knows, with errors in them:
random bytes alone would rarely pass the first check.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

from tests.testcluster.server.fuzz.expressions import JSON_PATHS, PATTERNS, RULES, SPEC_RULES
from tests.testcluster.server.fuzz.objects import JUNK, OBJECTS
from tests.testcluster.server.fuzz.request_parts import (
    ACCEPTS,
    CONTENT_TYPES,
    FRAGMENTS,
    JSON_PATCH,
    OTHER_PATHS,
    POINTERS,
    QUERY,
    RAW_BODIES,
    SUBRESOURCES,
    encode,
)
from tests.testcluster.server.fuzz.wire import FuzzedRequest
from tests.testcluster.server.http_api import widget_crd

junk = st.sampled_from(JUNK) | st.text(max_size=8) | st.integers() | st.floats()
words = st.sampled_from(
    ["a", "b", "default", "kube-system", "", "..", "A", "x" * 300, "*"]
) | st.text(st.characters(codec="utf-8"), max_size=6)

_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer", "default": 3, "x-kubernetes-validations": []},
        "num": {"type": "number", "nullable": True},
        "list": {"type": "array", "items": {"type": "string"}, "maxItems": 9},
        "map": {"type": "object", "additionalProperties": {"type": "integer"}},
        "set": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"name": {"type": "string"}},
                "required": ["name"],
            },
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
        },
        "any": {"x-kubernetes-preserve-unknown-fields": True},
        "port": {"x-kubernetes-int-or-string": True},
    },
}

_rules = st.lists(
    st.fixed_dictionaries(
        {"rule": st.sampled_from(RULES)},
        optional={
            "message": st.text(max_size=5),
            "messageExpression": st.sampled_from(RULES),
            "reason": st.sampled_from(["FieldValueInvalid", "FieldValueRequired", "x"]),
            "fieldPath": st.sampled_from(JSON_PATHS),
            "optionalOldSelf": st.booleans(),
        },
    ),
    max_size=2,
)
_LEAVES = {
    "string": {
        "format": st.sampled_from(
            ["date-time", "byte", "x", "ipv4", "duration", "uuid", "cidr", "email"]
        ),
        "pattern": st.sampled_from(PATTERNS),
        "maxLength": st.integers(-1, 5),
        "enum": st.lists(junk, min_size=1, max_size=3),
    },
    "integer": {
        "minimum": st.integers(),
        "multipleOf": st.integers(-1, 3),
        "format": st.just("int32"),
    },
    "number": {
        "maximum": st.floats(allow_nan=False, allow_infinity=False),
        "exclusiveMaximum": st.booleans(),
    },
    "boolean": {},
    "object": {
        "x-kubernetes-preserve-unknown-fields": st.booleans(),
        "maxProperties": st.integers(-1, 3),
    },
}


def _schema(of_type: str, **more: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just(of_type)},
        optional={
            "nullable": st.booleans(),
            "default": junk,
            "x-kubernetes-validations": _rules,
            "not": st.fixed_dictionaries({}, optional={"enum": st.lists(junk, max_size=2)}),
            "anyOf": st.lists(
                st.sampled_from([{"minLength": 1}, {"required": ["a"]}, {}]), max_size=2
            ),
            **more,
        },
    )


_FIELDS = [
    "size",
    "list",
    "map",
    "set",
    "name",
    "any",
    "status",
    "metadata",
    "apiVersion",
    "port",
    "",
]
schemas = st.recursive(
    st.one_of(_schema(of_type, **more) for of_type, more in _LEAVES.items()),
    lambda inner: (
        _schema(
            "object",
            properties=st.dictionaries(st.sampled_from(_FIELDS), inner, max_size=4),
            required=st.lists(st.sampled_from(_FIELDS), max_size=3),
        )
        | _schema("object", additionalProperties=inner)
        | _schema(
            "array",
            items=inner,
            **{"x-kubernetes-list-type": st.sampled_from(["set", "atomic", "map"])},
        )
    ),
    max_leaves=8,
)


@st.composite
def _typical_spec(draw: st.DrawFn) -> dict[str, Any]:
    rules = draw(st.lists(st.sampled_from(SPEC_RULES), min_size=1, max_size=2))
    return {**_SPEC, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    """A CustomResourceDefinition of Widgets with something odd in it."""
    crd = widget_crd()
    version = crd["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"] = {
        "type": "object",
        "properties": {
            "spec": draw(_typical_spec() | _typical_spec() | schemas),
            "status": draw(schemas),
        },
    }
    if draw(st.integers(0, 3)) == 0:
        version["additionalPrinterColumns"] = [
            {
                "name": draw(words),
                "type": draw(st.sampled_from(["string", "integer", "date", "x"])),
                "jsonPath": draw(st.sampled_from(JSON_PATHS)),
            }
        ]
    if draw(st.integers(0, 3)) == 0:
        version["subresources"]["scale"] = {
            "specReplicasPath": draw(st.sampled_from(JSON_PATHS)),
            "statusReplicasPath": draw(st.sampled_from([".status.ready", ".status", *JSON_PATHS])),
            "labelSelectorPath": draw(
                st.sampled_from([".spec.map", ".spec.list", ".status.sel", ""])
            ),
        }
    if draw(st.integers(0, 3)) == 0:
        version["selectableFields"] = [{"jsonPath": draw(st.sampled_from(JSON_PATHS))}]
    return draw(mistaken(crd)) if draw(st.integers(0, 3)) == 0 else crd


# -- mistakes


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    children: Any = ()
    if isinstance(value, dict):
        children = value.items()
    elif isinstance(value, list) and len(path) < 20:
        children = enumerate(value)
    for key, item in children:
        yield (*path, key)
        yield from _places(item, (*path, key))


def _copy(value: Any) -> Any:
    return json.loads(json.dumps(value))


@st.composite
def mistaken(draw: st.DrawFn, correct: Any) -> Any:
    """A JSON value with a few things in it replaced, added or left out."""
    value = _copy(correct)
    for _ in range(draw(st.sampled_from([0, 1, 1, 2, 3]))):
        places = list(_places(value))
        if not places:
            return _copy(draw(junk))
        *path, key = draw(st.sampled_from(places))
        holder = value
        for step in path:
            holder = holder[step]
        match draw(st.sampled_from(["replace", "replace", "remove", "add"])):
            case "replace":
                holder[key] = _copy(draw(junk))
            case "remove":
                del holder[key]
            case "add" if isinstance(holder, dict):
                holder[draw(words)] = _copy(draw(junk))
            case _:
                holder.append(_copy(draw(junk)))
    return value


# -- requests

_HEADERS = st.lists(
    st.tuples(st.just("Accept"), st.sampled_from(ACCEPTS))
    | st.tuples(st.just("Content-Type"), st.sampled_from(CONTENT_TYPES))
    | st.tuples(st.just("Accept-Encoding"), st.sampled_from(["gzip", "gzip;q=0", "x"]))
    | st.tuples(st.just("Authorization"), st.sampled_from(["Bearer x", "", "Basic eA=="])),
    max_size=3,
)

_envelope = (
    b"\n\x0f\n\x02v1\x12\tConfigMap\x12",
    b"\n\x0b\n\x02v1\x12\x05Event\x12",
    b"\n",
    b"\x12",
)
protobuf = st.builds(
    lambda head, raw: head + bytes([len(raw)]) + raw,
    st.sampled_from(_envelope),
    st.lists(
        st.sampled_from(
            [b"\n\x03\n\x01a", b"\x12\x06\n\x01k\x12\x01v", b"\n", b"\xff" * 11, b"\x08"]
        )
        | st.binary(max_size=6),
        max_size=5,
    ).map(b"".join),
)
"""Bodies of kubectl and Go clients, in part."""

_OPERATIONS = st.lists(
    st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", "x"]),
            "path": st.sampled_from(POINTERS),
        },
        optional={"value": junk, "from": st.sampled_from(POINTERS)},
    )
    | junk,
    max_size=4,
)


@st.composite
def requests(draw: st.DrawFn) -> FuzzedRequest:
    """Any request."""
    if draw(st.integers(0, 9)) == 0:
        path = draw(st.sampled_from(OTHER_PATHS))
        correct: Any = {}
    else:
        path, correct = draw(st.sampled_from(sorted(OBJECTS.items(), key=lambda item: item[0])))
        if draw(st.booleans()):
            path += "/" + quote(draw(words), safe="*")
            if draw(st.integers(0, 3)) == 0:
                path += "/" + draw(st.sampled_from(SUBRESOURCES))
        if draw(st.integers(0, 9)) == 0:
            path = path.replace("default", quote(draw(words), safe="*"))
    method = draw(
        st.sampled_from(["GET", "POST", "PUT", "PATCH", "DELETE", "GET", "HEAD", "OPTIONS"])
    )
    query = draw(
        st.lists(
            st.sampled_from(sorted(QUERY)).flatmap(
                lambda name: st.tuples(st.just(name), st.sampled_from(QUERY[name]) | words)
            ),
            max_size=3,
        )
    )
    headers = draw(_HEADERS)
    if method == "PATCH" and draw(st.booleans()):
        headers.insert(0, ("Content-Type", JSON_PATCH))
        body = encode(draw(_OPERATIONS))
    elif method == "PATCH":
        headers.insert(0, ("Content-Type", draw(st.sampled_from(CONTENT_TYPES[6:]))))
        body = encode(draw(mistaken(correct)))
    elif draw(st.integers(0, 7)) == 0:
        headers.insert(0, ("Content-Type", "application/vnd.kubernetes.protobuf"))
        body = b"k8s\0" + draw(protobuf)
    elif draw(st.integers(0, 4)) == 0:
        body = draw(st.sampled_from(RAW_BODIES) | st.binary(max_size=20))
    elif method == "DELETE":
        options = {
            "propagationPolicy": "Foreground",
            "preconditions": {"uid": "u"},
            "dryRun": ["All"],
        }
        body = encode(draw(mistaken(options)))
    else:
        body = encode(draw(mistaken(correct)))
    target = path + ("?" + urlencode(query) if query else "")
    return FuzzedRequest(method, target, tuple(headers), body)


streams = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=8), max_size=10).map(b"".join)
"""Bytes that resemble HTTP."""
