"""OpenAPI v3: what ``kubectl explain`` shows and ``kubectl apply`` reads first.

Promises: one document for each group version. Those of built-in groups are the published ones, as
packed in :mod:`clientgo.testcluster.schema.openapi`; those of custom resources are made from their
definitions on request, with the paths that clients read: kinds, and that writes take
``fieldValidation``.

Does not promise descriptions of built-in fields, which would be most of the data.

Upstream: ``k8s.io/kube-openapi/pkg/handler3``; apiextensions ``controller/openapi/builder``.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from clientgo.testcluster.schema.openapi import openapi_documents
from clientgo.testcluster.server.discovery.openapi_v2 import answer_v2
from clientgo.testcluster.server.http.messages import (
    JSON,
    Request,
    Response,
    json_response,
    page_not_found,
)
from clientgo.testcluster.server.resources.registry import ResourceRegistry
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import encode

ROOT = "/openapi/v3"

_V2 = "/openapi/v2"

_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_REFERENCE = re.compile(r"#/components/schemas/([^\"]+)")
_WRITE_PARAMETERS = tuple(
    {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
    for name in ("dryRun", "fieldManager", "fieldValidation")
)
_COLLECTION = {"get": "list", "post": "post"}
_OBJECT = {"get": "get", "put": "put", "patch": "patch", "delete": "delete"}


def answer_openapi(registry: ResourceRegistry, request: Request) -> Response | None:
    """Answer a path of OpenAPI; return None for other paths."""
    path = request.path.rstrip("/")
    if path == _V2:
        return answer_v2(request, registry, _custom_schemas(registry))
    if path == ROOT:
        return json_response({"paths": _index(registry)})
    if not path.startswith(ROOT + "/"):
        return None
    name = path.removeprefix(ROOT + "/")
    published = openapi_documents().get(name)
    if published is not None:
        if request.accepts_gzip:
            encoding = [("content-encoding", "gzip"), ("vary", "Accept-Encoding")]
            return Response(200, published.compressed, JSON, encoding)
        return Response(200, published.text)
    resources = _custom_versions(registry).get(name)
    return page_not_found() if resources is None else json_response(_document(resources))


def _custom_schemas(registry: ResourceRegistry) -> dict[str, Any]:
    schemas: dict[str, Any] = {}
    for resource in registry:
        if resource.is_custom:
            schemas |= _schemas(resource)
    return schemas


def _index(registry: ResourceRegistry) -> dict[str, Any]:
    """Return the URL of every document; its hash changes with the document."""
    hashes = {
        name: hashlib.sha512(document.compressed).hexdigest().upper()
        for name, document in openapi_documents().items()
    }
    for name, resources in _custom_versions(registry).items():
        hashes[name] = hashlib.sha512(encode(_document(resources))).hexdigest().upper()
    return {
        name: {"serverRelativeURL": f"{ROOT}/{name}?hash={digest}"}
        for name, digest in sorted(hashes.items())
    }


def _custom_versions(registry: ResourceRegistry) -> dict[str, list[Resource]]:
    versions: dict[str, list[Resource]] = {}
    for resource in registry:
        if resource.is_custom:
            versions.setdefault(f"apis/{resource.api_version}", []).append(resource)
    return versions


def _document(resources: list[Resource]) -> dict[str, Any]:
    schemas = _meta_schemas()
    paths: dict[str, Any] = {}
    for resource in resources:
        schemas |= _schemas(resource)
        paths |= _paths(resource)
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _meta_schemas() -> dict[str, Any]:
    """Return the types of object and list metadata, and the types in them."""
    nodes = openapi_documents()["apis/apps/v1"].definitions.nodes
    found: dict[str, Any] = {}
    wanted = [_OBJECT_META, _LIST_META]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = nodes[name]
            wanted += _REFERENCE.findall(encode(nodes[name]).decode())
    return found


def _schemas(resource: Resource) -> dict[str, Any]:
    name = _definition_name(resource)
    declared = dict(resource.strategy.published_schema)
    described = {
        "properties": {
            **declared.get("properties", {}),
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [_reference(_OBJECT_META)]},
        },
        "x-kubernetes-group-version-kind": [_gvk(resource, resource.kind)],
    }
    listed = {
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"allOf": [_reference(_LIST_META)]},
            "items": {"type": "array", "items": _reference(name)},
        },
        "x-kubernetes-group-version-kind": [_gvk(resource, resource.list_kind)],
    }
    return {name: {"type": "object", **declared, **described}, f"{name}List": listed}


def _definition_name(resource: Resource) -> str:
    group = ".".join(reversed(resource.group.split(".")))
    return f"{group}.{resource.version}.{resource.kind}"


def _paths(resource: Resource) -> dict[str, Any]:
    base = f"/apis/{resource.api_version}"
    namespaced = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection, single = (
        f"{namespaced}/{resource.plural}",
        f"{namespaced}/{resource.plural}/{{name}}",
    )
    paths = {
        collection: _operations(resource, _COLLECTION),
        single: _operations(resource, _OBJECT),
    }
    for subresource in resource.subresources:
        served = {method: verb for method, verb in _OBJECT.items() if method != "delete"}
        paths[f"{single}/{subresource.name}"] = _operations(resource, served)
    if resource.namespaced:
        paths[f"{base}/{resource.plural}"] = _operations(resource, {"get": "list"})
    return paths


def _operations(resource: Resource, actions: dict[str, str]) -> dict[str, Any]:
    return {
        method: {
            "parameters": [] if method == "get" else list(_WRITE_PARAMETERS),
            "responses": {
                "200": {
                    "description": "OK",
                    "content": {JSON: {"schema": _reference(_definition_name(resource))}},
                }
            },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": _gvk(resource, resource.kind),
        }
        for method, action in actions.items()
    }


def _gvk(resource: Resource, kind: str) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "kind": kind}


def _reference(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}
