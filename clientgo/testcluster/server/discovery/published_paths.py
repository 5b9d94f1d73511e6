"""The paths of custom resources in the OpenAPI document of their version.

Promises: each operation has the id, tag, parameters, bodies and responses that a real server
publishes. Parameters that all operations of a path share stand at the path.

Does not promise descriptions of the options, which built-in kinds do not have here either.

Upstream: apiextensions ``controller/openapi/builder``, apiserver ``endpoints/openapi``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from clientgo.testcluster.server.discovery.published_schemas import (
    META,
    V3_REFERENCE,
    Node,
    definition_name,
    kind_of,
)
from clientgo.testcluster.server.http.bodies import JSON_TYPE, YAML_TYPE
from clientgo.testcluster.server.resources.resource import Resource

SCALE = "io.k8s.api.autoscaling.v1.Scale"
STATUS, DELETE_OPTIONS, PATCH = f"{META}.Status", f"{META}.DeleteOptions", f"{META}.Patch"

_LIST_OPTIONS = {
    "allowWatchBookmarks": "boolean",
    "continue": "string",
    "fieldSelector": "string",
    "labelSelector": "string",
    "limit": "integer",
    "resourceVersion": "string",
    "resourceVersionMatch": "string",
    "sendInitialEvents": "boolean",
    "shardSelector": "string",
    "timeoutSeconds": "integer",
    "watch": "boolean",
}
_DELETE_OPTIONS = {
    "dryRun": "string",
    "gracePeriodSeconds": "integer",
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    "orphanDependents": "boolean",
    "propagationPolicy": "string",
}
_WRITE_OPTIONS = {"dryRun": "string", "fieldManager": "string", "fieldValidation": "string"}

_PRETTY = (
    "If 'true', then the output is pretty printed. Defaults to 'false' unless the user-agent "
    "indicates a browser or command-line HTTP tool (curl and wget)."
)
_NAMESPACE = "object name and auth scope, such as for teams and projects"

_MEDIA_TYPES = (JSON_TYPE, YAML_TYPE)
_PATCH_TYPES = (
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/apply-patch+yaml",
)
_REASONS = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}


class _Action(NamedTuple):
    """What one method of a path does."""

    method: str
    name: str
    """In ``x-kubernetes-action``."""
    verb: str
    """Begins the id of the operation and its description."""
    options: dict[str, str]
    codes: tuple[str, ...] = ("200",)
    body: str = ""
    """The schema of the body: "object" for the resource itself."""
    answer: str = "object"


_LIST = _Action("get", "list", "list", _LIST_OPTIONS, answer="list")
_COLLECTION = (
    _LIST,
    _Action("post", "post", "create", _WRITE_OPTIONS, ("200", "201", "202"), "object"),
    _Action("delete", "deletecollection", "deletecollection", _LIST_OPTIONS, answer=STATUS),
)
_PARTS = (
    _Action("get", "get", "read", {"resourceVersion": "string"}),
    _Action("put", "put", "replace", _WRITE_OPTIONS, ("200", "201"), "object"),
    _Action("patch", "patch", "patch", _WRITE_OPTIONS | {"force": "boolean"}, body=PATCH),
)
_OBJECT = (
    *_PARTS,
    _Action("delete", "delete", "delete", _DELETE_OPTIONS, ("200", "202"), DELETE_OPTIONS, STATUS),
)


def published_paths(resource: Resource) -> dict[str, Node]:
    """Return the paths of a custom resource."""
    base = f"/apis/{resource.api_version}"
    root = f"{base}/namespaces/{{namespace}}" if resource.namespaced else base
    collection = f"{root}/{resource.plural}"
    paths = {
        collection: _path(resource, _COLLECTION),
        f"{collection}/{{name}}": _path(resource, _OBJECT, name=True),
    }
    for subresource in resource.subresources:
        paths[f"{collection}/{{name}}/{subresource.name}"] = _path(
            resource, _PARTS, name=True, subresource=subresource.name
        )
    if resource.namespaced:
        paths[f"{base}/{resource.plural}"] = _path(resource, (_LIST,), all_namespaces=True)
    return paths


def _path(
    resource: Resource,
    actions: tuple[_Action, ...],
    *,
    name: bool = False,
    subresource: str = "",
    all_namespaces: bool = False,
) -> Node:
    shared = [_parameter("pretty", "string", description=_PRETTY)]
    if name:
        shared.append(_path_parameter("name", f"name of the {resource.kind}"))
    if resource.namespaced and not all_namespaces:
        shared.append(_path_parameter("namespace", _NAMESPACE))
    path: Node = {}
    for action in actions:
        options = [_parameter(option, kind) for option, kind in sorted(action.options.items())]
        operation = _operation(resource, action, subresource, all_namespaces=all_namespaces)
        if len(actions) == 1:
            shared += options
        else:
            operation["parameters"] = options
        path[action.method] = operation
    return path | {"parameters": sorted(shared, key=lambda parameter: str(parameter["name"]))}


def _operation(
    resource: Resource, action: _Action, subresource: str, *, all_namespaces: bool
) -> Node:
    own = SCALE if subresource == "scale" else definition_name(resource, resource.kind)
    schemas = {"object": own, "list": definition_name(resource, resource.list_kind)}
    answer = schemas.get(action.answer, action.answer)
    operation: Node = {
        "tags": [_tag(resource)],
        "description": _description(resource, action.verb, subresource),
        "operationId": _operation_id(resource, action.verb, subresource, all_namespaces),
        "responses": {
            code: {"description": _REASONS[code], "content": _content(_MEDIA_TYPES, answer)}
            for code in action.codes
        }
        | {"401": {"description": _REASONS["401"]}},
        "x-kubernetes-action": action.name,
        "x-kubernetes-group-version-kind": kind_of(resource, resource.kind),
    }
    if action.body:
        types = _PATCH_TYPES if action.body == PATCH else _MEDIA_TYPES
        body = {"content": _content(types, schemas.get(action.body, action.body))}
        is_optional = action.body == DELETE_OPTIONS
        operation["requestBody"] = body if is_optional else body | {"required": True}
    return operation


def _content(media_types: tuple[str, ...], schema: str) -> Node:
    return {media_type: {"schema": {"$ref": V3_REFERENCE + schema}} for media_type in media_types}


def _parameter(name: str, kind: str, **more: Any) -> Node:
    return {"name": name, "in": "query", "schema": {"type": kind, "uniqueItems": True}} | more


def _path_parameter(name: str, description: str) -> Node:
    return _parameter(name, "string", description=description) | {"in": "path", "required": True}


def _operation_id(resource: Resource, verb: str, subresource: str, all_namespaces: bool) -> str:
    is_collection = verb == "deletecollection"
    parts = ["delete" if is_collection else verb]
    parts += [_identifier(part, capital=True) for part in _group_version(resource)]
    parts += ["Collection"] if is_collection else []
    parts += ["Namespaced"] if resource.namespaced and not all_namespaces else []
    parts += [resource.kind, subresource.title()]
    parts += ["ForAllNamespaces"] if all_namespaces else []
    return "".join(parts)


def _tag(resource: Resource) -> str:
    return "_".join(_identifier(part, capital=False) for part in _group_version(resource))


def _group_version(resource: Resource) -> tuple[str, str]:
    return resource.group.removesuffix(".k8s.io"), resource.version


def _identifier(text: str, *, capital: bool) -> str:
    """Return a text as one word: what is no letter makes the next one a capital."""
    return "".join(_letters(text, capital=capital))


def _letters(text: str, *, capital: bool) -> Iterator[str]:
    for place, letter in enumerate(text):
        if letter.isalpha() or letter == "_" or (place and letter.isdigit()):
            yield letter.upper() if capital else letter
            capital = False
        else:
            capital = True


def _description(resource: Resource, verb: str, subresource: str) -> str:
    kind, part = resource.kind, f" {subresource} of" if subresource else ""
    if verb == "deletecollection":
        return f"delete collection of{part} {kind}"
    if verb == "list":
        return f"list{part} objects of kind {kind}"
    if verb in ("create", "delete"):
        return f"{verb}{part}{_article(kind)}{kind}"
    shown = "partially update" if verb == "patch" else verb
    return f"{shown}{part} the specified {kind}"


def _article(noun: str) -> str:
    if noun.endswith("s") and not noun.endswith("ss"):
        return " "  # a plural
    return " an " if noun[0] in "AEIOUaeiou" else " a "
