"""Requests for logs, and what is answered before a container runs."""

from __future__ import annotations

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.containers import written_logs
from tests.testcluster.server.http_api import Api

PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture
def logs(server: EmbeddedAPIServer, api: Api) -> Api:
    """A pod ``pending``, and a pod ``running`` on a node, whose containers wrote three lines."""
    server.provide_logs(lambda _pod, container: f"{container}1\n{container}2\n{container}3\n")
    containers = [{"name": "a", "image": "i"}, {"name": "b", "image": "i"}]
    first = [{"name": "first", "image": "i"}]
    for name, node in (("pending", ""), ("running", "n")):
        spec = {"nodeName": node, "initContainers": first, "containers": containers}
        api.create(PODS, {"metadata": {"name": name}, "spec": spec})
    return api


def test_a_pod_without_a_node_has_an_empty_log(logs: Api) -> None:
    answer = logs.call("GET", f"{PODS}/pending/log", container="a")

    assert (answer.status, answer.body) == (204, None)
    assert "content-length" not in answer.headers


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({}, "a1\na2\na3\n"),
        ({"tailLines": "1"}, "a3\n"),
        ({"tailLines": "0"}, None),
        ({"tailLines": "9"}, "a1\na2\na3\n"),
        ({"limitBytes": "4"}, "a1\na"),
    ],
)
def test_a_log_is_cut_as_the_options_say(
    logs: Api, query: dict[str, str], text: str | None
) -> None:
    assert logs.call("GET", f"{PODS}/running/log", container="a", **query).body == text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"tailLines": "-1"}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": "0"}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": "0"}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": "0", "sinceTime": "2026-01-01T00:00:00Z"},
            "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
    ],
)
def test_options_that_are_not_valid_are_refused(
    logs: Api, query: dict[str, str], message: str
) -> None:
    answer = logs.call("GET", f"{PODS}/none/log", **query)

    assert answer.status == 422
    assert answer.body["details"]["kind"] == "PodLogOptions"
    assert answer.body["message"].endswith(message)
    assert logs.call("GET", f"{PODS}/none/log", tailLines="x").status == 400


def test_the_container_must_be_one_of_the_pod(logs: Api) -> None:
    unnamed = logs.call("GET", f"{PODS}/pending/log")
    wrong = logs.call("GET", f"{PODS}/pending/log", container="c")

    assert (unnamed.status, unnamed.body["message"]) == (
        400,
        "a container name must be specified for pod pending, choose one of: [first a b]",
    )
    assert (wrong.status, wrong.body["message"]) == (
        400,
        "container c is not valid for pod pending",
    )


def test_no_two_lines_have_the_same_time(server: EmbeddedAPIServer, logs: Api) -> None:
    server.provide_logs(lambda _pod, _container: "")
    for _ in range(50):
        server.write_log("default", "running", "x\ny\n" * 20, container="a")

    text = logs.call("GET", f"{PODS}/running/log", container="a", timestamps="true").body
    times = [line.partition(" ")[0] for line in text.splitlines()]
    assert times == sorted(set(times))
    since = logs.call(
        "GET", f"{PODS}/running/log", container="a", sinceTime=times[1990], timestamps="true"
    ).body
    assert [line.partition(" ")[0] for line in since.splitlines()] == times[1990:]


def test_a_log_that_is_followed_is_not_forgotten(
    server: EmbeddedAPIServer, logs: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written_logs, "_MOST_CONTAINERS", 1)
    url = f"{server.url}{PODS}/running/log?container=a&follow=true"
    followed = urllib3.request("GET", url, preload_content=False, timeout=30)
    assert followed.read1() == b"a1\na2\na3\n"

    server.write_log("default", "running", "b4\n", container="b")
    server.write_log("default", "running", "a4\n", container="a")

    assert followed.read1() == b"a4\n"
    followed.close()
