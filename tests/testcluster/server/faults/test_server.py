"""A server with a wrong clock, another token, or a restart."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import urllib3

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.faults import RestartServer, RotateToken, SkewClock
from tests.testcluster.server.faults.injected import names, watch_from_now
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap


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
