"""Lists that are stale, and history that expires."""

from __future__ import annotations

import asyncio

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.auth.authentication.shared_token import SharedToken
from clientgo.testcluster.server.faults import (
    ExpireContinueTokens,
    ExpireHistory,
    Requests,
    StaleLists,
)
from clientgo.testcluster.server.faults.injection import FaultInjector
from clientgo.testcluster.server.http.messages import Request, Response, text_response
from clientgo.testcluster.server.storage.storage import Storage
from tests.testcluster.server.faults.injected import LIST, names
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap


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
