"""Faults over HTTP, and only where they were asked for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from clientgo.apiserver import EmbeddedAPIServer
from clientgo.apiserver.fault_control import CONTROL_PATH
from tests.apiserver.http_api import CONFIGMAPS, Api

FAILING_LISTS = {"fault": "FailRequests", "requests": {"verbs": ["list"]}, "times": None}


@pytest.fixture
def controlled() -> Iterator[Api]:
    with EmbeddedAPIServer(fault_control=True) as server:
        yield Api(server.url)


def test_a_fault_is_injected_told_and_lifted(controlled: Api) -> None:
    held = controlled.create(CONTROL_PATH, FAILING_LISTS)

    assert controlled.get(CONTROL_PATH) == held
    assert [fault["fault"] for fault in held] == ["FailRequests"]
    assert controlled.call("GET", CONFIGMAPS).status == 500

    assert controlled.delete(CONTROL_PATH, FAILING_LISTS) == []
    assert controlled.call("GET", CONFIGMAPS).status == 200


def test_a_request_without_a_body_lifts_all(controlled: Api) -> None:
    controlled.create(CONTROL_PATH, FAILING_LISTS)
    controlled.create(CONTROL_PATH, {"fault": "FreezeWatches"})

    assert controlled.delete(CONTROL_PATH) == []


@pytest.mark.parametrize(
    "body",
    [{}, [], {"fault": "Earthquake"}, FAILING_LISTS | {"status": 200}, FAILING_LISTS | {"tmes": 1}],
)
def test_what_is_no_fault_is_refused(controlled: Api, body: Any) -> None:
    assert controlled.call("POST", CONTROL_PATH, body).status == 400
    assert controlled.get(CONTROL_PATH) == []


def test_a_server_is_not_controlled_unless_told_so(server: EmbeddedAPIServer) -> None:
    answer = urllib3.request("POST", server.url + CONTROL_PATH, json=FAILING_LISTS, retries=False)

    assert answer.status == 404
    assert Api(server.url).call("GET", CONFIGMAPS).status == 200
