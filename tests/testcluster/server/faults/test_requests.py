"""Requests that fail, are delayed or lose their response."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import (
    CutAnswers,
    DelayRequests,
    FailRequests,
    HoldRequests,
    Requests,
)
from clientgo.testcluster.server.faults.matching import ObservedRequest
from tests.testcluster.server.faults.injected import CREATE, LIST, names
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap


def test_the_next_requests_that_match_fail_and_then_no_more(
    server: EmbeddedAPIServer, api: Api
) -> None:
    fault = FailRequests(requests=CREATE, status=503, times=2)
    server.inject(fault)

    statuses = [api.call("POST", CONFIGMAPS, configmap("a")).status for _ in range(3)]

    assert statuses == [503, 503, 201]
    assert server.struck(fault) == 2


@pytest.mark.parametrize(
    "requests",
    [
        Requests(verbs=("update",)),
        Requests(resource="secrets"),
        Requests(resource="configmaps/status"),
        Requests(namespace="elsewhere"),
        Requests(name="b"),
        Requests(user_agent="somebody"),
        Requests(other_than="configmaps"),
    ],
)
def test_requests_that_do_not_match_pass(
    server: EmbeddedAPIServer, api: Api, requests: Requests
) -> None:
    server.inject(FailRequests(requests=requests))

    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 201


def test_the_object_that_is_created_is_known_by_its_name(
    server: EmbeddedAPIServer, api: Api
) -> None:
    server.inject(FailRequests(requests=Requests(name="b")))

    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 201
    assert api.call("POST", CONFIGMAPS, configmap("b")).status == 500


def test_a_failure_has_a_retry_after_header(server: EmbeddedAPIServer) -> None:
    server.inject(FailRequests(requests=LIST, status=429, retry_after=7))

    answer = urllib3.request("GET", server.url + CONFIGMAPS, retries=False)

    status = json.loads(answer.data)
    assert (answer.status, answer.headers["retry-after"]) == (429, "7")
    assert (status["reason"], status["details"]) == ("TooManyRequests", {"retryAfterSeconds": 7})


def test_a_request_takes_effect_though_its_answer_is_lost(
    server: EmbeddedAPIServer, api: Api
) -> None:
    server.inject(FailRequests(requests=CREATE, status=504, after_effect=True))

    assert api.call("POST", CONFIGMAPS, configmap("a")).status == 504

    assert names(api.get(CONFIGMAPS)) == ["a"]


def test_requests_are_let_through_before_the_one_that_fails(
    server: EmbeddedAPIServer, api: Api
) -> None:
    server.inject(FailRequests(requests=LIST, skip=2))

    assert [api.call("GET", CONFIGMAPS).status for _ in range(4)] == [200, 200, 500, 200]


def test_the_same_seed_chooses_the_same_requests(server: EmbeddedAPIServer, api: Api) -> None:
    def statuses(seed: int) -> list[int]:
        fault = FailRequests(requests=LIST, times=None, chance=0.5, seed=seed)
        server.inject(fault)
        found = [api.call("GET", CONFIGMAPS).status for _ in range(20)]
        server.lift(fault)
        return found

    first = statuses(1)

    assert set(first) == {200, 500}
    assert statuses(1) == first
    assert statuses(2) != first


def test_a_lifted_fault_strikes_no_more(server: EmbeddedAPIServer, api: Api) -> None:
    server.inject(FailRequests(requests=LIST, times=None))
    assert api.call("GET", CONFIGMAPS).status == 500

    server.lift()

    assert api.call("GET", CONFIGMAPS).status == 200


def test_a_fault_stays_active_after_a_restart(server: EmbeddedAPIServer, api: Api) -> None:
    server.inject(FailRequests(requests=LIST))

    server.restart()

    assert api.call("GET", CONFIGMAPS).status == 500


def test_a_delayed_request_is_answered_later(server: EmbeddedAPIServer) -> None:
    server.inject(DelayRequests(requests=LIST, seconds=30))

    with pytest.raises(urllib3.exceptions.ReadTimeoutError):
        urllib3.request("GET", server.url + CONFIGMAPS, retries=False, timeout=0.2)


def test_a_held_request_continues_when_the_fault_is_lifted(
    server: EmbeddedAPIServer, api: Api
) -> None:
    hold = HoldRequests(requests=CREATE, skip=1)
    server.inject(hold)
    with ThreadPoolExecutor() as threads:
        assert api.call("POST", CONFIGMAPS, configmap("a")).status == 201
        held = threads.submit(api.call, "POST", CONFIGMAPS, configmap("b"))
        assert server.wait_until_struck(hold)
        assert api.call("POST", CONFIGMAPS, configmap("c")).status == 201
        assert names(api.get(CONFIGMAPS)) == ["a", "c"]

        server.lift(hold)

        assert held.result(30).status == 201
    assert names(api.get(CONFIGMAPS)) == ["a", "b", "c"]


def test_a_fault_that_is_injected_meanwhile_strikes_a_held_request(
    server: EmbeddedAPIServer, api: Api
) -> None:
    earlier, hold = FailRequests(requests=CREATE, skip=2), HoldRequests(requests=CREATE)
    server.inject(earlier)
    server.inject(hold)
    with ThreadPoolExecutor() as threads:
        held = threads.submit(api.call, "POST", CONFIGMAPS, configmap("a"))
        assert server.wait_until_struck(hold)
        server.inject(FailRequests(requests=CREATE, status=503))
        server.lift(hold)

        assert held.result(30).status == 503
    api.create(CONFIGMAPS, configmap("b"))
    assert server.struck(earlier) == 0, "a held request counts once"


def test_a_server_stops_though_it_holds_a_request(server: EmbeddedAPIServer, api: Api) -> None:
    hold = HoldRequests(requests=CREATE)
    server.inject(hold)
    with ThreadPoolExecutor() as threads:
        held = threads.submit(api.call, "POST", CONFIGMAPS, configmap("a"))
        assert server.wait_until_struck(hold)

        server.stop()

        assert held.exception(30) is not None or held.result().status == 201


def test_requests_can_be_observed_with_their_answer(server: EmbeddedAPIServer, api: Api) -> None:
    seen: list[ObservedRequest] = []
    server.observe(seen.append)

    api.create(CONFIGMAPS, configmap("a"))
    api.call("POST", CONFIGMAPS, configmap("a"))
    api.get("/version")

    [first, second] = seen
    assert first[:4] == ("create", "configmaps", "default", "a")
    assert (first.code, second.code) == (201, 409)


def test_an_answer_breaks_off_in_its_body(server: EmbeddedAPIServer, api: Api) -> None:
    server.inject(CutAnswers(requests=CREATE))

    with pytest.raises(urllib3.exceptions.ProtocolError):
        api.call("POST", CONFIGMAPS, configmap("a"))

    assert names(api.get(CONFIGMAPS)) == ["a"]
