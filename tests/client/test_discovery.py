"""What a server says that it serves, in both forms, whole and in parts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from clientgo.client import DiscoveryClient, GroupDiscoveryError, StaleGroupVersionError
from clientgo.client.discovery_documents import is_aggregated
from clientgo.meta import (
    DecodeError,
    GroupVersion,
    GroupVersionResource,
    NotFoundError,
    ServiceUnavailableError,
    StatusError,
)
from clientgo.rest import ConnectionLostError, RestConfig
from clientgo.testing import AutoClock
from clientgo.testing.scripted_server import (
    RecordedRequest,
    Script,
    ScriptedServer,
    answer,
    answer_json,
    answer_status,
    hang_up,
)

CORE, APPS, OLD_APPS = (
    GroupVersion("", "v1"),
    GroupVersion("apps", "v1"),
    GroupVersion("apps", "v1beta1"),
)
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def resource(name: str, kind: str, **more: Any) -> dict[str, Any]:
    plain = {"name": name, "kind": kind, "namespaced": True, "verbs": ["get", "list", "watch"]}
    return {**plain, "singularName": "", **more}


PODS = [resource("pods", "Pod", shortNames=["po"], categories=["all"]), resource("pods/log", "Pod")]
DEPLOYMENTS = [
    resource("deployments", "Deployment", singularName="deployment", verbs=["get", "create"]),
    resource("deployments/scale", "Scale", group="autoscaling", version="v1"),
]


def script_plain(server: ScriptedServer) -> None:
    server.on("/api", answer_json({"versions": ["v1"]}))
    versions = [{"groupVersion": "apps/v1", "version": "v1"}, {"groupVersion": "apps/v1beta1"}]
    group = {"name": "apps", "versions": versions, "preferredVersion": versions[0]}
    server.on("/apis", answer_json({"groups": [group]}))
    server.on("/api/v1", answer_json({"groupVersion": "v1", "resources": PODS}))
    server.on("/apis/apps/v1", answer_json({"resources": DEPLOYMENTS}))
    server.on("/apis/apps/v1beta1", answer_json({"resources": DEPLOYMENTS[:1]}))


def aggregated_group(name: str, *versions: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name} if name else {}, "versions": list(versions)}


def aggregated_version(
    version: str, *resources: dict[str, Any], freshness: str = "Current"
) -> dict[str, Any]:
    return {"version": version, "freshness": freshness, "resources": list(resources)}


def aggregated_resource(
    name: str, kind: str, *subresources: dict[str, Any], **more: Any
) -> dict[str, Any]:
    return {
        "resource": name,
        "responseKind": {"group": "", "version": "", "kind": kind},
        "scope": "Namespaced",
        "verbs": ["get", "list"],
        "subresources": list(subresources),
        **more,
    }


def answer_aggregated(*groups: dict[str, Any], content_type: str = AGGREGATED) -> Script:
    body = msgspec.json.encode({"kind": "APIGroupDiscoveryList", "items": list(groups)})
    return answer(body=body, content_type=content_type)


POD = aggregated_resource(
    "pods",
    "Pod",
    {"subresource": "status", "responseKind": {"kind": "Pod"}, "verbs": ["get"]},
    {"subresource": "attach", "verbs": ["get"]},
    shortNames=["po"],
    categories=["all"],
)
DEPLOYMENT = aggregated_resource(
    "deployments",
    "Deployment",
    {
        "subresource": "scale",
        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "verbs": ["get"],
    },
)


@pytest.fixture(name="server")
def _server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture(name="discovery")
def _discovery(server: ScriptedServer) -> DiscoveryClient:
    return DiscoveryClient(RestConfig(server=server.url, qps=-1))


def paths(server: ScriptedServer) -> list[str]:
    return [request.path for request in server.requests]


def test_the_aggregated_document_is_asked_for_first(server, discovery):
    """DSC-02, DSC-01: with a timeout of 32 seconds."""
    script_plain(server)
    discovery.groups()

    assert server.requests[0].headers["accept"] == (
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
        "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
        "application/json"
    )
    assert server.requests[0].query == {"timeout": "32s"}


def test_discovery_is_not_limited_and_has_a_burst_of_300_where_there_is_a_rate():
    """DSC-01."""
    assert DiscoveryClient("http://host")._rest.shared.limiter is None
    limiter = DiscoveryClient(RestConfig(server="http://host", qps=5.0))._rest.shared.limiter

    assert limiter is not None
    assert limiter.qps == 5.0
    assert sum(limiter.try_accept() for _ in range(400)) == 300


def test_plain_documents_tell_groups_with_the_core_first(server, discovery):
    """DSC-02."""
    script_plain(server)

    core, apps = discovery.groups()

    assert (core.name, core.versions, core.preferred) == ("", (CORE,), CORE)
    assert (apps.name, apps.versions, apps.preferred) == ("apps", (APPS, OLD_APPS), APPS)


def test_plain_documents_tell_resources_with_their_subresources(server, discovery):
    script_plain(server)

    pods, log = discovery.resources(CORE)
    assert (pods.plural, pods.kind, pods.group_resource) == ("pods", "Pod", "pods")
    assert (pods.subresources, pods.short_names, pods.categories) == (("log",), ("po",), ("all",))
    assert log.is_subresource

    deployments, scale = discovery.resources(APPS)
    assert deployments.gvr == GroupVersionResource("apps", "v1", "deployments")
    assert (scale.plural, scale.gvk) == ("deployments/scale", ("autoscaling", "v1", "Scale"))


def test_everything_is_found_from_plain_documents(server, discovery):
    script_plain(server)

    found = discovery.discover()

    assert [resource.plural for resource in found] == [
        "pods",
        "pods/log",
        "deployments",
        "deployments/scale",
        "deployments",
    ]
    assert found.error is None
    assert sorted(paths(server)) == [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/apps/v1",
        "/apis/apps/v1beta1",
    ]


def test_everything_is_found_from_two_aggregated_documents(server, discovery):
    """DSC-02, DSC-03: subresources become res/sub, those without a kind are skipped."""
    server.on("/api", answer_aggregated(aggregated_group("", aggregated_version("v1", POD))))
    server.on(
        "/apis", answer_aggregated(aggregated_group("apps", aggregated_version("v1", DEPLOYMENT)))
    )

    found = discovery.discover()

    assert paths(server) == ["/api", "/apis"]
    assert [(r.plural, r.gvk) for r in found] == [
        ("pods", ("", "v1", "Pod")),
        ("pods/status", ("", "v1", "Pod")),
        ("deployments", ("apps", "v1", "Deployment")),
        ("deployments/scale", ("autoscaling", "v1", "Scale")),
    ]
    pods = next(iter(found))
    assert (pods.subresources, pods.short_names, pods.categories) == (
        ("status",),
        ("po",),
        ("all",),
    )


def test_a_resource_without_a_kind_is_skipped_but_its_subresources_are_not(server, discovery):
    """DSC-03."""
    odd = {**POD, "responseKind": None}
    server.on("/api", answer_aggregated(aggregated_group("", aggregated_version("v1", odd))))
    server.on("/apis", answer_aggregated())

    assert [resource.plural for resource in discovery.discover()] == ["pods/status"]


@pytest.mark.parametrize("aggregated_path", ["/api", "/apis"])
def test_resources_are_asked_for_one_by_one_unless_both_documents_are_aggregated(
    server, discovery, aggregated_path
):
    """DSC-02."""
    script_plain(server)
    groups = {
        "/api": aggregated_group("", aggregated_version("v1", POD)),
        "/apis": aggregated_group("apps", aggregated_version("v1", DEPLOYMENT)),
    }
    server.on(aggregated_path, answer_aggregated(groups[aggregated_path]))

    found = discovery.discover()

    assert found.resources.keys() >= {CORE, APPS}
    assert {"/api/v1", "/apis/apps/v1"} <= set(paths(server))


@pytest.mark.parametrize(
    ("content_type", "aggregated"),
    [
        ("application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", True),
        ("application/json;as=APIGroupDiscoveryList;v=v2beta1;g=apidiscovery.k8s.io", True),
        (
            "application/json; as=APIGroupDiscoveryList; g=apidiscovery.k8s.io; v=v2",
            True,
        ),
        ("application/json", False),
        ("application/json;g=apidiscovery.k8s.io;v=v1;as=APIGroupDiscoveryList", False),
        (
            "application/vnd.kubernetes.protobuf;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
            False,
        ),
        ("", False),
    ],
)
def test_the_form_of_a_document_is_told_from_its_type(content_type, aggregated):
    """DSC-02: whatever the order of the parameters."""
    assert is_aggregated(content_type) is aggregated


def test_a_server_without_a_core_group_is_tolerated(server, discovery):
    """DSC-02: 404 on /api."""
    script_plain(server)
    server.on("/api", answer_status(404, "NotFound"))

    assert [group.name for group in discovery.groups()] == ["apps"]


def test_a_server_without_groups_is_not(server, discovery):
    """DSC-02: 404 on /apis."""
    script_plain(server)
    server.on("/apis", answer_status(404, "NotFound"))

    with pytest.raises(NotFoundError):
        discovery.discover()


def test_stale_versions_are_left_out_and_reported(server, discovery):
    """DSC-03: preferred is the first fresh version."""
    server.on("/api", answer_aggregated(aggregated_group("", aggregated_version("v1", POD))))
    stale = aggregated_version("v2", DEPLOYMENT, freshness="Stale")
    group = aggregated_group("apps", stale, aggregated_version("v1", DEPLOYMENT))
    server.on("/apis", answer_aggregated(group))

    found = discovery.discover()

    assert found.groups[1].preferred == APPS
    assert found.groups[1].versions == (APPS,)
    assert isinstance(found.failed[GroupVersion("apps", "v2")], StaleGroupVersionError)


def test_a_part_that_fails_is_reported_beside_the_rest(server, discovery):
    """DSC-04, DSC-01: results and one error that names the versions in order; asked twice."""
    script_plain(server)
    server.on("/apis/apps/v1beta1", answer_status(503, "ServiceUnavailable", "down"))
    server.on("/apis/apps/v1", answer_status(503, "ServiceUnavailable", "down too"))

    found = discovery.discover()

    assert [resource.plural for resource in found] == ["pods", "pods/log"]
    assert isinstance(found.error, GroupDiscoveryError)
    assert isinstance(found.failed[APPS], ServiceUnavailableError)
    text = str(found.error)
    assert text.index("apps/v1: down too") < text.index("apps/v1beta1: down")
    assert paths(server).count("/apis") == 2


def test_a_part_that_recovers_in_the_second_attempt_is_whole(server, discovery):
    """DSC-01."""
    script_plain(server)
    server.on("/apis/apps/v1", answer_status(503, ""), answer_json({"resources": DEPLOYMENTS}))

    found = discovery.discover()

    assert found.error is None
    assert APPS in found.resources


def test_versions_are_fetched_side_by_side(server, discovery):
    """DSC-04: each answer waits until all three requests are there."""
    script_plain(server)
    together = threading.Barrier(3)

    def when_all_are_there(request: RecordedRequest) -> Script:
        together.wait(30)
        return answer_json({"resources": []})

    for path in ("/api/v1", "/apis/apps/v1", "/apis/apps/v1beta1"):
        server.on(path, when_all_are_there)

    assert discovery.discover().error is None
    assert not together.broken


def test_a_version_that_does_not_answer_is_reported_beside_the_rest(server):
    """DSC-04."""
    script_plain(server)
    server.on("/apis/apps/v1beta1", hang_up())
    discovery = DiscoveryClient(RestConfig(server=server.url, clock=AutoClock()))

    found = discovery.discover()

    assert isinstance(found.failed[OLD_APPS], ConnectionLostError)
    assert found.resources.keys() == {CORE, APPS}


def test_preferred_resources_are_each_there_once(server, discovery):
    """DSC-04: in the group's preferred version, else the first listed; no subresources."""
    script_plain(server)
    only_old = [*DEPLOYMENTS[:1], resource("controllerrevisions", "ControllerRevision")]
    server.on("/apis/apps/v1beta1", answer_json({"resources": only_old}))

    found = discovery.preferred_resources()

    assert {version: [r.plural for r in served] for version, served in found.resources.items()} == {
        CORE: ["pods"],
        APPS: ["deployments"],
        OLD_APPS: ["controllerrevisions"],
    }


def test_whether_something_is_served_can_be_asked(server, discovery):
    """DSC-07: 404 means no."""
    script_plain(server)

    assert discovery.is_served(GroupVersionResource("apps", "v1", "deployments"))
    assert not discovery.is_served(GroupVersionResource("apps", "v1", "foos"))
    assert not discovery.is_served(GroupVersionResource("gone", "v1", "foos"))
    assert discovery.supports(APPS)
    assert not discovery.supports(GroupVersion("gone", "v1"))


def test_a_server_that_names_no_versions_supports_any(server, discovery):
    """DSC-07."""
    server.on("/api", answer_status(404, "NotFound"))
    server.on("/apis", answer_json({"groups": []}))

    assert discovery.supports(APPS)


def test_resources_can_be_filtered_by_verb(server, discovery):
    """DSC-07: empty versions are dropped."""
    script_plain(server)

    found = discovery.discover().supporting("list", "watch")

    assert [r.plural for r in found] == ["pods", "pods/log", "deployments/scale"]
    assert OLD_APPS not in found.resources


def test_the_server_version_is_told(server, discovery):
    server.on(
        "/version", answer_json({"major": "1", "minor": "36", "gitVersion": "v1.36.2", "x": 1})
    )

    version = discovery.server_version()

    assert (version.major, version.minor, version.git_version) == ("1", "36", "v1.36.2")


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"[]", b'{"groups": [{"name": "a", "versions": [{"groupVersion": "a/b/c"}]}]}'],
)
def test_a_document_that_is_none_is_a_decode_error(server, discovery, body):
    script_plain(server)
    server.on("/apis", answer(body=body))

    with pytest.raises(DecodeError, match="not a discovery document"):
        discovery.groups()


def test_a_broken_server_is_an_error(server, discovery):
    server.on("*", answer_status(500, "InternalError"))

    with pytest.raises(StatusError):
        discovery.discover()
