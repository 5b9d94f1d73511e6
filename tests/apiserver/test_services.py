"""The addresses and the session affinity of Services."""

from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.http_api import Api

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


@pytest.mark.parametrize("address", ["None", "10.0.0.7"])
def test_an_update_that_leaves_the_addresses_out_keeps_them(api: Api, address: str) -> None:
    created = _create(api, clusterIP=address)
    patched = _patch(api, clusterIP=None, clusterIPs=None)
    body = {"metadata": {"name": "a"}, "spec": {"ports": PORTS}}
    replaced = api.call("PUT", f"{SERVICES}/a", body).body["spec"]

    assert _addresses(created) == (address, [address])
    assert _addresses(patched) == _addresses(created)
    assert _addresses(replaced) == _addresses(created)


def test_a_list_of_addresses_is_kept(api: Api) -> None:
    both = ["10.0.0.7", "fd00::7"]

    assert _addresses(_create(api, clusterIP="10.0.0.7", clusterIPs=both)) == ("10.0.0.7", both)
    assert _addresses(_patch(api, clusterIPs=None)) == ("10.0.0.7", both)


def test_a_service_that_becomes_an_external_name_loses_its_addresses(api: Api) -> None:
    _create(api, clusterIP="None")

    changed = _patch(api, type="ExternalName", externalName="example.com")

    assert _addresses(changed) == (None, None)


def test_a_service_without_addresses_stays_without(api: Api) -> None:
    assert _addresses(_create(api)) == (None, None)
    assert _addresses(_patch(api, selector={"a": "b"})) == (None, None)


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
