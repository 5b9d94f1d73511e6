"""Faults over HTTP, only if the server was started for it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import RestartServer
from clientgo.testcluster.server.faults.control import CONTROL_PATH
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

FAILING_LISTS = {"fault": "FailRequests", "requests": {"verbs": ["list"]}, "times": None}


@pytest.fixture
def controlled() -> Iterator[Api]:
    with EmbeddedAPIServer(fault_control=True) as server:
        yield Api(server.url)


def test_a_fault_is_injected_listed_and_lifted(controlled: Api) -> None:
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
    [
        {},
        [],
        {"fault": "Earthquake"},
        FAILING_LISTS | {"status": 200},
        FAILING_LISTS | {"tmes": 1},
        {"fault": "RotateToken", "token": "not a word"},
    ],
)
def test_what_is_no_fault_is_refused(controlled: Api, body: Any) -> None:
    assert controlled.call("POST", CONTROL_PATH, body).status == 400
    assert controlled.get(CONTROL_PATH) == []


def test_a_watch_is_closed_and_history_expires(controlled: Api) -> None:
    version = controlled.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    controlled.create(CONFIGMAPS, configmap("b"))
    watch = controlled.watch(CONFIGMAPS)
    assert watch.next()["object"]["kind"] == "ConfigMap"

    controlled.create(CONTROL_PATH, {"fault": "CloseWatches"})
    controlled.create(CONTROL_PATH, {"fault": "ExpireHistory"})

    assert {event["type"] for event in watch} <= {"ADDED"}, "it has ended"
    event = controlled.watch(CONFIGMAPS, resourceVersion=version).next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_a_restart_is_answered_before_it_happens() -> None:
    with EmbeddedAPIServer(fault_control=True) as server:
        api = Api(server.url)
        api.create(CONFIGMAPS, configmap("a"))

        api.create(CONTROL_PATH, {"fault": "RestartServer", "keep_objects": False})

        assert server.wait_until_struck(RestartServer(keep_objects=False))
        assert api.call("GET", f"{CONFIGMAPS}/a").status == 404


def test_who_rotates_the_token_needs_the_new_one_for_the_next_fault() -> None:
    with EmbeddedAPIServer(fault_control=True) as server:
        api = Api(server.url)
        api.create(CONTROL_PATH, {"fault": "RotateToken", "token": "new"})

        assert api.call("GET", CONTROL_PATH).status == 401
        headers = {"authorization": "Bearer new"}
        answer = urllib3.request("GET", server.url + CONTROL_PATH, headers=headers, retries=False)
        assert answer.status == 200


def test_faults_are_not_controlled_over_http_by_default(server: EmbeddedAPIServer) -> None:
    answer = urllib3.request("POST", server.url + CONTROL_PATH, json=FAILING_LISTS, retries=False)

    assert answer.status == 404
    assert Api(server.url).call("GET", CONFIGMAPS).status == 200


@pytest.mark.parametrize(("options", "status"), [(["--faults"], 500), ([], 200)])
def test_the_program_is_controlled_if_it_was_started_with_faults(
    options: list[str], status: int
) -> None:
    command = [sys.executable, "-m", "clientgo", "apiserver", "--listen", "127.0.0.1:0"]
    command.append("--insecure-loopback")
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        address = re.search(r"http://127\.0\.0\.1:\d+", program.stdout.readline())
        assert address is not None
        api = Api(address[0])

        urllib3.request("POST", address[0] + CONTROL_PATH, json=FAILING_LISTS, retries=False)

        assert api.call("GET", CONFIGMAPS).status == status
        program.terminate()
        assert program.wait(timeout=30) == 0


def test_a_body_that_is_not_in_json_is_refused(controlled: Api) -> None:
    """A form is what a web page can send without a preflight request."""
    answer = controlled.call(
        "POST", CONTROL_PATH, FAILING_LISTS, "application/x-www-form-urlencoded"
    )

    assert answer.status == 415
    assert controlled.get(CONTROL_PATH) == []


def test_the_path_needs_the_token_of_the_server() -> None:
    with EmbeddedAPIServer(fault_control=True, token="sesame") as server:
        url = server.url + CONTROL_PATH
        body = FAILING_LISTS
        assert urllib3.request("POST", url, json=body).status == 401
        assert urllib3.request("GET", url).status == 401
        admitted = {"Authorization": "Bearer sesame", "Content-Type": "application/json"}
        assert urllib3.request("POST", url, json=body, headers=admitted).status == 200
