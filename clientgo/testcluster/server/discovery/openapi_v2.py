"""OpenAPI v2, which kubectl reads to find mistyped fields, to diff, and (before 1.27) to explain.

Promises: one document, in JSON or protobuf, with a definition for each kind and what it refers to,
made from the v3 documents; and for each kind the path of its patches, where kubectl reads which
query parameters the server supports.

Does not promise the other paths, nor descriptions of built-in types.

Upstream: ``k8s.io/kube-openapi/pkg/handler``, apiextensions ``controller/openapi/v2``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from typing import Any

from clientgo.testcluster.schema.openapi import openapi_documents
from clientgo.testcluster.server.discovery.openapi_v2_protobuf import V2_PROTOBUF_TYPE, encode_v2
from clientgo.testcluster.server.discovery.published_schemas import V2_REFERENCE, V3_REFERENCE
from clientgo.testcluster.server.http.messages import Request, Response, json_response
from clientgo.testcluster.server.resources.resource import Resource

Node = dict[str, Any]


_KEPT = ("description", "enum", "format", "required", "type")

_PATCH_PARAMETERS = [
    {"in": "query", "name": name, "type": "string", "uniqueItems": True}
    for name in ("dryRun", "fieldManager", "fieldValidation")
]


def answer_v2(
    request: Request, resources: Iterable[Resource], custom_schemas: Mapping[str, Node]
) -> Response:
    """Answer the document of all resources; ``custom_schemas`` are definitions by name."""
    document = {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": {
            _patch_path(resource): {"patch": _patch(resource)}
            for resource in resources
            if "patch" in resource.verbs
        },
    }
    if "protobuf" in request.headers.get("accept", ""):
        # Joined messages are one message, so the built-in part is encoded only once.
        body = _builtin_protobuf() + encode_v2({**document, "definitions": custom_schemas})
        return Response(200, body, V2_PROTOBUF_TYPE)
    return json_response({**document, "definitions": {**_builtin_definitions(), **custom_schemas}})


def definition_v2(node: Mapping[str, Any]) -> Node:
    """Convert the v3 schema of a built-in type to v2."""
    if "allOf" in node and len(node["allOf"]) == 1:
        node = {key: value for key, value in node.items() if key != "allOf"} | node["allOf"][0]
    if "$ref" in node:
        reference = node["$ref"].replace(V3_REFERENCE, V2_REFERENCE)
        return {"$ref": reference} | _extensions(node)
    definition: Node = {key: node[key] for key in _KEPT if key in node}
    if "oneOf" in node and not node.get("x-kubernetes-int-or-string"):
        definition.setdefault("type", "string")  # a quantity or a port
    if "items" in node:
        definition["items"] = definition_v2(node["items"])
    if "properties" in node:
        definition["properties"] = {
            name: definition_v2(member) for name, member in node["properties"].items()
        }
    if "additionalProperties" in node:
        members = node["additionalProperties"]
        is_schema = isinstance(members, dict)
        definition["additionalProperties"] = definition_v2(members) if is_schema else members
    return definition | _extensions(node)


def _extensions(node: Mapping[str, Any]) -> Node:
    return {key: value for key, value in node.items() if key.startswith("x-")}


@functools.cache
def _builtin_definitions() -> Node:
    return {
        name: definition_v2(node)
        for document in openapi_documents().values()
        for name, node in document.definitions.nodes.items()
    }


@functools.cache
def _builtin_protobuf() -> bytes:
    return encode_v2({"definitions": _builtin_definitions()})


def _patch_path(resource: Resource) -> str:
    root = "/apis" if resource.group else "/api"
    namespace = "/namespaces/{namespace}" if resource.namespaced else ""
    return f"{root}/{resource.api_version}{namespace}/{resource.plural}/{{name}}"


def _patch(resource: Resource) -> Node:
    kind = {"group": resource.group, "version": resource.version, "kind": resource.kind}
    return {
        "parameters": _PATCH_PARAMETERS,
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-action": "patch",
        "x-kubernetes-group-version-kind": kind,
    }
