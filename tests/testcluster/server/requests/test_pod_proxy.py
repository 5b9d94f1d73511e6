"""Requests that are passed on to a port of a pod."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer, PodConnection, PodPrograms
from tests.testcluster.server.http_api import Api

PODS = "/api/v1/namespaces/default/pods"


def pod(name: str = "web", node: str = "n", *ports: int) -> dict[str, Any]:
    declared = [{"containerPort": port} for port in ports]
    containers = [{"name": "web", "image": "web:1", "ports": declared}]
    return {"metadata": {"name": name}, "spec": {"nodeName": node, "containers": containers}}


def echo(connection: PodConnection) -> None:
    """Answer with the request, and the port that it came to; stay connected."""
    request = connection.read()
    body = b"%d %s" % (connection.port, request)
    connection.write(b"HTTP/1.1 207 Many\r\nContent-Type: text/x\r\nX-Own: 1\r\n")
    connection.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    assert connection.read() == b""


@pytest.fixture
def pods(server: EmbeddedAPIServer, api: Api) -> Api:
    server.provide_programs(PodPrograms(port=echo))
    api.create(PODS, pod("web", "n", 8080, 8081))
    return api


def test_the_program_of_the_port_gets_the_request_and_answers_it(pods: Api) -> None:
    headers = {"X-Mine": "2", "Authorization": "Bearer secret"}
    answer = pods.call("POST", f"{PODS}/web/proxy/a b/c", {"k": 1}, headers=headers, q="1&2")

    port, request = answer.body.split(" ", 1)
    assert (answer.status, port) == (207, "8080")
    assert (answer.headers["content-type"], answer.headers["x-own"]) == ("text/x", "1")
    assert request.startswith("POST /a%20b/c?q=1%262 HTTP/1.1\r\n")
    assert "\r\nx-mine: 2\r\n" in request
    assert "secret" not in request
    assert request.endswith('\r\n\r\n{"k": 1}')


@pytest.mark.parametrize(
    ("name", "port"), [("web", "8080"), ("web:8081", "8081"), ("http:web:9", "9"), ("web:", "8080")]
)
def test_the_name_may_have_a_port(pods: Api, name: str, port: str) -> None:
    assert pods.call("GET", f"{PODS}/{name}/proxy/").body.startswith(f"{port} GET / HTTP/1.1")


def test_a_path_without_a_slash_leads_to_one_with_it(pods: Api) -> None:
    answer = pods.call("GET", f"{PODS}/web/proxy", q="1")

    assert answer.status == 301
    assert answer.headers["location"] == f"{PODS}/web/proxy/?q=1"


def test_a_response_may_end_with_its_program(server: EmbeddedAPIServer, pods: Api) -> None:
    server.provide_programs(PodPrograms(port=lambda it: it.write("HTTP/1.0 200 OK\r\n\r\nall")))

    assert pods.call("GET", f"{PODS}/web/proxy/").body == "all"
    assert pods.call("HEAD", f"{PODS}/web/proxy/").status == 200


def refused(_: PodConnection) -> None:
    raise ConnectionRefusedError("dial tcp: connect: connection refused")


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (refused, "connection refused"),
        (lambda _: None, "Remote end closed connection"),
        (lambda it: it.write("hello\r\n\r\n"), "hello"),
        (lambda it: it.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nless"), "4 bytes read"),
    ],
)
def test_a_port_that_does_not_answer_is_unavailable(
    server: EmbeddedAPIServer, pods: Api, program: Any, why: str
) -> None:
    server.provide_programs(PodPrograms(port=program))

    answer = pods.call("GET", f"{PODS}/web/proxy/")

    assert (answer.status, answer.body["reason"]) == (503, "ServiceUnavailable")
    assert answer.body["message"].startswith("error trying to reach service: ")
    assert why in answer.body["message"]


def test_what_cannot_be_reached_is_refused(server: EmbeddedAPIServer, pods: Api) -> None:
    pods.create(PODS, pod("waiting", ""))

    assert pods.call("GET", f"{PODS}/waiting/proxy/").status == 400
    assert pods.call("GET", f"{PODS}/web:http/proxy/").status == 400
    assert pods.call("GET", f"{PODS}/none/proxy/").status == 404
    server.provide_programs(PodPrograms())
    assert pods.call("GET", f"{PODS}/web/proxy/").status == 501
