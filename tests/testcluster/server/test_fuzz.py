"""Every request gets a response in time, which blames the client.

``CLIENTGO_FUZZ_EXAMPLES`` is the number of requests of each sort; by default a small number, always
the same requests.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterator

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.fuzz.errors import REAL_SERVER_ERRORS
from tests.testcluster.server.fuzz.objects import CRDS, OBJECTS
from tests.testcluster.server.fuzz.request_parts import encode
from tests.testcluster.server.fuzz.strategies import definitions, mistaken, requests, streams
from tests.testcluster.server.fuzz.wire import FuzzedRequest, Wire
from tests.testcluster.server.http_api import widget_crd

EXAMPLES = int(os.environ.get("CLIENTGO_FUZZ_EXAMPLES", "0"))
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"


def fuzz(few: int) -> settings:
    return settings(
        max_examples=EXAMPLES or few,
        derandomize=not EXAMPLES,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


@pytest.fixture(scope="module")
def wire() -> Iterator[Wire]:
    with EmbeddedAPIServer() as server:
        wire = Wire(server.url)
        wire.ask(FuzzedRequest("POST", CRDS, (), encode(widget_crd())))
        yield wire
        wire.close()


@pytest.fixture
def faults_of_the_server() -> Iterator[list[str]]:
    """What the server's log says about work that failed unexpectedly."""
    found: list[str] = []

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            found.append(self.format(record))

    logger = logging.getLogger("clientgo.testcluster.server")
    handler = Collector(logging.ERROR)
    logger.addHandler(handler)
    yield found
    logger.removeHandler(handler)


def check(status: int, body: bytes, faults: list[str]) -> None:
    assert not faults, faults.pop()
    if status >= 500 and body:  # HEAD brings none
        answer = yaml.safe_load(body)  # which JSON is too
        assert answer["kind"] == "Status"
        assert REAL_SERVER_ERRORS.search(answer["message"]), answer


@fuzz(few=300)
@given(requests())
def test_any_request_is_answered(
    wire: Wire, faults_of_the_server: list[str], request_: FuzzedRequest
) -> None:
    check(*wire.ask(request_), faults_of_the_server)


@fuzz(few=60)
@given(definitions(), mistaken(OBJECTS[WIDGETS]), mistaken(OBJECTS[WIDGETS]))
def test_any_definition_is_answered_and_so_are_objects_of_it(
    wire: Wire,
    faults_of_the_server: list[str],
    crd: object,
    first: object,
    second: object,
) -> None:
    name = f"{CRDS}/widgets.example.com"
    apply = ("Content-Type", "application/apply-patch+yaml")
    merge = ("Content-Type", "application/merge-patch+json")
    table = ("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
    for request in (
        FuzzedRequest("DELETE", name, (), b""),
        FuzzedRequest("POST", CRDS, (), encode(crd)),
        FuzzedRequest("POST", WIDGETS, (), encode(first)),
        FuzzedRequest("PUT", f"{WIDGETS}/a", (), encode(second)),
        FuzzedRequest("PATCH", f"{WIDGETS}/a", (merge,), encode(second)),
        FuzzedRequest("PATCH", f"{WIDGETS}/a?fieldManager=m", (apply,), encode(first)),
        FuzzedRequest("PUT", f"{WIDGETS}/a/status", (), encode(first)),
        FuzzedRequest("GET", f"{WIDGETS}/a/scale", (), b""),
        FuzzedRequest("GET", f"{WIDGETS}?fieldSelector=spec.size=1", (table,), b""),
        FuzzedRequest("GET", "/openapi/v3/apis/example.com/v1", (), b""),
    ):
        check(*wire.ask(request), faults_of_the_server)


@fuzz(few=100)
@given(streams)
def test_any_bytes_get_a_response_or_a_closed_connection(
    wire: Wire, faults_of_the_server: list[str], stream: bytes
) -> None:
    received = wire.babble(stream)

    assert not faults_of_the_server, faults_of_the_server.pop()
    assert not re.search(rb"^HTTP/1\.1 5", received, re.MULTILINE)


def test_the_server_is_well_after_all_that(wire: Wire) -> None:
    status, body = wire.ask(FuzzedRequest("GET", "/api/v1/namespaces/default", (), b""))

    assert (status, json.loads(body)["kind"]) == (200, "Namespace")
