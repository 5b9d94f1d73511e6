"""Clients against a server with TLS and a token: its kubeconfig is all that they need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kubernetes import client, config

from clientgo.client import Client
from clientgo.meta import APIResource
from clientgo.rest import load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.kubectl import Kubectl, version

NAMESPACES = APIResource(version="v1", kind="Namespace", plural="namespaces", namespaced=False)


@pytest.fixture(scope="module")
def secure() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer("0.0.0.0", secure=True) as server:
        yield server


@pytest.mark.skipif(version() is None, reason="there is no kubectl on PATH")
def test_kubectl_works_over_tls(secure: EmbeddedAPIServer, tmp_path: Path) -> None:
    kubectl = Kubectl(secure.kubeconfig, tmp_path)

    assert kubectl("get", "ns", "default", "-o", "name") == "namespace/default\n"


def test_the_official_client_works_over_tls(secure: EmbeddedAPIServer) -> None:
    with config.new_client_from_config(str(secure.kubeconfig)) as api:
        assert client.CoreV1Api(api).read_namespace("default").metadata.name == "default"


def test_our_client_works_over_tls(secure: EmbeddedAPIServer) -> None:
    with Client(load_config(str(secure.kubeconfig))) as clients:
        assert clients.resource(NAMESPACES).get("default").metadata.name == "default"
