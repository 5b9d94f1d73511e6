"""A running server, and a client for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.testcluster.server.http_api import CRDS, WIDGETS, Api, widget_crd
from tests.testcluster.server.users import Users


@pytest.fixture
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer() as server:
        yield server


@pytest.fixture
def api(server: EmbeddedAPIServer) -> Api:
    return Api(server.url)


@pytest.fixture
def widgets(api: Api) -> Api:
    """A client for a server that serves Widgets."""
    watch = api.watch(CRDS)
    api.create(CRDS, widget_crd())
    for event in watch:
        conditions = event["object"]["status"].get("conditions") or ()
        if any(item["type"] == "Established" and item["status"] == "True" for item in conditions):
            break
    watch.close()
    assert api.call("GET", WIDGETS).status == 200
    return api


@pytest.fixture
def users() -> Iterator[Users]:
    """A client, as several users, of a server with RBAC."""
    with EmbeddedAPIServer(authorization="RBAC") as server:
        yield Users(server)
