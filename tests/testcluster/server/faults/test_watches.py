"""Watches that break off, stay silent or are closed."""

from __future__ import annotations

import http.client
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import (
    CloseWatches,
    CutAnswers,
    FreezeWatches,
    Requests,
    StaleLists,
    WithholdBookmarks,
)
from clientgo.testcluster.server.requests import watching
from tests.testcluster.server.faults.injected import watch_from_now
from tests.testcluster.server.http_api import CONFIGMAPS, Api, Watch, configmap

WATCH = Requests(verbs=("watch",), resource="configmaps")


def next_name(watch: Watch) -> str:
    name: str = watch.next()["object"]["metadata"]["name"]
    return name


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


def test_a_list_that_is_streamed_late_ends_at_the_version_of_its_beginning(
    server: EmbeddedAPIServer, api: Api
) -> None:
    """A client that resumes from its end misses nothing that came meanwhile."""
    listed = api.create(CONFIGMAPS, configmap("a"))
    fault = FreezeWatches()
    server.inject(fault)
    watch = api.watch(
        CONFIGMAPS,
        fieldSelector="metadata.name!=kube-root-ca.crt",
        sendInitialEvents="true",
        resourceVersionMatch="NotOlderThan",
        allowWatchBookmarks="true",
    )
    assert server.wait_until_struck(fault)
    missed = api.create(CONFIGMAPS, configmap("b"))
    server.lift()

    events = [watch.next() for _ in range(3)]

    assert [event["type"] for event in events] == ["ADDED", "BOOKMARK", "ADDED"]
    versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in events]
    assert versions[0] == int(listed["metadata"]["resourceVersion"]) <= versions[1] < versions[2]
    assert versions[2] == int(missed["metadata"]["resourceVersion"])
    watch.close()


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
