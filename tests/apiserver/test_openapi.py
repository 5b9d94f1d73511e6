"""The OpenAPI documents that kubectl reads before it applies and explains."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.apiserver import EmbeddedAPIServer
from clientgo.client import Client
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


def test_a_custom_resource_is_described_as_its_definition_says(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1")

    foo = document["components"]["schemas"]["io.k8s.samplecontroller.v1alpha1.Foo"]
    assert foo["properties"]["spec"]["properties"]["replicas"]["maximum"] == 10
    assert foo["x-kubernetes-group-version-kind"] == [
        {"group": "samplecontroller.k8s.io", "version": "v1alpha1", "kind": "Foo"}
    ]


def test_every_reference_of_a_document_leads_somewhere(server: EmbeddedAPIServer) -> None:
    document = get(server, "/openapi/v3/apis/samplecontroller.k8s.io/v1alpha1")

    def references(node: Any) -> Iterator[str]:
        if isinstance(node, dict):
            if "$ref" in node:
                yield node["$ref"].rpartition("/")[2]
            for value in node.values():
                yield from references(value)
        elif isinstance(node, list):
            for value in node:
                yield from references(value)

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
