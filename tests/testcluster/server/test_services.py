"""The addresses, node ports and session affinity of Services."""

from __future__ import annotations

import asyncio
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.cluster import Cluster
from clientgo.testcluster.server.objects.admission import Review
from clientgo.testcluster.server.objects.decoding import read_object
from clientgo.testcluster.server.objects.options import WriteOptions
from clientgo.testcluster.server.resources.errors import FailedRequestError
from tests.testcluster.server.http_api import Api

SERVICES = "/api/v1/namespaces/default/services"
PORTS = [{"port": 80}]


def _create(api: Api, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": "a"}, "spec": {"ports": PORTS, **spec}}
    created: dict[str, Any] = api.create(SERVICES, body)
    return created["spec"]


def _patch(api: Api, **spec: Any) -> dict[str, Any]:
    patched: dict[str, Any] = api.patch(f"{SERVICES}/a", {"spec": spec})
    return patched["spec"]


def _addresses(spec: dict[str, Any]) -> tuple[Any, Any]:
    return spec.get("clusterIP"), spec.get("clusterIPs")


@pytest.mark.parametrize("address", ["None", "10.96.0.7"])
def test_an_update_that_leaves_the_addresses_out_keeps_them(api: Api, address: str) -> None:
    created = _create(api, clusterIP=address)
    patched = _patch(api, clusterIP=None, clusterIPs=None)
    body = {"metadata": {"name": "a"}, "spec": {"ports": PORTS}}
    replaced = api.call("PUT", f"{SERVICES}/a", body).body["spec"]

    assert _addresses(created) == (address, [address])
    assert _addresses(patched) == _addresses(created)
    assert _addresses(replaced) == _addresses(created)


def test_a_service_that_becomes_an_external_name_loses_its_addresses(api: Api) -> None:
    _create(api, clusterIP="None")

    changed = _patch(api, type="ExternalName", externalName="example.com")

    assert _addresses(changed) == (None, None)


def test_the_affinity_to_clients_lasts_three_hours_unless_it_says_otherwise(api: Api) -> None:
    default = {"clientIP": {"timeoutSeconds": 10_800}}
    own = {"clientIP": {"timeoutSeconds": 5}}

    assert "sessionAffinityConfig" not in _create(api)
    assert _patch(api, sessionAffinity="ClientIP")["sessionAffinityConfig"] == default
    assert _patch(api, sessionAffinityConfig=own)["sessionAffinityConfig"] == own
    assert "sessionAffinityConfig" not in _patch(api, sessionAffinity="None")


def test_a_load_balancer_allocates_node_ports_unless_it_says_otherwise(api: Api) -> None:
    field = "allocateLoadBalancerNodePorts"

    assert field not in _create(api)
    assert _patch(api, type="LoadBalancer")[field] is True
    assert _patch(api, **{field: False})[field] is False


# -- allocation


def _named(name: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"ports": PORTS, **spec}}


def _refusal(api: Api, name: str, **spec: Any) -> tuple[int, list[str]]:
    answer = api.call("POST", SERVICES, _named(name, **spec))
    causes = answer.body.get("details", {}).get("causes", ())
    return answer.status, [cause["field"] for cause in causes]


def _node_ports(spec: dict[str, Any]) -> list[int | None]:
    return [port.get("nodePort") for port in spec["ports"]]


def test_each_service_has_an_address_of_its_own(api: Api) -> None:
    first, second = (api.create(SERVICES, _named(name))["spec"] for name in "ab")

    assert first["clusterIP"] != second["clusterIP"]
    assert first["clusterIPs"] == [first["clusterIP"]]
    assert first["ipFamilies"] == ["IPv4"]
    assert first["ipFamilyPolicy"] == "SingleStack"
    assert ip_address(first["clusterIP"]) in ip_network("10.96.0.0/12")


def test_an_address_that_another_service_has_is_refused(api: Api) -> None:
    api.create(SERVICES, _named("a", clusterIP="10.96.0.7"))

    assert _refusal(api, "b", clusterIP="10.96.0.7") == (422, ["spec.clusterIPs"])
    assert _refusal(api, "b", clusterIP="10.0.0.7") == (422, ["spec.clusterIPs"])


def test_the_address_of_a_deleted_service_is_free(api: Api) -> None:
    api.create(SERVICES, _named("a", clusterIP="10.96.0.7"))
    api.delete(f"{SERVICES}/a")

    assert _create(api, clusterIP="10.96.0.7")["clusterIP"] == "10.96.0.7"


def test_a_dry_run_takes_no_address(api: Api) -> None:
    body = _named("a", clusterIP="10.96.0.7")
    tried = api.call("POST", SERVICES, body, dryRun="All").body["spec"]

    assert tried["clusterIP"] == "10.96.0.7"
    assert _create(api, clusterIP="10.96.0.7")["clusterIP"] == "10.96.0.7"


def test_addresses_are_known_after_a_restart(tmp_path: Path) -> None:
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        before = _create(Api(server.url))
    with EmbeddedAPIServer(data_dir=tmp_path) as server:
        after = Api(server.url).create(SERVICES, _named("b"))["spec"]

    assert after["clusterIP"] != before["clusterIP"]


def test_a_malformed_address_is_named(api: Api) -> None:
    assert _refusal(api, "a", clusterIP="blue") == (422, ["spec.clusterIPs[0]"])


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"ipFamilyPolicy": "RequireDualStack"}, "spec.ipFamilyPolicy"),
        ({"ipFamilies": ["IPv6"]}, "spec.ipFamilies[0]"),
        ({"ipFamilies": ["IPv9"]}, "spec.ipFamilies[0]"),
        ({"ipFamilies": ["IPv4", "IPv4"]}, "spec.ipFamilies[1]"),
        ({"ipFamilyPolicy": "Never"}, "spec.ipFamilyPolicy"),
        ({"clusterIPs": ["10.96.0.7"]}, "spec.clusterIPs"),
        ({"clusterIP": "10.96.0.7", "clusterIPs": ["10.96.0.8"]}, "spec.clusterIPs"),
        ({"clusterIP": "None", "clusterIPs": ["None", "10.96.0.8"]}, "spec.clusterIPs"),
    ],
)
def test_families_and_addresses_must_fit_the_cluster(
    api: Api, spec: dict[str, Any], field: str
) -> None:
    assert _refusal(api, "a", **spec) == (422, [field])


def test_a_headless_service_without_selector_has_both_families(api: Api) -> None:
    spec = _create(api, clusterIP="None")

    assert (spec["ipFamilyPolicy"], spec["ipFamilies"]) == ("RequireDualStack", ["IPv4", "IPv6"])
    assert _addresses(spec) == ("None", ["None"])


def test_an_external_name_has_neither_address_nor_family(api: Api) -> None:
    spec = _create(api, type="ExternalName", externalName="example.com")

    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & spec.keys()


def test_node_ports_are_given_and_kept(api: Api) -> None:
    ports = [{"port": 80, "name": "a"}, {"port": 81, "name": "b"}]
    created = _create(api, type="NodePort", ports=ports)
    turned = _patch(api, ports=ports[::-1])
    other = api.create(SERVICES, _named("b", type="NodePort"))["spec"]

    numbers = _node_ports(created)
    assert len({*numbers, *_node_ports(other)}) == 3
    assert _node_ports(turned) == numbers[::-1]
    assert all(number in range(30000, 32768) for number in numbers)


def test_two_protocols_of_a_port_share_a_node_port(api: Api) -> None:
    ports = [{"port": 53, "name": "a"}, {"port": 53, "name": "b", "protocol": "UDP"}]
    first, second = _node_ports(_create(api, type="NodePort", ports=ports))

    assert first == second


def test_a_node_port_that_is_used_or_out_of_range_is_refused(api: Api) -> None:
    taken = [{"port": 80, "nodePort": 30001}]
    api.create(SERVICES, _named("a", type="NodePort", ports=taken))

    field = "spec.ports[0].nodePort"
    assert _refusal(api, "b", type="NodePort", ports=taken) == (422, [field])
    outside = [{"port": 80, "nodePort": 80}]
    assert _refusal(api, "b", type="NodePort", ports=outside) == (422, [field])


def test_a_service_that_is_no_longer_on_nodes_releases_its_ports(api: Api) -> None:
    [port] = _node_ports(_create(api, type="NodePort"))

    assert _node_ports(_patch(api, type="ClusterIP")) == [None]
    again = [{"port": 80, "nodePort": port}]
    assert api.create(SERVICES, _named("b", type="NodePort", ports=again))


def test_a_load_balancer_without_node_ports_gets_none(api: Api) -> None:
    spec = _create(api, type="LoadBalancer", allocateLoadBalancerNodePorts=False)

    assert _node_ports(spec) == [None]


def test_a_local_load_balancer_has_a_health_check(api: Api) -> None:
    spec = _create(api, type="LoadBalancer", externalTrafficPolicy="Local")
    kept = _patch(api, selector={"a": "b"})
    without = _patch(api, externalTrafficPolicy="Cluster")

    assert spec["healthCheckNodePort"] in range(30000, 32768)
    assert spec["healthCheckNodePort"] not in _node_ports(spec)
    assert kept["healthCheckNodePort"] == spec["healthCheckNodePort"]
    assert "healthCheckNodePort" not in without


def test_two_services_that_are_created_at_a_time_do_not_share_an_address() -> None:
    """Both are admitted before one is stored, as while a webhook is called."""

    async def create(cluster: Cluster, name: str) -> str:
        services = cluster.state.registry.find("", "v1", "services")
        assert services is not None
        obj, _ = read_object(services, _named(name, clusterIP="10.96.0.7"))
        try:
            await cluster.writer.create(services, "default", obj, WriteOptions())
        except FailedRequestError as error:
            return str(error.code)
        return "created"

    async def run() -> list[str]:
        cluster = Cluster()
        await cluster.begin("127.0.0.1", 443)
        both_admitted = asyncio.Barrier(2)

        async def wait(review: Review) -> None:
            await both_admitted.wait()

        cluster.writer._admission.validate = wait  # type: ignore[method-assign]
        return await asyncio.gather(create(cluster, "a"), create(cluster, "b"))

    assert sorted(asyncio.run(run())) == ["422", "created"]


def test_a_service_gets_the_same_numbers_in_each_run(server: EmbeddedAPIServer, api: Api) -> None:
    first = _create(api, type="NodePort")
    server.restart(keep_objects=False)
    api.create(SERVICES, _named("other", type="NodePort"))
    second = _create(api, type="NodePort")

    assert _addresses(second) == _addresses(first)
    assert _node_ports(second) == _node_ports(first)
