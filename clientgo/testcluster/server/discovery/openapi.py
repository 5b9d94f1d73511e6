"""OpenAPI v3: what ``kubectl explain`` shows and ``kubectl apply`` reads first.

Promises: one document for each group version. Those of built-in groups are the published ones, as
packed in :mod:`clientgo.testcluster.schema.openapi`; those of custom resources are made from their
definitions on request.

Does not promise descriptions of built-in fields, which would be most of the data; those of the
metadata of custom resources are ours.

Upstream: ``k8s.io/kube-openapi/pkg/handler3``; apiextensions ``controller/openapi/builder``.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from clientgo.testcluster.schema.openapi import openapi_documents
from clientgo.testcluster.server.discovery.metadata_fields import OBJECT_META, described
from clientgo.testcluster.server.discovery.openapi_v2 import answer_v2
from clientgo.testcluster.server.discovery.published_paths import published_paths
from clientgo.testcluster.server.discovery.published_schemas import (
    V3_REFERENCE,
    published_schemas,
)
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

_REFERENCE = re.compile(rf'{V3_REFERENCE}([^"]+)')


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
            schemas |= published_schemas(resource, v2=True)
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
    paths: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for resource in resources:
        own |= published_schemas(resource)
        paths |= published_paths(resource)
    schemas = _referred_to(own) | _referred_to(paths) | own
    return {
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _referred_to(document: dict[str, Any]) -> dict[str, Any]:
    """Return the built-in schemas that a part of a document refers to, and those that these do."""
    nodes = openapi_documents()["apis/apps/v1"].definitions.nodes
    found: dict[str, Any] = {}
    wanted = _REFERENCE.findall(encode(document).decode())
    while wanted:
        name = wanted.pop()
        if name not in found and name in nodes:
            found[name] = described(nodes[name]) if name == OBJECT_META else nodes[name]
            wanted += _REFERENCE.findall(encode(nodes[name]).decode())
    return found
