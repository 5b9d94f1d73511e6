from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.observe.metrics import Metric
from clientgo.rest import ConnectionLostError, RestClient, RestConfig
from clientgo.rest.requests.request_metrics import RequestMetrics
from clientgo.testing import AutoClock
from clientgo.testing.scripted_server import ScriptedServer, answer_json, answer_status, hang_up


class Recorder:
    """A provider that remembers what was reported."""

    def __init__(self) -> None:
        self.values: dict[tuple[Any, ...], list[float]] = defaultdict(list)

    def counter(self, metric: Metric, /, **labels: str) -> Any:
        assert set(labels) == set(metric.labels)
        values = self.values[(metric.name, *(labels[name] for name in metric.labels))]

        class Instrument:
            def inc(self, amount: float = 1.0, /) -> None:
                values.append(amount)

            observe = inc

            def remove(self) -> None: ...

        return Instrument()

    gauge = histogram = summary = counter


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


def test_attempts_retries_latency_and_sizes_are_reported(server):
    """REST-20: the result for each attempt, retries from the second on, latency once for all."""
    recorder = Recorder()
    server.on("*", answer_status(503, "", headers=[("Retry-After", "2")]), answer_json({"a": 1}))
    client = RestClient(RestConfig(server=server.url, clock=AutoClock()), metrics=recorder)

    client.post().absolute_path("/x").body(b"12345").do()

    host = server.url.removeprefix("http://")
    assert recorder.values == {
        ("rest_client_requests_total", "503", "POST", host): [1],
        ("rest_client_requests_total", "200", "POST", host): [1],
        ("rest_client_request_retries_total", "200", "POST", host): [1],
        ("rest_client_request_duration_seconds", "POST", host): [2.0],
        ("rest_client_request_size_bytes", "POST", host): [5],
        ("rest_client_response_size_bytes", "POST", host): [7],
    }


def test_an_attempt_without_an_answer_has_the_code_error(server):
    """REST-20."""
    recorder = Recorder()
    server.on("*", hang_up())
    client = RestClient(RestConfig(server=server.url, clock=AutoClock()), metrics=recorder)

    with pytest.raises(ConnectionLostError):
        client.put().absolute_path("/x").do()

    host = server.url.removeprefix("http://")
    assert recorder.values[("rest_client_requests_total", "<error>", "PUT", host)] == [1]


def test_a_client_without_a_host_reports_none():
    """REST-20."""
    recorder = Recorder()

    RequestMetrics(recorder, "").attempt("GET", 200)

    assert list(recorder.values) == [("rest_client_requests_total", "200", "GET", "none")]
