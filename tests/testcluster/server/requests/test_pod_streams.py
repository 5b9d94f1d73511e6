"""Requests for streams to pods: what is checked before a WebSocket opens, and who may open one."""

from __future__ import annotations

import gc
import http.client
import logging
import socket
import threading
from dataclasses import replace
from typing import Any

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client
from clientgo.meta import ForbiddenError
from clientgo.rest import ConnectionLostError, Impersonation, load_config
from clientgo.testcluster.server import EmbeddedAPIServer, PodProcess, PodPrograms
from tests.testcluster.server.http_api import Api
from tests.testcluster.server.users import Users, rule

PODS = "/api/v1/namespaces/default/pods"
EXEC = f"{PODS}/web-0/exec"
HANDSHAKE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "v5.channel.k8s.io",
}


def true(process: PodProcess) -> int:
    return 0


def pod(name: str = "web-0", node: str = "n", state: str = "") -> dict[str, Any]:
    status = {"containerStatuses": [{"name": "web", "state": {state: {}}}]} if state else {}
    return {
        "metadata": {"name": name},
        "spec": {"nodeName": node, "containers": [{"name": "web", "image": "web:1"}]},
        "status": status,
    }


@pytest.fixture
def pods(server: EmbeddedAPIServer, api: Api) -> Api:
    server.provide_programs(PodPrograms(exec=true, attach=true, port=lambda _: None))
    api.create(PODS, pod())
    return api


@pytest.mark.parametrize(
    ("path", "headers", "code", "message"),
    [
        ("exec?command=a&stdout=1", {"Upgrade": "h2c"}, 400, "Upgrade request required"),
        ("exec?command=a&stdout=1", {"Sec-WebSocket-Key": ""}, 400, "Upgrade request required"),
        (
            "exec?command=a&stdout=1",
            {"Sec-WebSocket-Protocol": "v9.channel.k8s.io"},
            400,
            "['v9.channel.k8s.io'] are not among ['v5.channel.k8s.io', 'v4.channel.k8s.io']",
        ),
        ("exec?command=a&stdout=1", {"Upgrade": "SPDY/3.1"}, 501, "exec over SPDY is not avail"),
        ("portforward?ports=1", {"Upgrade": "SPDY/3.1"}, 501, "portforward over SPDY is not av"),
        ("exec?command=a", {}, 400, "you must specify at least 1 of stdin, stdout, stderr"),
        ("exec?stdout=1", {}, 400, "you must specify a command"),
        ("exec?command=a&stdout=1&container=x", {}, 400, "container x is not valid for pod"),
        ("portforward", {}, 400, 'query parameter "ports" must be numbers'),
        ("portforward?ports=0", {}, 400, 'query parameter "ports" must be numbers'),
        ("portforward?ports=http", {}, 400, 'query parameter "ports" must be numbers'),
        ("exec?command=a&stdout=1", {"Origin": "http://evil.example"}, 403, "other origins"),
    ],
)
def test_what_cannot_be_served_is_refused_as_a_status(
    pods: Api, path: str, headers: dict[str, str], code: int, message: str
) -> None:
    answer = pods.call("GET", f"{PODS}/web-0/{path}", headers={**HANDSHAKE, **headers})

    assert (answer.status, answer.body["kind"]) == (code, "Status")
    assert message in answer.body["message"]
    assert pods.call("GET", f"{PODS}/web-0").status == 200  # the parser reads other requests


def test_a_pod_must_run(pods: Api) -> None:
    pods.create(PODS, pod("pending", node=""))
    pods.create(PODS, pod("done"))
    pods.call("PUT", f"{PODS}/done/status", pod("done", state="terminated"))

    path = "exec?command=a&stdout=1"
    pending = pods.call("GET", f"{PODS}/pending/{path}", headers=HANDSHAKE)
    done = pods.call("GET", f"{PODS}/done/{path}", headers=HANDSHAKE)

    assert "pod pending does not have a host assigned" in pending.body["message"]
    assert 'container not found ("web")' in done.body["message"]


def test_the_answer_to_the_handshake_is_that_of_the_standard(pods: Api) -> None:
    connection = http.client.HTTPConnection(pods.url.partition("://")[2])
    connection.request("GET", f"{EXEC}?command=a&stdout=1", headers=HANDSHAKE)
    answer = connection.getresponse()

    assert answer.status == 101
    assert answer.headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert answer.headers["Sec-WebSocket-Protocol"] == "v5.channel.k8s.io"
    connection.close()


def test_one_websocket_may_have_several_ports(server: EmbeddedAPIServer, pods: Api) -> None:
    server.provide_programs(PodPrograms(port=lambda connection: connection.write(b"hi")))
    host, _, port = pods.url.partition("://")[2].partition(":")
    head = "".join(
        f"{name}: {value}\r\n"
        for name, value in {**HANDSHAKE, "Sec-WebSocket-Protocol": "v4.channel.k8s.io"}.items()
    )
    with socket.create_connection((host, int(port))) as sock, sock.makefile("rb") as incoming:
        sock.sendall(
            f"GET {PODS}/web-0/portforward?ports=80,81&ports=82 HTTP/1.1\r\n"
            f"Host: localhost\r\n{head}\r\n".encode()
        )
        while incoming.readline() != b"\r\n":
            pass
        messages = []
        while (begin := incoming.read(2))[0] == 0x82:
            messages.append(incoming.read(begin[1]))

    ports = [messages.count(bytes([channel, 80 + channel // 2, 0])) for channel in range(6)]
    assert ports == [1] * 6
    assert sorted(each for each in messages if each[1:] == b"hi") == [b"\0hi", b"\2hi", b"\4hi"]


def test_a_failing_program_is_logged_and_reported(
    server: EmbeddedAPIServer, pods: Api, caplog: pytest.LogCaptureFixture
) -> None:
    def program(process: PodProcess) -> int:
        raise ZeroDivisionError("a bug")

    server.provide_programs(PodPrograms(exec=program))
    with Client(server.kubeconfig) as client, pytest.raises(Exception, match="container: a bug"):
        client.resource(Pod).namespace("default").exec("web-0", ["a"])
    assert "a program of a pod failed" in caplog.text


def test_a_program_that_writes_on_after_a_client_has_gone_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    ended = threading.Event()

    def program(process: PodProcess) -> int:
        try:
            while True:
                process.write(b"more")
        finally:
            ended.set()

    with EmbeddedAPIServer(secure=True) as server, Client(server.kubeconfig) as client:
        client.create({"apiVersion": "v1", "kind": "Pod", **pod()}, namespace="default")
        server.provide_programs(PodPrograms(exec=program))
        for _ in range(20):
            ended.clear()
            with client.resource(Pod).namespace("default").start_exec("web-0", ["a"]) as running:
                running.read()
            assert ended.wait(60)
    gc.collect()  # of tasks whose failure was not looked at
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_a_stopped_server_ends_its_streams(api: Api) -> None:
    with EmbeddedAPIServer() as server, Client(server.kubeconfig) as client:
        server.provide_programs(
            PodPrograms(
                exec=lambda process: len(process.read_all()),
                port=lambda connection: [*iter(connection.read, b"")].clear(),
            )
        )
        Api(server.url).create(PODS, pod())
        pods = client.resource(Pod).namespace("default")
        running = pods.start_exec("web-0", ["a"], stdin=True)
        stream = pods.open_port("web-0", 80)
        server.stop()
        with running, pytest.raises(ConnectionLostError):
            running.read(timeout=60)
        with stream, pytest.raises(ConnectionLostError):
            stream.receive(timeout=60)


def test_programs_stay_when_the_server_starts_again(server: EmbeddedAPIServer, pods: Api) -> None:
    server.restart(keep_objects=True)

    with Client(server.kubeconfig) as client:
        assert client.resource(Pod).namespace("default").exec("web-0", ["a"]).exit_code == 0


@pytest.mark.parametrize(
    ("verbs", "missing"), [("create", "get"), ("get", "create"), ("get create", "")]
)
def test_a_stream_needs_the_verbs_get_and_create(users: Users, verbs: str, missing: str) -> None:
    """Since Kubernetes 1.35, reading pods is not enough to run commands in them."""
    users.create(PODS, pod())
    users.role("runner", rule(verbs, "pods/exec"))
    users.bind("runner", {"kind": "User", "name": "jane"})
    users.server.provide_programs(PodPrograms(exec=true))
    config = load_config(users.server.kubeconfig)
    with Client(replace(config, impersonate=Impersonation(user="jane"))) as client:
        pods = client.resource(Pod).namespace("default")
        if missing:
            with pytest.raises(ForbiddenError, match=f'cannot {missing} resource "pods/exec"'):
                pods.exec("web-0", ["a"])
        else:
            assert pods.exec("web-0", ["a"]).exit_code == 0
