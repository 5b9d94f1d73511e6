"""Logs of containers, line by line, as they are written."""

from __future__ import annotations

import gzip
import threading
from queue import Queue

import pytest

from clientgo.api.core_v1 import Pod
from clientgo.client import Client, ResourceClient
from clientgo.meta import DecodeError, NotFoundError
from clientgo.rest import ConnectionLostError, RestConfig, TransportTimeoutError
from clientgo.rest.requests import watch_stream
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer,
    chunk,
    hang_up,
    send,
    stay_silent,
    watch_begin,
    watch_end,
)
from tests.background import Background

Pods = ResourceClient[Pod]
LOG = "/api/v1/namespaces/default/pods/web-0/log"


@pytest.fixture(autouse=True)
def _logs(server: EmbeddedAPIServer) -> None:
    server.provide_logs(lambda _pod, container: f"{container} begins\n{container} goes on\n")


def test_a_log_is_read_line_by_line(pods: Pods) -> None:
    with pods.logs("web-0") as lines:
        assert [*lines] == ["web begins", "web goes on"]
    assert [*pods.logs("web-0", tail_lines=1)] == ["web goes on"]
    assert [*pods.logs("web-0", limit_bytes=5)] == ["web b"]
    with pytest.raises(NotFoundError):
        pods.logs("web-9")


def test_every_option_reaches_the_server(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    scripted.on(LOG, answer(200, b"", content_type="text/plain"))

    lines = scripted_pods.logs(
        "web-0",
        container="c",
        follow=True,
        previous=True,
        timestamps=True,
        tail_lines=0,
        since_seconds=3,
        limit_bytes=9,
    )

    assert [*lines] == []
    [request] = scripted.requests
    assert request.query == {
        "container": "c",
        "follow": "true",
        "previous": "true",
        "timestamps": "true",
        "tailLines": "0",
        "sinceSeconds": "3",
        "limitBytes": "9",
    }
    assert request.headers["accept-encoding"] == "identity"


def test_lines_arrive_when_they_are_written_until_the_pod_is_gone(
    server: EmbeddedAPIServer, pods: Pods
) -> None:
    """STM-11."""
    with Client(server.kubeconfig) as client:
        own = client.resource(Pod).namespace("default")
        own.create(
            {
                "metadata": {"name": "worker"},
                "spec": {"nodeName": "n", "containers": [{"name": "web", "image": "i"}]},
            }
        )
    with pods.logs("worker", follow=True, tail_lines=1, timeout=60) as lines:
        assert next(lines) == "web goes on"
        server.write_log("default", "worker", "one\ntwo\n")
        assert [next(lines), next(lines)] == ["one", "two"]
        pods.delete("worker", grace_period_seconds=0)
        assert [*lines] == []


def test_a_stop_from_another_thread_ends_the_iteration(pods: Pods) -> None:
    """STM-05."""
    for how in ("event", "method"):
        stop = threading.Event()
        with pods.logs("web-0", follow=True, tail_lines=0, stop=stop) as lines:
            reading = Background(lambda lines=lines: [*lines])
            if how == "event":
                stop.set()
            else:
                lines.stop()
            assert reading.result() == []


def test_a_close_from_another_thread_ends_the_iteration(
    server: EmbeddedAPIServer, pods: Pods
) -> None:
    """STM-05."""
    lines = pods.logs("web-0", follow=True, tail_lines=1)
    seen: Queue[str] = Queue()
    reading = Background(lambda: [seen.put(line) for line in lines])
    seen.get(timeout=60)
    Background(lines.close).result(timeout=30)
    reading.result()


def test_a_log_in_which_nothing_is_written_ends_with_the_timeout(pods: Pods) -> None:
    with (
        pods.logs("web-0", follow=True, tail_lines=0, timeout=0.05) as lines,
        pytest.raises(TransportTimeoutError),
    ):
        next(lines)


def test_a_log_that_is_not_followed_has_the_timeout_of_reads(scripted: ScriptedServer) -> None:
    scripted.on(LOG, watch_begin() + send(chunk(b"one\n")) + stay_silent())

    with Client(RestConfig(server=scripted.url, read_timeout=0.05)) as client:
        lines = client.resource(Pod).namespace("default").logs("web-0")
        with lines, pytest.raises(TransportTimeoutError):
            list(lines)


def test_characters_and_lines_may_be_split_anywhere(
    scripted: ScriptedServer, scripted_pods: Pods
) -> None:
    whole = "é\n\nlast".encode() + b"\xff"
    pieces = [chunk(whole[place : place + 1]) for place in range(len(whole))]
    scripted.on(LOG, watch_begin() + send(*pieces) + watch_end())

    assert [*scripted_pods.logs("web-0", follow=True)] == ["é", "", "last\ufffd"]


def test_a_connection_that_breaks_is_no_end(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    """STM-11."""
    scripted.on(LOG, watch_begin() + send(chunk(b"one\ntw")) + hang_up())
    lines = scripted_pods.logs("web-0", follow=True)

    assert next(lines) == "one"
    with lines, pytest.raises(ConnectionLostError):
        next(lines)


def test_a_line_without_an_end_has_a_limit(
    scripted: ScriptedServer, scripted_pods: Pods, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch_stream, "_LONGEST_EVENT", 100)
    scripted.on(LOG, watch_begin() + send(*[chunk(b"x" * 40)] * 9) + stay_silent())

    with scripted_pods.logs("web-0") as lines, pytest.raises(DecodeError, match="not a log: "):
        next(lines)


def test_a_compressed_log_is_read(scripted: ScriptedServer, scripted_pods: Pods) -> None:
    headers = [("Content-Encoding", "gzip")]
    scripted.on(LOG, answer(200, gzip.compress(b"a\nb\n"), headers=headers))

    assert [*scripted_pods.logs("web-0")] == ["a", "b"]


def test_a_log_goes_on_after_its_last_timestamp(server: EmbeddedAPIServer, pods: Pods) -> None:
    """The recipe of the docs: nothing is lost, nothing comes twice."""
    server.provide_logs(lambda _pod, _container: "")
    server.write_log("default", "web-0", "one\ntwo\n")
    seen, last = [], ""
    for wanted in ("one", "three"):
        with pods.logs("web-0", follow=True, timestamps=True, since_time=last) as lines:
            for line in lines:
                time, _, text = line.partition(" ")
                if time > last:
                    last = time
                    seen.append(text)
                if text == wanted:
                    break
        server.write_log("default", "web-0", "three\n")

    assert seen == ["one", "two", "three"]
