from __future__ import annotations

import pytest

from clientgo.client import Client, EmptyDiscoveryError
from clientgo.meta import APIResource, GroupVersion
from clientgo.rest import ConfigError, RestConfig
from clientgo.testing.fakes.fake_transport import FakeTransport
from clientgo.testing.scripted_server import ScriptedServer, answer_json
from clientgo.util.flowcontrol import AlwaysRateLimiter

PODS = APIResource(version="v1", kind="Pod", plural="pods")
FOOS = APIResource(group="g.io", version="v1", kind="Foo", plural="foos")
CORE, OTHER = GroupVersion("", "v1"), GroupVersion("g.io", "v1")


def limiter(client: Client, group_version: GroupVersion):
    return client.rest(group_version).shared.limiter


@pytest.mark.parametrize("qps", [0, -1])
def test_without_a_rate_no_request_waits(qps):
    """REST-02: in client-go every group and version has a bucket of 5 a second."""
    client = Client(RestConfig(server="http://host", qps=qps))

    assert limiter(client, CORE) is None
    assert limiter(client, OTHER) is None


@pytest.mark.parametrize("config", [{"qps": 50.0, "burst": 100}, {"limiter": AlwaysRateLimiter()}])
def test_with_a_rate_one_bucket_is_shared(config):
    """REST-02."""
    client = Client(RestConfig(server="http://host", **config))

    assert limiter(client, CORE) is limiter(client, OTHER)


@pytest.mark.parametrize("burst", [0, -1])
def test_a_shared_rate_needs_a_burst(burst):
    """REST-02: burst <= 0 is then an error."""
    with pytest.raises(ConfigError, match="burst"):
        Client(RestConfig(server="http://host", qps=50.0, burst=burst))


def test_all_share_the_connections():
    with ScriptedServer() as server:
        server.on("*", answer_json({"items": []}))
        with Client(server.url) as client:
            client.resource(PODS).list()
            client.resource(FOOS).list()
            assert server.connections == 1
        server.wait_for_open_connections(0)
        assert [request.path for request in server.requests] == [
            "/api/v1/pods",
            "/apis/g.io/v1/foos",
        ]


def test_everything_goes_through_the_transport_that_is_given():
    """Nothing listens where the configuration points to."""
    asked = []

    def react(action):
        asked.append(action.resource.resource)
        return {"items": [], "versions": [], "groups": []}

    with Client("http://127.0.0.1:1", transport=FakeTransport(react)) as client:
        client.resource(PODS).list()
        client.metadata(FOOS).list()
        with pytest.raises(EmptyDiscoveryError):
            client.discovery.discover()

    assert asked == ["pods", "foos", "/api", "/apis"]
