"""The OpenAPI documents that kubectl reads before it applies and explains."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.client import Client
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.discovery.openapi_v2 import definition_v2
from clientgo.testcluster.server.discovery.openapi_v2_protobuf import V2_PROTOBUF_TYPE, encode_v2
from sample_controller.demo import install_crd


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        install_crd(client)
        yield server


def get(server: EmbeddedAPIServer, path: str) -> Any:
    with urllib.request.urlopen(server.url + path) as answer:
        return json.load(answer)


def test_the_index_names_a_document_for_each_group_version(server: EmbeddedAPIServer) -> None:
    paths = get(server, "/openapi/v3")["paths"]

    assert {"api/v1", "apis/apps/v1", "apis/samplecontroller.k8s.io/v1alpha1"} <= set(paths)
    for name, entry in paths.items():
        assert entry["serverRelativeURL"].startswith(f"/openapi/v3/{name}?hash=")
        assert get(server, entry["serverRelativeURL"])["openapi"] == "3.0.0"


def test_a_custom_resource_is_described_by_its_definition(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1")

    foo = document["components"]["schemas"]["io.k8s.samplecontroller.v1alpha1.Foo"]
    assert foo["properties"]["spec"]["properties"]["replicas"]["maximum"] == 10
    assert foo["x-kubernetes-group-version-kind"] == [
        {"group": "samplecontroller.k8s.io", "version": "v1alpha1", "kind": "Foo"}
    ]


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if isinstance(node.get("$ref"), str):  # else it is the property of that name
            yield node["$ref"].rpartition("/")[2]
        for value in node.values():
            yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def test_every_reference_of_a_document_leads_somewhere(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1")

    assert set(references(document)) <= set(document["components"]["schemas"])


def test_clients_learn_that_writes_take_field_validation(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1")

    path = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{namespace}/foos/{name}"
    patch = document["paths"][path]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]


def test_a_published_document_is_sent_compressed_to_who_takes_that(
    server: EmbeddedAPIServer,
) -> None:
    request = urllib.request.Request(
        f"{server.url}/openapi/v3/apis/apps/v1", headers={"Accept-Encoding": "gzip"}
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Encoding"] == "gzip"
        document = json.loads(gzip.decompress(answer.read()))

    assert document == get(server, "/openapi/v3/apis/apps/v1")


def test_an_unknown_document_is_not_found(server: EmbeddedAPIServer) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404"):
        get(server, "/openapi/v3/apis/nobody/v1")


# -- v2


def test_the_v2_document_describes_built_in_and_custom_kinds(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v2")

    definitions = document["definitions"]
    assert document["swagger"] == "2.0"
    assert definitions["io.k8s.api.apps.v1.DeploymentSpec"]["required"] == ["selector", "template"]
    foo = definitions["io.k8s.samplecontroller.v1alpha1.Foo"]["properties"]
    assert foo["spec"]["properties"]["replicas"]["type"] == "integer"
    assert foo["metadata"]["$ref"].startswith("#/definitions/")
    assert set(references(definitions)) <= set(definitions)


def test_the_v2_document_shows_that_patches_take_a_dry_run(server: EmbeddedAPIServer) -> None:
    path = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/{namespace}/foos/{name}"

    patch = get(server, "/openapi/v2")["paths"][path]["patch"]

    assert patch["x-kubernetes-group-version-kind"]["kind"] == "Foo"
    assert "dryRun" in [parameter["name"] for parameter in patch["parameters"]]


@pytest.mark.parametrize(
    ("v3", "v2"),
    [
        ({"allOf": [{"$ref": "#/components/schemas/a"}], "default": {}, "x-b": 1},
         {"$ref": "#/definitions/a", "x-b": 1}),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"},
         {"type": "string", "format": "int-or-string"}),
        ({"type": "array", "items": {"type": "integer", "minimum": 1}, "maxItems": 3},
         {"type": "array", "items": {"type": "integer"}}),
        ({"type": "object", "additionalProperties": True},
         {"type": "object", "additionalProperties": True}),
        ({"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}]},
         {"x-kubernetes-int-or-string": True}),
    ],
)  # fmt: skip
def test_what_v2_can_not_say_is_left_open(v3: dict[str, Any], v2: dict[str, Any]) -> None:
    assert definition_v2(v3) == v2


def test_the_protobuf_form_is_what_the_messages_of_gnostic_say() -> None:
    schema = {"type": "object", "properties": {"n": {"$ref": "#/definitions/N"}}, "x-a": [1]}

    encoded = encode_v2({"swagger": "2.0", "definitions": {"D": schema}})

    name, reference = b"\x0a\x01n", b"\x0a\x0f#/definitions/N"
    properties = b"\xca\x01\x18\x0a\x16" + name + b"\x12\x11" + reference
    extension = b"\xfa\x01\x0c\x0a\x03x-a\x12\x05\x12\x03[1]"
    body = b"\xb2\x01\x08\x0a\x06object" + properties + extension
    named = b"\x0a\x01D\x12" + bytes([len(body)]) + body
    definitions = b"\x0a" + bytes([len(named)]) + named
    assert encoded == b"\x0a\x032.0" + b"\x4a" + bytes([len(definitions)]) + definitions


def test_a_client_that_accepts_protobuf_gets_it(server: EmbeddedAPIServer) -> None:
    request = urllib.request.Request(
        f"{server.url}/openapi/v2", headers={"Accept": f"{V2_PROTOBUF_TYPE}, application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["Content-Type"] == V2_PROTOBUF_TYPE
        document = answer.read()

    assert b"io.k8s.api.apps.v1.Deployment" in document
    assert b"io.k8s.samplecontroller.v1alpha1.Foo" in document
