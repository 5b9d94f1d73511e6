"""What every cluster has from the start."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.resources.strategy import Strategy
from tests.testcluster.server.http_api import CRDS, Api, widget_crd

API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NAMESPACE = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"


def names(api: Api, path: str) -> set[str]:
    return {item["metadata"]["name"] for item in api.get(path)["items"]}


def test_the_service_kubernetes_leads_to_the_server(server: EmbeddedAPIServer, api: Api) -> None:
    service = api.get(f"{NAMESPACE}/services/kubernetes")
    endpoints = api.get(f"{SLICES}/kubernetes")
    subset = api.get(f"{NAMESPACE}/endpoints/kubernetes")["subsets"][0]

    assert service["spec"]["clusterIP"] == "10.96.0.1"
    assert service["spec"]["ports"][0]["targetPort"] == server.port
    assert endpoints["endpoints"][0]["addresses"] == ["127.0.0.1"]
    assert endpoints["ports"][0]["port"] == server.port
    assert subset["addresses"] == [{"ip": "127.0.0.1"}]


def test_the_endpoints_follow_the_server_to_another_port(tmp_path: Path) -> None:
    with EmbeddedAPIServer(data_dir=tmp_path) as first:
        before = Api(first.url).get(f"{SLICES}/kubernetes")
    with EmbeddedAPIServer(data_dir=tmp_path) as second:
        after = Api(second.url).get(f"{SLICES}/kubernetes")
        ports = [item["port"] for item in after["ports"]]

    assert ports == [second.port]
    assert after["metadata"]["uid"] == before["metadata"]["uid"]


def test_the_endpoints_of_the_server_can_be_written_although_they_are_on_loopback(
    api: Api,
) -> None:
    path = f"{SLICES}/kubernetes"
    read = api.get(path)
    elsewhere = {**read, "metadata": {"name": "other"}}

    assert api.call("PUT", path, read).body == read
    assert api.patch(path, {"metadata": {"labels": {"mine": "yes"}}})["endpoints"]
    assert api.call("POST", SLICES, elsewhere).status == 422


def test_the_classes_of_system_pods_exist(api: Api) -> None:
    values = {item["metadata"]["name"]: item["value"] for item in api.get(PRIORITIES)["items"]}

    assert values == {
        "system-cluster-critical": 2_000_000_000,
        "system-node-critical": 2_000_001_000,
    }


def test_what_a_client_changed_stays_after_a_restart(server: EmbeddedAPIServer, api: Api) -> None:
    path = f"{PRIORITIES}/system-cluster-critical"
    api.patch(path, {"metadata": {"labels": {"mine": "yes"}}})
    version = api.get(path)["metadata"]["resourceVersion"]

    server.restart()

    assert api.get(path)["metadata"]["resourceVersion"] == version


@pytest.mark.parametrize(
    ("path", "plural"),
    [
        ("/api/v1/namespaces", "namespaces"),
        (f"{NAMESPACE}/services", "services"),
        (f"{NAMESPACE}/endpoints", "endpoints"),
        (SLICES, "endpointslices"),
        (PRIORITIES, "priorityclasses"),
        (API_SERVICES, "apiservices"),
        ("/apis/networking.k8s.io/v1/servicecidrs", "servicecidrs"),
    ],
)
def test_an_initial_object_is_written_as_a_client_would_write_it(
    api: Api, path: str, plural: str
) -> None:
    """Reading it by its type, with its defaults, changes nothing; only its address is special."""
    strategy: Strategy
    strategy, resource = next(
        (item.strategy, item) for item in builtin_resources() if item.plural == plural
    )
    items: list[dict[str, Any]] = api.get(path)["items"]

    assert items
    for item in items:
        obj = {"apiVersion": resource.api_version, "kind": resource.kind, **item}
        decoded = strategy.decode(resource, obj)
        assert decoded.obj == obj
        assert decoded.unknown_fields == ()
        assert strategy.validate(obj) == []


def test_each_built_in_version_has_an_api_service(api: Api) -> None:
    services = {item["metadata"]["name"]: item for item in api.get(API_SERVICES)["items"]}
    groups = api.get("/apis")["groups"]
    versions = [item["groupVersion"] for group in groups for item in group["versions"]]
    served = {f"{v.partition('/')[2]}.{v.partition('/')[0]}" for v in versions} | {"v1."}

    assert services.keys() == served - {"v1.apiregistration.k8s.io"}
    assert services["v1.apps"]["spec"] == {
        "group": "apps",
        "groupPriorityMinimum": 17800,
        "version": "v1",
        "versionPriority": 15,
    }


def test_a_definition_brings_an_api_service_and_takes_it_along(widgets: Api) -> None:
    definition = widgets.get(CRDS)["items"][0]
    group, version = definition["spec"]["group"], definition["spec"]["versions"][0]["name"]
    name = f"{version}.{group}"
    watch = widgets.watch(API_SERVICES, fieldSelector=f"metadata.name={name}")
    events = iter(watch)
    added = next(events)
    widgets.delete(f"{CRDS}/{definition['metadata']['name']}")
    removed = next(events)
    watch.close()

    assert added["object"]["spec"]["groupPriorityMinimum"] == 1000
    assert removed["type"] == "DELETED"


def test_the_api_services_of_definitions_stay_when_the_server_starts_again(tmp_path: Path) -> None:
    """Also that of a version that only a later definition of the group has."""
    first_by_name = widget_crd()
    first_by_name["metadata"]["name"] = "gadgets.example.com"
    first_by_name["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    first_by_name["spec"]["versions"][0]["name"] = "v2"
    path = f"{API_SERVICES}/v1.example.com"
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        api = Api(server.url)
        watch = api.watch(API_SERVICES, fieldSelector="metadata.name=v1.example.com")
        api.create(CRDS, first_by_name)
        api.create(CRDS, widget_crd())
        before = watch.next()["object"]
        watch.close()
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        after = Api(server.url).get(path)

    assert after == before
