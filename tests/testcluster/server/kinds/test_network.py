"""What Services, Ingresses, NetworkPolicies and EndpointSlices may have."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import PORT, SERVICES, Causes, Object, causes, named

NETWORK = "/apis/networking.k8s.io/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
INGRESSES = f"{NETWORK}/ingresses"
POLICIES = f"{NETWORK}/networkpolicies"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, [("spec.ports", "Required")]),
        ({"clusterIP": "None"}, []),
        ({"ports": [PORT, {"port": 81}]}, [(f"spec.ports[{i}].name", "Required") for i in (0, 1)]),
        (
            {"ports": [{**PORT, "name": "a"}, {**PORT, "name": "b"}]},
            [("spec.ports[1]", "Duplicate")],
        ),
        (
            {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2}]},
            [("spec.ports[1].name", "Duplicate")],
        ),
        (
            {"ports": [{"port": 0}]},
            [("spec.ports[0].port", "Invalid"), ("spec.ports[0].targetPort", "Invalid")],
        ),
        (
            {"ports": [{"port": 80, "targetPort": "--"}]},
            [("spec.ports[0].targetPort", "Invalid")] * 3,
        ),
        ({"ports": [{"port": 80, "protocol": "X"}]}, [("spec.ports[0].protocol", "NotSupported")]),
        ({"ports": [PORT], "type": "X"}, [("spec.type", "NotSupported")]),
        ({"type": "ExternalName"}, [("spec.externalName", "Required")]),
        ({"type": "ExternalName", "externalName": "x y"}, [("spec.externalName", "Invalid")]),
        ({"type": "ExternalName", "externalName": "example.com."}, []),
        (
            {"ports": [{"port": 80, "nodePort": 30000}]},
            [("spec.ports[0].nodePort", "Forbidden")],
        ),
        (
            {"ports": [PORT], "clusterIP": "None", "type": "NodePort"},
            [("spec.clusterIPs[0]", "Invalid")],
        ),
        (
            {"ports": [PORT], "externalTrafficPolicy": "Local"},
            [("spec.externalTrafficPolicy", "Invalid")],
        ),
        ({"ports": [PORT], "sessionAffinity": "X"}, [("spec.sessionAffinity", "NotSupported")]),
        (
            {
                "ports": [PORT],
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}},
            },
            [("spec.sessionAffinityConfig.clientIP.timeoutSeconds", "Invalid")],
        ),
        ({"ports": [PORT], "loadBalancerClass": "a/b"}, [("spec.loadBalancerClass", "Forbidden")]),
        ({"ports": [PORT], "externalIPs": ["x"]}, [("spec.externalIPs[0]", "Invalid")]),
    ],
)
def test_services(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, SERVICES, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("spec", "warning"),
    [
        ({"clusterIP": "None", "sessionAffinity": "ClientIP"}, "SessionAffinity is ignored"),
        ({"ports": [PORT], "trafficDistribution": "PreferClose"}, "deprecated"),
        ({"ports": [PORT], "externalIPs": ["1.2.3.4"]}, "externalIPs is deprecated"),
    ],
)
def test_a_service_is_created_with_a_warning(shared: Api, spec: Object, warning: str) -> None:
    answer = shared.call("POST", SERVICES, named(spec=spec), dryRun="All")

    assert answer.status == 201
    assert warning in answer.warnings[0]


def test_only_a_load_balancer_has_addresses_in_its_status(api: Api) -> None:
    api.create(SERVICES, named(spec={"ports": [PORT]}))
    status = {"status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}}
    path = f"{SERVICES}/a"
    refused = api.call("PATCH", f"{path}/status", status, "application/merge-patch+json")
    api.patch(path, {"spec": {"type": "LoadBalancer"}})
    accepted = api.patch(f"{path}/status", status)

    assert refused.body["details"]["causes"][0]["field"] == "status.loadBalancer.ingress"
    assert accepted["status"]["loadBalancer"]["ingress"] == [{"ip": "1.2.3.4", "ipMode": "VIP"}]


def test_the_address_of_a_service_never_changes(api: Api) -> None:
    api.create(SERVICES, named(spec={"ports": [PORT], "clusterIP": "10.96.0.7"}))
    change = {"spec": {"clusterIP": "10.96.0.8"}}
    answer = api.call("PATCH", f"{SERVICES}/a", change, "application/merge-patch+json")

    assert answer.body["details"]["causes"][0]["field"] == "spec.clusterIPs[0]"


def test_allocated_fields_have_no_manager(api: Api) -> None:
    created = api.create(SERVICES, named(spec={"ports": [PORT]}))
    [entry] = created["metadata"]["managedFields"]

    assert not {"f:clusterIP", "f:clusterIPs", "f:ipFamilies"} & entry["fieldsV1"]["f:spec"].keys()


BACKEND = {"service": {"name": "s", "port": {"number": 80}}}


def rule(host: str = "a.example.com", **path: Any) -> Object:
    entry = {"path": "/", "pathType": "Prefix", "backend": BACKEND, **path}
    return {"rules": [{"host": host, "http": {"paths": [entry]}}]}


PATH = "spec.rules[0].http.paths[0]"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (rule(), []),
        (rule("*.example.com"), []),
        ({"ingressClassName": "x"}, [("spec", "Invalid")]),
        (rule("1.2.3.4"), [("spec.rules[0].host", "Invalid")]),
        (rule("a.*.com"), [("spec.rules[0].host", "Invalid")]),
        (rule(path="x"), [(f"{PATH}.path", "Invalid")]),
        (rule(path="/a//b"), [(f"{PATH}.path", "Invalid")]),
        (rule(pathType="X"), [(f"{PATH}.pathType", "NotSupported")]),
        (rule(pathType=None), [(f"{PATH}.pathType", "Required")]),
        (rule(backend={}), [(f"{PATH}.backend", "Invalid")]),
        (rule(backend={"service": {"name": "s"}}), [(f"{PATH}.backend", "Required")]),
        (
            rule(backend={"service": {"name": "s", "port": {"name": "p", "number": 1}}}),
            [(f"{PATH}.backend", "Invalid")],
        ),
        (
            {"defaultBackend": {**BACKEND, "resource": {"kind": "K", "name": "n"}}},
            [("spec.defaultBackend", "Invalid")],
        ),
        ({**rule(), "tls": [{"secretName": "B_"}]}, [("spec.tls[0].secretName", "Invalid")]),
        ({**rule(), "ingressClassName": "A b"}, [("spec.ingressClassName", "Invalid")]),
    ],
)
def test_ingresses(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, INGRESSES, {"spec": spec}) == expected


def ingress_rule(**parts: Any) -> Object:
    return {"podSelector": {}, "ingress": [parts]}


def block(*excepted: str) -> Object:
    return {"ipBlock": {"cidr": "10.0.0.0/8", "except": list(excepted)}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (ingress_rule(**{"from": [block("10.1.0.0/16")]}), []),
        (ingress_rule(ports=[{"port": 1, "endPort": 2}]), []),
        (
            ingress_rule(ports=[{"port": 2, "endPort": 1}]),
            [("spec.ingress[0].ports[0].endPort", "Invalid")],
        ),
        (ingress_rule(ports=[{"endPort": 1}]), [("spec.ingress[0].ports[0].endPort", "Invalid")]),
        (
            ingress_rule(ports=[{"port": "web", "endPort": 1}]),
            [("spec.ingress[0].ports[0].endPort", "Invalid")],
        ),
        (ingress_rule(**{"from": [{}]}), [("spec.ingress[0].from[0]", "Required")]),
        (
            ingress_rule(**{"from": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}),
            [("spec.ingress[0].from[0]", "Forbidden")],
        ),
        (
            ingress_rule(**{"from": [block("11.0.0.0/9")]}),
            [("spec.ingress[0].from[0].ipBlock.except[0]", "Invalid")],
        ),
        (
            ingress_rule(**{"from": [block("10.0.0.0/8")]}),
            [("spec.ingress[0].from[0].ipBlock.except[0]", "Invalid")],
        ),
        ({"podSelector": {}, "policyTypes": ["X"]}, [("spec.policyTypes[0]", "NotSupported")]),
        (
            {"podSelector": {}, "policyTypes": ["Ingress", "Egress", "Ingress"]},
            [("spec.policyTypes", "Invalid")],
        ),
    ],
)
def test_network_policies(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, POLICIES, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("kind", "address", "expected"),
    [
        ("IPv4", "10.0.0.1", []),
        ("IPv6", "10.0.0.1", [("endpoints[0].addresses", "Invalid")]),
        (
            "IPv6",
            "127.0.0.1",
            [("endpoints[0].addresses", "Invalid"), ("endpoints[0].addresses[0]", "Invalid")],
        ),
        ("IPv4", "fd00::1", [("endpoints[0].addresses", "Invalid")]),
        ("FQDN", "x y", [("endpoints[0].addresses[0]", "Invalid")]),
        ("X", "10.0.0.1", [("addressType", "NotSupported")]),
    ],
)
def test_endpoint_slices(shared: Api, kind: str, address: str, expected: Causes) -> None:
    body = {"addressType": kind, "endpoints": [{"addresses": [address]}]}

    assert causes(shared, SLICES, body) == expected


def test_ports_of_a_slice_have_different_names(shared: Api) -> None:
    body = {"addressType": "IPv4", "endpoints": [], "ports": [{"port": 1}, {"port": 2}]}

    assert causes(shared, SLICES, body) == [("ports[1].name", "Duplicate")]


def test_a_slice_of_names_is_created_with_a_warning(shared: Api) -> None:
    body = named(addressType="FQDN", endpoints=[{"addresses": ["a.example.com"]}])
    answer = shared.call("POST", SLICES, body, dryRun="All")

    assert "FQDN endpoints are deprecated" in answer.warnings[0]


def test_a_service_with_external_addresses_has_a_policy_for_them(shared: Api) -> None:
    spec = {"ports": [PORT], "externalIPs": ["1.2.3.4"]}
    answer = shared.call("POST", SERVICES, named(spec=spec), dryRun="All")
    assert answer.body["spec"]["externalTrafficPolicy"] == "Cluster"
    refused = {"spec": {**spec, "externalTrafficPolicy": "X"}}
    assert causes(shared, SERVICES, refused) == [("spec.externalTrafficPolicy", "NotSupported")]
