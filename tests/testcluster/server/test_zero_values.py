"""An object with all the zeros that Go writes is the object without them.

A Go struct in JSON has fields that are not set: ``"targetPort": 0``, ``"strategy": {}``,
``"containers": null``. A real server can't tell them from missing ones; ``zero_values.json.gz`` has
them for each type.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.meta.json_values import copy_json
from clientgo.testcluster.schema.openapi import OpenAPIType
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.tables.type_names import short_name
from clientgo.testcluster.server.kinds.typed_objects import _zero_values
from clientgo.testcluster.server.resources.resource import Resource
from tests.conformance.replay import GENERATED, load
from tests.testcluster.server.http_api import Api

_ZEROS = {"string": "", "integer": 0, "boolean": False, "number": 0}
_UNLIKE = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=[a-z_-])[a-z0-9]{5}(?=\\*\")")
"""What differs between two requests: uids and generated names."""
_SERVER_SETS = ("uid", "creationTimestamp", "managedFields", "resourceVersion")

KINDS = [item for item in builtin_resources() if "create" in item.verbs]


def go_form(value: Any, openapi_type: OpenAPIType) -> Any:
    """Return a value with every zero that it does not have."""
    if not isinstance(value, dict) or not openapi_type.field_names:
        return value
    left_out, written = _zero_values().get(short_name(openapi_type.name), ([], {}))
    form = dict(value)
    for name in openapi_type.field_names:
        field = openapi_type.field(name)
        if field is None:
            continue
        if name not in form and name in written:
            form[name] = copy_json(written[name])
        elif name not in form and name in left_out:
            form[name] = _ZEROS.get(field.type, 0)
        if isinstance(member := form.get(name), dict):
            form[name] = go_form(member, field)
        elif isinstance(member, list) and field.items is not None:
            form[name] = [go_form(item, field.items) for item in member]
    return form


def with_members(openapi_type: OpenAPIType, depth: int) -> dict[str, Any]:
    """Return an object that has each struct that its type can hold, empty below some levels."""
    members: dict[str, Any] = {}
    for name in openapi_type.field_names if depth else ():
        field = openapi_type.field(name)
        if field is not None and field.items is not None and field.items.field_names:
            members[name] = [with_members(field.items, depth - 1)]
        elif field is not None and field.field_names:
            members[name] = with_members(field, depth - 1)
    return members


def path_of(resource: Resource) -> str:
    prefix = f"/apis/{resource.group}" if resource.group else "/api"
    namespace = "/namespaces/default" if resource.namespaced else ""
    return f"{prefix}/{resource.version}{namespace}/{resource.plural}"


def outcome(api: Api, path: str, obj: dict[str, Any]) -> Any:
    answer = api.call("POST", path, obj, dryRun="All")
    if isinstance(metadata := (answer.body or {}).get("metadata"), dict):
        for name in _SERVER_SETS:
            metadata.pop(name, None)
    text = json.dumps([answer.status, answer.body, answer.warnings], sort_keys=True)
    return json.loads(_UNLIKE.sub("", text))


@pytest.fixture(scope="module")
def shared_api() -> Iterator[Api]:
    """A client of a server in which nothing is stored."""
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


@pytest.mark.parametrize("resource", KINDS, ids=lambda item: f"{item.api_version}-{item.kind}")
def test_zeros_of_go_are_missing_fields(shared_api: Api, resource: Resource) -> None:
    openapi_type = resource.strategy.openapi_type
    header = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": "x"}}
    path = path_of(resource)
    for depth in range(5):
        obj = with_members(openapi_type, depth) | header
        zeros = go_form(obj, openapi_type)
        assert outcome(shared_api, path, zeros) == outcome(shared_api, path, obj)


def recorded_objects() -> Iterator[tuple[str, Resource, dict[str, Any]]]:
    """Yield the objects of built-in kinds that a real server was sent, each once."""
    by_kind = {(item.api_version, item.kind): item for item in KINDS}
    seen = set()
    for document in load(GENERATED).values():
        for step in document["steps"]:
            body = step.get("body")
            if step.get("method") != "POST" or not isinstance(body, dict) or "?" in step["path"]:
                continue
            text = json.dumps([step["path"], body])
            text = text.replace("${ns}", "default").replace("${group}", "example.com")
            kind = body.get("apiVersion"), body.get("kind")
            resource = by_kind.get(kind) if all(isinstance(part, str) for part in kind) else None
            if resource is not None and text not in seen and step["path"].endswith(resource.plural):
                seen.add(text)
                path, obj = json.loads(text)
                yield path, resource, obj


@pytest.mark.long
def test_recorded_objects_with_the_zeros_of_go_are_the_same(shared_api: Api) -> None:
    for path, resource, obj in itertools.islice(recorded_objects(), 0, None, 3):
        zeros = go_form(obj, resource.strategy.openapi_type)
        same = outcome(shared_api, path, zeros) == outcome(shared_api, path, obj)
        assert same, json.dumps(obj)


def test_a_recorded_object_is_not_changed_by_the_zeros_of_go(api: Api) -> None:
    """A Go client that writes what it has read adds zeros to it."""
    written = {"CustomResourceDefinition"}  # whose status is written soon
    for path, resource, obj in recorded_objects():
        if resource.kind in written or "update" not in resource.verbs:
            continue
        answer = api.call("POST", path, obj)
        if answer.status == 201:
            written.add(resource.kind)
            zeros = go_form(answer.body, resource.strategy.openapi_type)
            put = api.call("PUT", f"{path}/{answer.body['metadata']['name']}", zeros)
            assert (put.status, put.body) == (200, answer.body)
    assert len(written) > 20


@pytest.mark.parametrize("unset", [0, "", None])
def test_a_port_that_is_not_set_is_the_port_of_the_service(api: Api, unset: Any) -> None:
    ports = [{"port": 80, "targetPort": unset}]

    service = api.create(
        "/api/v1/namespaces/default/services",
        {"metadata": {"name": "s"}, "spec": {"ports": ports, "selector": {"a": "b"}}},
    )

    assert service["spec"]["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
