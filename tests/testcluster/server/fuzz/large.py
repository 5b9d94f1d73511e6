"""Requests near the limits of size, which are made to take long."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from tests.testcluster.server.fuzz.objects import CRDS
from tests.testcluster.server.fuzz.request_parts import JSON_PATCH
from tests.testcluster.server.fuzz.wire import FuzzedRequest
from tests.testcluster.server.http_api import CONFIGMAPS, widget_crd

_PODS = "/api/v1/namespaces/default/pods"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def _post(path: str, obj: Any, content_type: str = "application/json") -> FuzzedRequest:
    body = obj if isinstance(obj, bytes) else json.dumps(obj, separators=(",", ":")).encode()
    return FuzzedRequest("POST", path, (("Content-Type", content_type),), body)


def _patch(path: str, obj: Any, content_type: str) -> FuzzedRequest:
    return FuzzedRequest("PATCH", path, (("Content-Type", content_type),), json.dumps(obj).encode())


def _pod(variables: int) -> dict[str, Any]:
    env = [{"name": f"e{number}", "value": ""} for number in range(variables)]
    container = {"name": "c", "image": "i", "env": env}
    return {"metadata": {"name": "large"}, "spec": {"containers": [container]}}


def _crd(properties: dict[str, Any], rules: list[Any]) -> dict[str, Any]:
    crd = widget_crd()
    version = crd["spec"]["versions"][0]
    version["schema"]["openAPIV3Schema"]["properties"]["spec"] = {
        "type": "object",
        "properties": properties,
        "x-kubernetes-validations": rules,
    }
    return crd


def _config_map(data: Any = None, **metadata: Any) -> FuzzedRequest:
    obj = {"metadata": {"name": "large", **metadata}, "data": {} if data is None else data}
    return _post(CONFIGMAPS, obj)


def _text(prefix: bytes, part: bytes, count: int, content_type: str = "") -> FuzzedRequest:
    return _post(CONFIGMAPS, prefix + part * count, content_type or "application/json")


def _rules(*rules: str) -> FuzzedRequest:
    properties = {"a": {"type": "string"}}
    return _post(CRDS, _crd(properties, [{"rule": rule} for rule in rules]))


def _owners() -> FuzzedRequest:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o"}
    return _config_map(ownerReferences=[{**owner, "uid": f"u{n}"} for n in range(30_000)])


def _strategic() -> FuzzedRequest:
    env = [{"name": f"e{n}", "value": "x"} for n in range(30_000)]
    patch = {"spec": {"containers": [{"name": "c", "env": env}]}}
    return _patch(f"{_PODS}/large", patch, "application/strategic-merge-patch+json")


def _operations() -> FuzzedRequest:
    added = [{"op": "add", "path": f"/data/k{n}", "value": "x"} for n in range(10_000)]
    return _patch(f"{CONFIGMAPS}/large", added, JSON_PATCH)


def _deployment() -> FuzzedRequest:
    expressions = [{"key": f"k{n}", "operator": "Exists"} for n in range(30_000)]
    containers = [{"name": f"c{n}", "image": "i"} for n in range(10_000)]
    spec = {
        "selector": {"matchExpressions": expressions},
        "template": {"spec": {"containers": containers}},
    }
    return _post(_DEPLOYMENTS, {"metadata": {"name": "large"}, "spec": spec})


def _selector(text: str) -> FuzzedRequest:
    return FuzzedRequest("GET", f"{CONFIGMAPS}?labelSelector={quote(text, safe='')}", (), b"")


def _pod_in_protobuf() -> FuzzedRequest:
    head = b"k8s\0\n\x09\n\x02v1\x12\x03Pod\x12\xff\xff\xb6\x01"
    return _post(_PODS, head + b"\x0a\x03\x0a\x01a" * 599_000, PROTOBUF_TYPE)


LARGE: list[Callable[[], FuzzedRequest]] = [
    lambda: _config_map({f"k{n}": "" for n in range(200_000)}),
    lambda: _config_map({"k": "x" * 2_900_000}),
    lambda: _config_map(annotations={f"a{n}": "" for n in range(100_000)}),
    lambda: _config_map(finalizers=[f"example.com/{n}" for n in range(100_000)]),
    _owners,
    _operations,
    lambda: _post(_PODS, _pod(20_000)),
    _strategic,
    lambda: _patch(f"{_PODS}/large", {"spec": None}, "application/merge-patch+json"),
    _deployment,
    lambda: _text(b"", b"[", 3_000_000),
    lambda: _text(b"", b'{"a":', 600_000),
    lambda: _text(b'{"metadata":{"name":"d","a":', b"[", 900),
    lambda: _text(b'{"metadata":{"name":"n"},"data":{"k":', b"9", 2_900_000),
    lambda: _text(b"{", b'"a":1,', 400_000),
    lambda: _text(b"k8s\0", b"\x0a\x00", 1_500_000, PROTOBUF_TYPE),
    _pod_in_protobuf,
    lambda: _text(b"", b"- a\n", 700_000, "application/yaml"),
    lambda: _text(b"", b"a: {", 700_000, "application/yaml"),
    lambda: _post(CRDS, _crd({f"p{n}": {"type": "string"} for n in range(30_000)}, [])),
    lambda: _rules("(" * 20_000 + "true" + ")" * 20_000),
    lambda: _rules(" && ".join(["true"] * 20_000)),
    lambda: _rules(*(f"self.a != '{n}'" for n in range(5_000))),
    lambda: _selector(",".join(f"a!={n}" for n in range(60_000))),
    lambda: _selector(f"a in ({','.join(map(str, range(60_000)))})"),
]
"""Each makes one request."""
