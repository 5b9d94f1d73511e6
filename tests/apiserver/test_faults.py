"""Each fault as a client sees it, and that the next request is answered normally."""

from __future__ import annotations

import asyncio
import http.client
import json
import random
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
import pytest
import urllib3

from clientgo.apiserver import EmbeddedAPIServer
from clientgo.apiserver.auth.authentication.shared_token import SharedToken
from clientgo.apiserver.faults import (
    CloseWatches,
    CutAnswers,
    DelayRequests,
    ExpireContinueTokens,
    ExpireHistory,
    FailRequests,
    Fault,
    FreezeWatches,
    HoldRequests,
    Requests,
    RestartServer,
    RotateToken,
    SkewClock,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.apiserver.faults.injection import FaultInjector
from clientgo.apiserver.faults.matching import ObservedRequest
from clientgo.apiserver.http.messages import Request, Response, text_response
from clientgo.apiserver.requests import watching
from clientgo.apiserver.storage.storage import Storage
from tests.apiserver.http_api import CONFIGMAPS, Api, Watch, configmap

CREATE = Requests(verbs=("create",), resource="configmaps")
LIST = Requests(verbs=("list",), resource="configmaps")
WATCH = Requests(verbs=("watch",), resource="configmaps")


def names(page: Any) -> list[str]:
    return [item["metadata"]["name"] for item in page["items"] if "k" in item["data"]]


def watch_from_now(api: Api, **query: str) -> Watch:
    version = api.get(CONFIGMAPS)["metadata"]["resourceVersion"]
    return api.watch(CONFIGMAPS, resourceVersion=version, **query)


def next_name(watch: Watch) -> str:
    name: str = watch.next()["object"]["metadata"]["name"]
    return name


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


def test_a_watch_breaks_off_in_the_middle_of_a_line(server: EmbeddedAPIServer, api: Api) -> None:
    server.inject(CutAnswers(requests=WATCH))
    with raw_watch(server) as connection:
        api.create(CONFIGMAPS, configmap("a"))
        size, _, rest = read_all(connection).partition(b"\r\n")

    line = rest.removesuffix(b"\r\n")
    assert len(line) == int(size, 16), "the chunk is whole"
    assert line.startswith(b'{"type":"ADDED"'[: len(line)])
    assert not line.endswith(b"\n")


def test_a_watch_breaks_off_in_the_middle_of_a_chunk(server: EmbeddedAPIServer, api: Api) -> None:
    fault = CutAnswers(requests=WATCH, mid_chunk=True)
    server.inject(fault)
    with raw_watch(server) as connection:
        api.create(CONFIGMAPS, configmap("a"))
        size, _, line = read_all(connection).partition(b"\r\n")

    assert 0 < len(line) < int(size, 16), "more was announced than came"
    assert server.struck(fault) == 1


@contextmanager
def raw_watch(server: EmbeddedAPIServer) -> Iterator[socket.socket]:
    """The connection of a watch from now on, behind the head of its answer."""
    version = Api(server.url).get(CONFIGMAPS)["metadata"]["resourceVersion"]
    path = f"{CONFIGMAPS}?watch=1&resourceVersion={version}"
    with socket.create_connection((server.host, server.port), timeout=30) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        yield connection


def read_all(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(1 << 16), b""))


def test_the_continue_token_of_a_page_expires(server: EmbeddedAPIServer, api: Api) -> None:
    for name in "abcd":
        api.create(CONFIGMAPS, configmap(name))
    server.inject(ExpireContinueTokens(requests=LIST, skip=1))

    first = api.get(CONFIGMAPS, limit="1")
    second = api.get(CONFIGMAPS, limit="1", **{"continue": first["metadata"]["continue"]})
    token = second["metadata"]["continue"]
    third = api.call("GET", CONFIGMAPS, limit="1", **{"continue": token})

    assert (third.status, third.body["reason"]) == (410, "Expired")
    again = third.body["metadata"]["continue"]
    assert len(api.get(CONFIGMAPS, limit="1", **{"continue": again})["items"]) == 1


def test_a_stale_list_shows_the_past_until_the_server_has_caught_up(
    server: EmbeddedAPIServer, api: Api
) -> None:
    past = api.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    server.inject(StaleLists(requests=Requests(resource="configmaps")))
    api.create(CONFIGMAPS, configmap("b"))

    stale = api.get(CONFIGMAPS)
    server.lift()

    assert (names(stale), stale["metadata"]["resourceVersion"]) == (["a"], past)
    assert names(api.get(CONFIGMAPS)) == ["a", "b"]


def test_a_watch_of_a_lagging_server_gets_no_events_until_the_fault_is_lifted(
    server: EmbeddedAPIServer, api: Api
) -> None:
    before = watch_from_now(api)
    server.inject(StaleLists(requests=Requests(resource="configmaps")))
    behind = watch_from_now(api, timeoutSeconds="60")
    api.create(CONFIGMAPS, configmap("a"))
    assert next_name(before) == "a"

    server.lift()

    assert next_name(behind) == "a"


def test_a_frozen_watch_gets_no_events_until_the_fault_is_lifted(
    server: EmbeddedAPIServer, api: Api
) -> None:
    watch, other = watch_from_now(api), watch_from_now(api, labelSelector="!nothing")
    fault = FreezeWatches(requests=Requests(user_agent="frozen"))
    server.inject(fault)
    connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
    connection.request("GET", CONFIGMAPS + "?watch=1", headers={"user-agent": "frozen"})
    quiet = connection.getresponse()
    assert connection.sock is not None
    connection.sock.settimeout(0.2)
    api.create(CONFIGMAPS, configmap("a"))
    assert (next_name(watch), next_name(other)) == ("a", "a")
    with pytest.raises(TimeoutError):
        quiet.read1(1)
    connection.close()

    server.inject(FreezeWatches(requests=WATCH))
    api.create(CONFIGMAPS, configmap("b"))
    server.lift()

    assert (next_name(watch), next_name(other)) == ("b", "b")


def test_a_frozen_watch_does_not_hold_up_a_stop(server: EmbeddedAPIServer, api: Api) -> None:
    watch = watch_from_now(api)
    fault = FreezeWatches()
    server.inject(fault)
    api.create(CONFIGMAPS, configmap("a"))
    assert server.wait_until_struck(fault)

    server.stop()

    with pytest.raises(urllib3.exceptions.ProtocolError):
        watch.next()


@pytest.mark.parametrize("initial_only", [False, True])
def test_the_end_of_the_initial_events_is_withheld(
    server: EmbeddedAPIServer, api: Api, initial_only: bool
) -> None:
    fault = WithholdBookmarks(requests=WATCH, initial_only=initial_only)
    server.inject(fault)
    watch = api.watch(
        CONFIGMAPS,
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    assert server.wait_until_struck(fault)

    api.create(CONFIGMAPS, configmap("zz"))
    server.close_watches()

    assert "BOOKMARK" not in [event["type"] for event in watch]


@pytest.mark.parametrize("initial_only", [False, True])
def test_other_bookmarks_are_sent_unless_all_are_withheld(
    server: EmbeddedAPIServer, api: Api, monkeypatch: pytest.MonkeyPatch, initial_only: bool
) -> None:
    monkeypatch.setattr(watching, "BOOKMARK_INTERVAL", 0.01)
    fault = WithholdBookmarks(requests=WATCH, initial_only=initial_only)
    server.inject(fault)
    watch = watch_from_now(api, allowWatchBookmarks="true")

    if initial_only:
        assert watch.next()["type"] == "BOOKMARK"
    else:
        assert server.wait_until_struck(fault, 2)
        server.close_watches()
        assert list(watch) == []


@pytest.mark.parametrize("abruptly", [False, True])
def test_the_watches_that_match_are_closed(
    server: EmbeddedAPIServer, api: Api, abruptly: bool
) -> None:
    watch, other = watch_from_now(api), api.watch("/api/v1/namespaces")
    other.next()

    server.inject(CloseWatches(requests=WATCH, abruptly=abruptly))

    if abruptly:
        with pytest.raises(urllib3.exceptions.ProtocolError):
            watch.next()
    else:
        assert list(watch) == []
    api.create("/api/v1/namespaces", {"metadata": {"name": "zz"}})
    assert "zz" in iter(lambda: next_name(other), None)


def test_history_expires(server: EmbeddedAPIServer, api: Api) -> None:
    version = api.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    api.create(CONFIGMAPS, configmap("b"))

    server.inject(ExpireHistory())

    event = api.watch(CONFIGMAPS, resourceVersion=version).next()
    assert (event["type"], event["object"]["code"]) == ("ERROR", 410)


def test_history_expires_again_and_again_at_an_interval() -> None:
    time = [0.0]
    injector, storage = FaultInjector(SharedToken(), elapsed=lambda: time[0]), Storage()
    fault = ExpireHistory(every=10)
    injector.inject(fault, storage)

    def expired_after(seconds: float) -> bool:
        time[0] += seconds
        change(storage)
        version = storage.version
        change(storage)
        asyncio.run(injector.answer(REQUEST, storage, answer_nothing))
        return version < storage.collection(MAPS).expired

    assert [expired_after(seconds) for seconds in (9, 1, 5, 5, 25, 4, 1)] == [
        False, True, False, True, True, False, True,
    ]  # fmt: skip
    injector.lift(fault)
    assert not expired_after(100)
    assert injector.struck(fault) == 4


REQUEST = Request("GET", "/healthz", {}, {}, b"")
MAPS = ("", "configmaps")


async def answer_nothing(request: Request) -> Response:
    return text_response("")


def change(storage: Storage) -> None:
    collection = storage.collection(MAPS)
    storage.put(collection, "default/a", {"metadata": {"name": "a", "uid": "1"}}, {})


def test_history_that_expires_at_an_interval_does_so_over_http(
    server: EmbeddedAPIServer, api: Api
) -> None:
    version = api.create(CONFIGMAPS, configmap("a"))["metadata"]["resourceVersion"]
    fault = ExpireHistory(every=0.001)
    server.inject(fault)
    api.create(CONFIGMAPS, configmap("b"))

    # The first ones may be quicker than the interval.
    answers = (api.watch(CONFIGMAPS, resourceVersion=version).next() for _ in range(1000))
    event = next(answer for answer in answers if answer["type"] == "ERROR")

    assert event["object"]["code"] == 410
    assert server.struck(fault)


@pytest.mark.parametrize("seconds", [3600, -3600])
def test_objects_are_stamped_by_a_clock_that_is_wrong(
    server: EmbeddedAPIServer, api: Api, seconds: float
) -> None:
    fault = SkewClock(seconds=seconds)
    server.inject(fault)
    skewed = api.create(CONFIGMAPS, configmap("a"))["metadata"]
    server.lift(fault)
    right = api.create(CONFIGMAPS, configmap("b"))["metadata"]

    ahead = timedelta(seconds=seconds)
    assert abs(stamped(skewed) - datetime.now(UTC) - ahead) < timedelta(seconds=60)
    assert abs(stamped(right) - datetime.now(UTC)) < timedelta(seconds=60)
    assert skewed["managedFields"][0]["time"] == skewed["creationTimestamp"]


def stamped(metadata: dict[str, Any]) -> datetime:
    return datetime.fromisoformat(metadata["creationTimestamp"])


def test_a_rotated_token_is_the_only_one_that_is_let_in(
    server: EmbeddedAPIServer, api: Api
) -> None:
    watch = watch_from_now(api)

    server.inject(RotateToken(token="new"))

    assert list(watch) == [], "the watch has ended"
    address = server.url + CONFIGMAPS
    answer = urllib3.request("GET", address, retries=False)
    assert (answer.status, json.loads(answer.data)["reason"]) == (401, "Unauthorized")
    assert answer_to_token(address, "new") == 200
    kubeconfig = json.loads(server.kubeconfig.read_text())
    assert kubeconfig["users"][0]["user"]["token"] == "new"

    server.inject(RotateToken(token="newer"))
    assert (answer_to_token(address, "new"), answer_to_token(address, "newer")) == (401, 200)
    with pytest.raises(ValueError, match="token"):
        server.inject(RotateToken(token="not a word"))


def answer_to_token(address: str, token: str) -> int:
    headers = {"authorization": f"Bearer {token}"}
    return urllib3.request("GET", address, headers=headers, retries=False).status


@pytest.mark.parametrize(
    ("fault", "remaining", "resumes"),
    [
        (RestartServer(), ["a"], True),
        (RestartServer(keep_history=False), ["a"], False),
        (RestartServer(keep_objects=False), [], True),
    ],
)
def test_a_restart_keeps_objects_and_history_as_asked(
    server: EmbeddedAPIServer, api: Api, fault: RestartServer, remaining: list[str], resumes: bool
) -> None:
    version = api.get(CONFIGMAPS)["metadata"]["resourceVersion"]
    api.create(CONFIGMAPS, configmap("a"))

    server.inject(fault)

    assert names(api.get(CONFIGMAPS)) == remaining
    assert server.struck(fault) == 1
    if remaining:
        event = api.watch(CONFIGMAPS, resourceVersion=version).next()
        assert (event["type"] == "ADDED") is resumes


def test_a_part_of_the_watches_is_closed_the_same_for_each_seed(
    server: EmbeddedAPIServer, api: Api
) -> None:
    def closed(seed: int) -> list[int]:
        watches = [watch_from_now(api) for _ in range(8)]
        fault = CloseWatches(requests=WATCH, chance=0.5, seed=seed)
        before = server.struck(fault)
        server.inject(fault)
        struck = server.struck(fault) - before
        api.create(CONFIGMAPS, {"metadata": {"generateName": "x-"}})
        ended = [place for place, watch in enumerate(watches) if not next(iter(watch), None)]
        assert len(ended) == struck
        server.close_watches()
        for watch in watches:
            assert list(watch) == []
        return ended

    first = closed(1)

    assert 0 < len(first) < 8
    assert closed(1) == first
    assert closed(2) != first


def test_a_part_of_the_watches_is_frozen_open_ones_and_new(
    server: EmbeddedAPIServer, api: Api
) -> None:
    fault = FreezeWatches(requests=WATCH, chance=0.5, seed=1)
    chance = random.Random(1)
    frozen = [chance.random() < 0.5 for _ in range(8)]
    watches = [watch_from_now(api) for _ in range(4)]
    server.inject(fault)
    watches += [watch_from_now(api) for _ in range(4)]
    api.create(CONFIGMAPS, configmap("a"))

    told = [watch for watch, silent in zip(watches, frozen, strict=True) if not silent]
    untold = [watch for watch in watches if watch not in told]
    assert [next_name(watch) for watch in told] == ["a"] * len(told)
    assert server.wait_until_struck(fault, sum(frozen))
    server.lift()

    assert [next_name(watch) for watch in untold] == ["a"] * server.struck(fault)


@pytest.mark.parametrize("options", [{"status": 200}, {"chance": 0}, {"times": 0}, {"skip": -1}])
def test_a_fault_that_makes_no_sense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        FailRequests(**options)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: FreezeWatches(chance=1.5),
        lambda: CloseWatches(chance=0),
        lambda: ExpireHistory(every=0),
    ],
)
def test_a_choice_or_interval_that_makes_no_sense_is_refused(
    refused: Callable[[], Fault],
) -> None:
    with pytest.raises(ValueError):
        refused()


EVERY_KIND: list[Fault] = [
    FailRequests(requests=CREATE, status=503, retry_after=1, after_effect=True, skip=2, times=None),
    DelayRequests(seconds=0.5),
    HoldRequests(requests=CREATE, skip=1),
    CutAnswers(mid_chunk=True, seed=3),
    ExpireContinueTokens(requests=LIST),
    StaleLists(),
    FreezeWatches(chance=0.5, seed=1),
    WithholdBookmarks(initial_only=True),
    CloseWatches(abruptly=True),
    ExpireHistory(every=10),
    SkewClock(seconds=-60),
    RotateToken(token="x"),
    RestartServer(keep_history=False),
]


@pytest.mark.parametrize("fault", EVERY_KIND, ids=lambda fault: type(fault).__name__)
def test_a_fault_survives_the_way_over_a_wire(fault: Fault) -> None:
    assert msgspec.json.decode(msgspec.json.encode(fault), type=Fault) == fault


def test_no_kind_of_fault_is_left_out_above() -> None:
    assert {type(fault) for fault in EVERY_KIND} == set(get_args(Fault))
