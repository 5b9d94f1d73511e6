"""What a unit test costs on the fake client, and on the embedded server without sockets.

The ratio is why fakes have a tracker of their own; see ``clientgo.testing.tracker``.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.client import Client
from clientgo.rest import RestConfig
from clientgo.testing import AutoClock, FakeClient
from clientgo.testing.operator.still_server import StillServer

METADATA = {"name": "web", "namespace": "default"}
DEPLOYMENT: dict[str, Any] = {
    "metadata": METADATA,
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}


def fake() -> Client:
    return FakeClient()


def still_server() -> Client:
    config = RestConfig(server="http://fake", clock=AutoClock())
    return Client(config, transport=StillServer(time.time))


def unit_test(make: Any) -> None:
    """Start, write and read one object in every way, and end."""
    with make() as client:
        deployments = client.resource(Deployment).namespace("default")
        created = deployments.create(DEPLOYMENT)
        deployments.get("web")
        deployments.list()
        deployments.update(created)
        deployments.patch("web", {"spec": {"replicas": 2}})
        config = {"metadata": METADATA, "spec": {"replicas": 3}}
        deployments.apply(config, field_manager="me", force=True)
        deployments.update_status(deployments.get("web"))
        deployments.delete("web")


@pytest.mark.parametrize("make", [fake, still_server])
def test_a_unit_test(benchmark: Any, make: Any) -> None:
    benchmark.group = "one unit test, from its start to its end"
    unit_test(make)  # the first one of a process reads schemas
    benchmark(unit_test, make)
