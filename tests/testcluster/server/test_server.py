"""Starting, stopping and restarting, and what is kept."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Api, configmap, widget


def test_a_started_server_answers_at_the_address_of_its_kubeconfig() -> None:
    with EmbeddedAPIServer() as server:
        kubeconfig = json.loads(server.kubeconfig.read_text())

        address = kubeconfig["clusters"][0]["cluster"]["server"]
        names = {
            item["metadata"]["name"] for item in Api(address).get("/api/v1/namespaces")["items"]
        }

    assert {"default", "kube-system"} <= names


def test_stopping_leaves_no_thread_and_no_listener() -> None:
    server = EmbeddedAPIServer().start()

    server.stop()

    assert not [item for item in threading.enumerate() if item.name.startswith("apiserver-")]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((server.host, server.port), timeout=1)


def test_a_server_that_runs_is_not_started_again(server: EmbeddedAPIServer) -> None:
    with pytest.raises(RuntimeError, match="runs already"):
        server.start()


def test_a_taken_port_is_an_os_error(server: EmbeddedAPIServer) -> None:
    with pytest.raises(OSError, match="in use"):
        EmbeddedAPIServer(port=server.port).start()


def test_objects_and_history_survive_a_restart_on_the_same_port(
    server: EmbeddedAPIServer, api: Api
) -> None:
    url, kubeconfig = server.url, server.kubeconfig
    first = api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("b"))

    server.restart()

    assert (server.url, server.kubeconfig) == (url, kubeconfig)
    watch = api.watch(CONFIGMAPS, resourceVersion=first["metadata"]["resourceVersion"])
    assert watch.next()["object"]["metadata"]["name"] == "b"
    watch.close()


def test_a_restart_without_history_expires_every_earlier_version(
    server: EmbeddedAPIServer, api: Api
) -> None:
    first = api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, configmap("b"))

    server.restart(keep_history=False)

    watch = api.watch(CONFIGMAPS, resourceVersion=first["metadata"]["resourceVersion"])
    event = watch.next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)
    assert len(api.get(CONFIGMAPS)["items"]) == 2


def test_a_restart_without_objects_is_a_new_cluster(server: EmbeddedAPIServer, api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    server.restart(keep_objects=False)

    assert api.get(CONFIGMAPS)["items"] == []


def test_watches_end_cleanly_when_the_server_stops(server: EmbeddedAPIServer, api: Api) -> None:
    watch = api.watch(CONFIGMAPS)
    api.create(CONFIGMAPS, configmap("a"))
    assert watch.next()["type"] == "ADDED"

    server.stop()

    assert list(watch) == []


def test_closed_watches_end_and_the_server_continues(server: EmbeddedAPIServer, api: Api) -> None:
    watch = api.watch(CONFIGMAPS)
    api.create(CONFIGMAPS, configmap("a"))
    assert watch.next()["type"] == "ADDED"

    server.close_watches()

    assert list(watch) == []
    assert len(api.get(CONFIGMAPS)["items"]) == 1


def test_an_idle_server_uses_no_cpu(server: EmbeddedAPIServer, api: Api) -> None:
    watch = api.watch(CONFIGMAPS)
    api.get(CONFIGMAPS)
    before = time.process_time()

    threading.Event().wait(0.5)  # nothing is waited for: nothing must happen

    assert time.process_time() - before < 0.02
    watch.close()


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("path", "accept"),
    [
        (f"{CONFIGMAPS}/a", "application/json"),
        (f"{CONFIGMAPS}/a", PARTIAL),
        (f"{CONFIGMAPS}/missing", "application/json"),
        (CONFIGMAPS, "application/json"),
        (CONFIGMAPS, TABLE),
        (f"{CONFIGMAPS}?labelSelector=none", "application/json"),
        (WIDGETS, "application/json"),
        ("/apis", "application/json"),
        ("/apis", AGGREGATED),
        ("/api/v1", "application/json"),
        ("/version", "application/json"),
    ],
)
def test_a_body_in_json_ends_in_a_newline(widgets: Api, path: str, accept: str) -> None:
    widgets.create(CONFIGMAPS, configmap("a"))
    widgets.create(WIDGETS, widget("a"))

    answer = urllib3.request("GET", widgets.url + path, headers={"Accept": accept})

    assert answer.data.endswith(b"}\n")
    assert answer.data.count(b"\n") == 1


@pytest.mark.parametrize(
    ("path", "is_status"),
    [
        ("/apis/apps/v2/deployments", True),
        ("/apis/apps/v1/unknown", True),
        ("/api/v1/unknown", True),
        ("/api/v2/pods", True),
        ("/apis/unknown.example.com/v1/things", False),
    ],
)
def test_an_unknown_resource_of_a_builtin_group_answers_a_status(
    api: Api, path: str, is_status: bool
) -> None:
    answer = urllib3.request("GET", api.url + path)

    assert answer.status == 404
    assert (answer.headers["content-type"] == "application/json") is is_status
