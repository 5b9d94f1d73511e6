from __future__ import annotations

import msgspec
import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.client import ServerVersion
from clientgo.meta import APIResource, GroupVersion, NotFoundError, ServiceUnavailableError
from clientgo.rest import ConnectionLostError
from clientgo.testing import FakeClient
from clientgo.testing.fakes.actions import Action
from tests.testing.builders import DYNAMIC_PODS, Foo


def test_discovery_finds_what_was_added():
    """DSC-08."""
    client = FakeClient()
    client.served.add(DYNAMIC_PODS, Foo, Deployment)

    assert [resource.plural for resource in client.discovery.discover()] == [
        "pods",
        "foos",
        "foos/status",
        "deployments",
        "deployments/status",
    ]
    assert client.mapper.resource("foo").gvr == Foo.__resource__.gvr


def test_the_first_version_of_a_group_is_the_preferred_one():
    """DSC-08."""
    client = FakeClient()
    for version in ("v2", "v1"):
        client.served.add(APIResource(group="g.io", version=version, kind="A", plural="as"))

    (group,) = (group for group in client.discovery.groups() if group.name)

    assert group.preferred == GroupVersion("g.io", "v2")
    assert group.versions == (GroupVersion("g.io", "v2"), GroupVersion("g.io", "v1"))


def test_a_version_that_is_not_served_is_not_found():
    """DSC-08."""
    client = FakeClient()
    client.served.add(Foo)

    with pytest.raises(NotFoundError):
        client.discovery.resources(GroupVersion("example.com", "v2"))


def test_the_version_of_the_server_can_be_set():
    """DSC-08."""
    client = FakeClient()
    version = ServerVersion(major="1", minor="36", git_version="v1.36.0")
    client.served.server_version = version
    raw = client.rest(GroupVersion("", "v1")).get().absolute_path("/version").do_raw()

    assert msgspec.json.decode(raw, type=ServerVersion) == version


def test_the_error_of_a_reactor_surfaces():
    """DSC-08."""
    client = FakeClient()

    def refuse(_: Action) -> None:
        raise ServiceUnavailableError.of("starting")

    client.prepend_reactor("get", "/apis", refuse)

    with pytest.raises(ServiceUnavailableError, match="starting"):
        client.discovery.discover()


def test_a_lost_connection_is_tried_again_without_a_pause():
    """DSC-08: on a clock of the fake's own."""
    client, losses = FakeClient(), iter(range(3))
    client.served.add(Foo)

    def lose(action: Action) -> None:
        if next(losses, None) is not None:
            raise ConnectionLostError("GET", "http://fake", "lost")

    client.prepend_reactor("*", "*", lose)

    assert [resource.plural for resource in client.discovery.discover()] == ["foos", "foos/status"]
    assert next(losses, None) is None
    assert client.config.clock.monotonic() > 0
