"""Whether a 404 means that a server does not serve a resource, and what became of its objects."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.cache import NotServedError
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import APIResource, DecodeError, GroupVersionResource, StatusError
from clientgo.rest import RestConfig, TransportError
from clientgo.testing import AutoClock
from clientgo.testing.scripted_server import (
    Script,
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    hang_up,
)

WIDGETS = APIResource(group="example.com", version="v1", kind="Widget", plural="widgets")
NAME = "widgets.example.com"
VERSION, GROUPS = "/apis/example.com/v1", "/apis"
DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{NAME}"
PAGE_NOT_FOUND = answer(404, b"404 page not found\n", content_type="text/plain")
HTML = answer(200, b"<html>", content_type="text/html")


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(name="client")
def _client(server: ScriptedServer) -> Iterator[Client]:
    with Client(RestConfig(server=server.url, qps=-1, clock=AutoClock())) as client:
        yield client


def resources(*plurals: str, namespaced: bool = True) -> Script:
    return answer_json(
        {
            "kind": "APIResourceList",
            "resources": [
                {"name": plural, "kind": "Any", "namespaced": namespaced} for plural in plurals
            ],
        }
    )


def groups(*api_versions: str) -> Script:
    listed = [
        {"name": text.partition("/")[0], "versions": [{"groupVersion": text}]}
        for text in api_versions
    ]
    return answer_json({"kind": "APIGroupList", "groups": listed})


def definition(**versions: bool) -> Script:
    listed = [{"name": name, "served": served} for name, served in versions.items()]
    return answer_json({"kind": "CustomResourceDefinition", "spec": {"versions": listed}})


def no_definition(name: str = NAME) -> Script:
    status = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404}
    return answer_json({**status, "details": {"name": name}}, 404)


def why(client: Client, namespace: str = "", resource: Any = WIDGETS) -> NotServedError | None:
    source = ResourceListWatch(client.resource(resource), namespace)
    return source.why_not_served(threading.Event())


def reason(client: Client) -> tuple[str, bool]:
    error = why(client)
    assert error is not None
    what, _, text = str(error).partition(" is not served: ")
    assert what == "widgets.example.com in version v1"
    return text, error.objects_deleted


def test_a_group_that_is_removed_with_its_last_definition(
    server: ScriptedServer, client: Client
) -> None:
    server.on(VERSION, PAGE_NOT_FOUND)
    server.on(GROUPS, groups("apps/v1"))
    server.on(DEFINITION, no_definition())

    assert reason(client) == (f"there is no definition {NAME}", True)


def test_a_definition_that_is_deleted_beside_others_of_its_group(
    server: ScriptedServer, client: Client
) -> None:
    server.on(VERSION, resources("gadgets"))
    server.on(DEFINITION, no_definition())

    assert reason(client) == (f"there is no definition {NAME}", True)


def test_a_version_that_is_not_served_any_more_leaves_the_objects(
    server: ScriptedServer, client: Client
) -> None:
    server.on(VERSION, PAGE_NOT_FOUND)
    server.on(GROUPS, groups("example.com/v2", "example.com/v3"))
    server.on(DEFINITION, definition(v1=False, v2=True, v3=True))

    assert reason(client) == (f"its definition {NAME} serves v2 and v3", False)


def test_a_definition_without_any_version_leaves_the_objects(
    server: ScriptedServer, client: Client
) -> None:
    server.on(VERSION, PAGE_NOT_FOUND)
    server.on(GROUPS, groups("apps/v1"))
    server.on(DEFINITION, definition(v1=False))

    assert reason(client) == (f"its definition {NAME} serves no version", False)


def test_a_definition_that_is_new(server: ScriptedServer, client: Client) -> None:
    """Also that of a server that knows less than the one that answers for the definition."""
    server.on(VERSION, resources("gadgets"))
    server.on(DEFINITION, definition(v1=True))

    assert reason(client) == (f"its definition {NAME} is not established yet", False)


@pytest.mark.parametrize(
    "script",
    [
        answer_status(403, "Forbidden"),
        answer_status(503, "ServiceUnavailable"),
        PAGE_NOT_FOUND,
        no_definition("gadgets.example.com"),
        HTML,
        hang_up(),
    ],
    ids=["forbidden", "unavailable", "a proxy's 404", "another's 404", "a page", "no answer"],
)
def test_a_definition_that_cannot_be_read_leaves_it_open_what_became_of_the_objects(
    server: ScriptedServer, client: Client, script: Script
) -> None:
    server.on(VERSION, PAGE_NOT_FOUND)
    server.on(GROUPS, groups("apps/v1"))
    server.on(DEFINITION, *[script] * 20)

    text, objects_deleted = reason(client)

    assert text.startswith("this server does not have it; its definition cannot be read: ")
    assert not objects_deleted


def test_a_kind_of_a_group_that_no_definition_can_be_in(
    server: ScriptedServer, client: Client
) -> None:
    old = APIResource(group="policy", version="v1beta1", kind="P", plural="podsecuritypolicies")
    server.on("/apis/policy/v1beta1", PAGE_NOT_FOUND)
    server.on(GROUPS, groups("policy/v1"))

    error = why(client, resource=old)

    assert "this server does not have it" in str(error)
    assert error is not None
    assert not error.objects_deleted


def test_a_kind_of_the_core_group(server: ScriptedServer, client: Client) -> None:
    server.on("/api/v1", resources("pods"))
    widgets = APIResource(version="v1", kind="Widget", plural="widgets")

    assert "widgets in version v1 is not served" in str(why(client, resource=widgets))
    assert why(client, resource=APIResource(version="v1", kind="Pod", plural="pods")) is None


def test_a_kind_that_is_served(server: ScriptedServer, client: Client) -> None:
    """The 404 was that of another, or of a moment ago."""
    server.on(VERSION, *[resources("widgets")] * 2)

    assert why(client) is None
    assert why(client, "ns") is None


def test_a_kind_that_came_back_without_namespaces(server: ScriptedServer, client: Client) -> None:
    """A definition cannot change its scope, so the old one was deleted with its objects."""
    server.on(VERSION, *[resources("widgets", namespaced=False)] * 2)

    error = why(client, "ns")

    assert str(error) == (
        "widgets.example.com in version v1, namespace ns, is not served: it has no namespaces on "
        "this server; list and watch it without one"
    )
    assert error is not None
    assert error.objects_deleted
    assert why(client) is None


@pytest.mark.parametrize(
    "script",
    [
        PAGE_NOT_FOUND,
        answer_status(404, "NotFound"),
        HTML,
        answer_json({}),
        groups(),
        groups("apps/v1", "example.com/v1"),
        answer_status(503, "ServiceUnavailable"),
        hang_up(),
    ],
    ids=["page", "Status", "html", "{}", "no groups", "listed", "unavailable", "no answer"],
)
def test_a_404_that_no_list_of_versions_confirms_says_nothing(
    server: ScriptedServer, client: Client, script: Script
) -> None:
    """A proxy or a gateway may answer so for every path, and a server that starts for some."""
    server.on(VERSION, *[PAGE_NOT_FOUND] * 2)
    server.on(GROUPS, *[script] * 20)

    with pytest.raises((StatusError, TransportError, DecodeError)):
        why(client)
    with pytest.raises((StatusError, TransportError, DecodeError)):
        client.discovery._discovery.is_served(  # type: ignore[attr-defined]
            GroupVersionResource("example.com", "v1", "widgets")
        )


def test_an_aggregated_api_that_is_down_says_nothing(
    server: ScriptedServer, client: Client
) -> None:
    server.on(VERSION, answer_status(503, "ServiceUnavailable"))

    with pytest.raises(StatusError, match="scripted"):
        why(client)
