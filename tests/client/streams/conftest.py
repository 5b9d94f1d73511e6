"""A pod of an embedded server whose programs a test provides, and one of a scripted server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client, ResourceClient
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer, PodPrograms
from clientgo.testing.scripted_server import ScriptedServer

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web-0", "namespace": "default"},
    "spec": {"nodeName": "n", "containers": [{"name": "web", "image": "web:1"}]},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server, Client(server.kubeconfig) as client:
        client.create(POD)
        yield server


@pytest.fixture
def server(cluster: EmbeddedAPIServer) -> Iterator[EmbeddedAPIServer]:
    yield cluster
    cluster.provide_programs(PodPrograms())
    cluster.provide_logs(None)


@pytest.fixture
def pods(server: EmbeddedAPIServer) -> Iterator[ResourceClient[Pod]]:
    with Client(server.kubeconfig) as client:
        yield client.resource(Pod).namespace("default")


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def scripted_pods(scripted: ScriptedServer) -> Iterator[ResourceClient[Pod]]:
    with Client(RestConfig(server=scripted.url)) as client:
        yield client.resource(Pod).namespace("default")
