"""What a real API server refuses, defaults and keeps in kinds that are not workloads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.apiserver import EmbeddedAPIServer
from tests.apiserver.http_api import MERGE_PATCH, Api

CORE = "/api/v1/namespaces/default"
NETWORK = "/apis/networking.k8s.io/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
STORAGE = "/apis/storage.k8s.io/v1"
SERVICES = f"{CORE}/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
INGRESSES = f"{NETWORK}/ingresses"
POLICIES = f"{NETWORK}/networkpolicies"
CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
LIMITS = f"{CORE}/limitranges"
QUOTAS = f"{CORE}/resourcequotas"
SCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
EVENTS = "/apis/events.k8s.io/v1/namespaces/default/events"
SECRETS = f"{CORE}/secrets"
NODES = "/api/v1/nodes"

Object = dict[str, Any]
Causes = list[tuple[str, str]]


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    """A server on which the tests create nothing that another test sees."""
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def causes(api: Api, collection: str, body: Object) -> Causes:
    """Return field and reason of each cause; none if the object is accepted."""
    body = {"metadata": {"name": "a"}, **body}
    answer = api.call("POST", collection, body, dryRun="All")
    if answer.status == 201:
        return []
    assert answer.status == 422, answer.body
    found = answer.body["details"]["causes"]
    return sorted((item["field"], item["reason"].removeprefix("FieldValue")) for item in found)


def named(**body: Any) -> Object:
    return {"metadata": {"name": "a"}, **body}


PORT = {"port": 80}


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
        ("IPv6", "10.0.0.1", [("endpoints[0].addresses[0]", "Invalid")]),
        ("IPv4", "fd00::1", [("endpoints[0].addresses[0]", "Invalid")]),
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


CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (CLAIM, []),
        ({**CLAIM, "accessModes": []}, [("spec.accessModes", "Required")]),
        ({**CLAIM, "accessModes": ["X"]}, [("spec.accessModes", "NotSupported")]),
        (
            {**CLAIM, "accessModes": ["ReadWriteOncePod", "ReadWriteOnce"]},
            [("spec.accessModes", "Forbidden")],
        ),
        ({**CLAIM, "resources": {}}, [("spec.resources[storage]", "Required")]),
        (
            {**CLAIM, "resources": {"requests": {"storage": "0"}}},
            [("spec.resources[storage]", "Invalid")],
        ),
        ({**CLAIM, "volumeMode": "X"}, [("spec.volumeMode", "NotSupported")]),
        ({**CLAIM, "storageClassName": "A b"}, [("spec.storageClassName", "Invalid")]),
    ],
)
def test_claims(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, CLAIMS, {"spec": spec}) == expected


def test_a_claim_names_its_source_in_both_fields(shared: Api) -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    other = {"apiGroup": "example.com", "kind": "Backup", "name": "b"}

    def created(**fields: Any) -> Object:
        answer = shared.call("POST", CLAIMS, named(spec={**CLAIM, **fields}), dryRun="All")
        spec: Object = answer.body["spec"]
        return spec

    assert created(dataSource=source)["dataSourceRef"] == source
    assert created(dataSourceRef=source)["dataSource"] == source
    assert "dataSource" not in created(dataSource=other)
    assert "dataSource" not in created(dataSourceRef=other)


def change(api: Api, path: str, patch: Object) -> Causes:
    answer = api.call("PATCH", path, patch, "application/merge-patch+json")
    if answer.status == 200:
        return []
    found = answer.body["details"]["causes"]
    return sorted((item["field"], item["reason"].removeprefix("FieldValue")) for item in found)


def test_a_claim_is_fixed_but_for_its_volume(api: Api) -> None:
    api.create(CLAIMS, named(spec=CLAIM))
    path = f"{CLAIMS}/a"

    assert change(api, path, {"spec": {"accessModes": ["ReadOnlyMany"]}}) == [("spec", "Forbidden")]
    assert change(api, path, {"spec": {"volumeName": "v"}}) == []
    assert change(api, path, {"spec": {"volumeName": "w"}}) == [("spec", "Forbidden")]
    larger = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    assert change(api, path, larger) == [("spec", "Forbidden")]
    api.patch(f"{path}/status", {"status": {"phase": "Bound"}})
    assert change(api, path, larger) == []


VOLUME: Object = {
    "capacity": {"storage": "1Gi"},
    "accessModes": ["ReadWriteOnce"],
    "nfs": {"server": "s", "path": "/"},
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (VOLUME, []),
        ({**VOLUME, "nfs": None}, [("spec", "Required")]),
        (
            {**VOLUME, "csi": {"driver": "d", "volumeHandle": "h"}},
            [("spec.csi", "Forbidden")],
        ),
        (
            {**VOLUME, "capacity": {}},
            [("spec.capacity", "NotSupported"), ("spec.capacity", "Required")],
        ),
        ({**VOLUME, "capacity": {"cpu": "1"}}, [("spec.capacity", "NotSupported")]),
        (
            {**VOLUME, "nfs": None, "local": {"path": "/x"}},
            [("spec.nodeAffinity", "Required")],
        ),
        (
            {**VOLUME, "persistentVolumeReclaimPolicy": "X"},
            [("spec.persistentVolumeReclaimPolicy", "NotSupported")],
        ),
    ],
)
def test_volumes(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, VOLUMES, {"spec": spec}) == expected


def test_a_volume_says_since_when_it_has_its_phase(api: Api) -> None:
    created = api.create(VOLUMES, named(spec=VOLUME))["status"]
    moved = change(api, f"{VOLUMES}/a", {"spec": {"nfs": {"path": "/other"}}})
    mode = change(api, f"{VOLUMES}/a", {"spec": {"volumeMode": "Block"}})

    assert created["phase"] == "Pending"
    assert created["lastPhaseTransitionTime"]
    assert moved == [("spec.persistentvolumesource", "Forbidden")]
    assert mode == [("volumeMode", "Invalid")]


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1"}}, []),
        (
            {"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}},
            [("spec.limits[0].min[cpu]", "Invalid")],
        ),
        ({"type": "Pod", "default": {"cpu": "1"}}, [("spec.limits[0].default", "Forbidden")]),
        ({"type": "X", "max": {"cpu": "1"}}, [("spec.limits[0].type", "Invalid")]),
        ({"type": "PersistentVolumeClaim"}, [("spec.limits[0].limits", "Required")]),
        (
            {"type": "Container", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}},
            [("spec.limits[0].defaultRequest[cpu]", "Invalid")],
        ),
        (
            {"type": "Container", "maxLimitRequestRatio": {"cpu": "500m"}},
            [("spec.limits[0].maxLimitRequestRatio[cpu]", "Invalid")],
        ),
    ],
)
def test_limit_ranges(shared: Api, item: Object, expected: Causes) -> None:
    assert causes(shared, LIMITS, {"spec": {"limits": [item]}}) == expected


def test_limits_of_containers_complete_each_other(shared: Api) -> None:
    item = {"type": "Container", "max": {"memory": "1Gi"}, "min": {"cpu": "1"}}
    body = named(spec={"limits": [item]})
    [shown] = shared.call("POST", LIMITS, body, dryRun="All").body["spec"]["limits"]

    assert shown["default"] == {"memory": "1Gi"}
    assert shown["defaultRequest"] == {"cpu": "1", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"hard": {"pods": "1", "requests.cpu": "1", "count/pods": "1"}}, []),
        ({"hard": {"storage": "1"}}, [("spec.hard[storage]", "Invalid")]),
        ({"hard": {"pods": "-1"}}, [("spec.hard[pods]", "Invalid")]),
        ({"scopes": ["X"]}, [("spec.scopes", "Invalid")]),
        ({"scopes": ["BestEffort", "NotBestEffort"]}, [("spec.scopes", "Invalid")]),
    ],
)
def test_quotas(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, QUOTAS, {"spec": spec}) == expected


SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}


def scaler(**spec: Any) -> Object:
    return {"scaleTargetRef": SCALED, "maxReplicas": 3, **spec}


def metric(**parts: Any) -> Object:
    return scaler(metrics=[{"type": "Resource", **parts}])


CPU = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (scaler(), []),
        (metric(resource=CPU), []),
        (
            scaler(maxReplicas=0),
            [("spec.maxReplicas", "Invalid"), ("spec.maxReplicas", "Required")],
        ),
        (scaler(minReplicas=5), [("spec.maxReplicas", "Invalid")]),
        (
            scaler(scaleTargetRef={**SCALED, "apiVersion": "v1"}),
            [("spec.scaleTargetRef.apiVersion", "Invalid")],
        ),
        (metric(), [("spec.metrics[0].resource", "Required")]),
        (
            metric(resource={**CPU, "target": {"type": "Utilization"}}),
            [("spec.metrics[0].resource.target.averageUtilization", "Required")],
        ),
        (
            scaler(behavior={"scaleUp": {"selectPolicy": "X"}}),
            [("spec.behavior.scaleUp.selectPolicy", "NotSupported")],
        ),
    ],
)
def test_autoscalers(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, SCALERS, {"spec": spec}) == expected


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": "50%", "selector": {}}, []),
        ({"minAvailable": 1, "maxUnavailable": 1}, [("spec", "Invalid")]),
        ({"minAvailable": -1}, [("spec.minAvailable", "Invalid")]),
        ({"maxUnavailable": "x"}, [("spec.maxUnavailable", "Invalid")]),
        ({"maxUnavailable": "101%"}, [("spec.maxUnavailable", "Invalid")]),
        (
            {"unhealthyPodEvictionPolicy": "X"},
            [("spec.unhealthyPodEvictionPolicy", "NotSupported")],
        ),
    ],
)
def test_budgets(shared: Api, spec: Object, expected: Causes) -> None:
    assert causes(shared, BUDGETS, {"spec": spec}) == expected


RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("plural", "rule_of_role", "expected"),
    [
        ("clusterroles", RULE, []),
        ("clusterroles", {"verbs": ["get"], "nonResourceURLs": ["/x"]}, []),
        ("clusterroles", {**RULE, "verbs": []}, [("rules[0].verbs", "Required")]),
        ("clusterroles", {**RULE, "apiGroups": []}, [("rules[0].apiGroups", "Required")]),
        (
            "clusterroles",
            {**RULE, "nonResourceURLs": ["/x"]},
            [("rules[0].nonResourceURLs", "Invalid")],
        ),
        (
            "namespaces/default/roles",
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            [("rules[0].nonResourceURLs", "Invalid")],
        ),
    ],
)
def test_roles(shared: Api, plural: str, rule_of_role: Object, expected: Causes) -> None:
    assert causes(shared, f"{RBAC}/{plural}", {"rules": [rule_of_role]}) == expected


ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}


@pytest.mark.parametrize(
    ("plural", "role", "subject", "expected"),
    [
        ("namespaces/default/rolebindings", ROLE, {"kind": "User", "name": "u"}, []),
        (
            "namespaces/default/rolebindings",
            {**ROLE, "kind": "X"},
            {"kind": "User", "name": "u"},
            [("roleRef.kind", "NotSupported")],
        ),
        (
            "clusterrolebindings",
            {**ROLE, "kind": "Role"},
            {"kind": "User", "name": "u"},
            [("roleRef.kind", "NotSupported")],
        ),
        (
            "clusterrolebindings",
            ROLE,
            {"kind": "ServiceAccount", "name": "u"},
            [("subjects[0].namespace", "Required")],
        ),
        (
            "namespaces/default/rolebindings",
            ROLE,
            {"kind": "X", "name": "u"},
            [("subjects[0].kind", "NotSupported")],
        ),
        (
            "namespaces/default/rolebindings",
            ROLE,
            {"kind": "User"},
            [("subjects[0].name", "Required")],
        ),
    ],
)
def test_bindings(
    shared: Api, plural: str, role: Object, subject: Object, expected: Causes
) -> None:
    body = {"roleRef": role, "subjects": [subject]}

    assert causes(shared, f"{RBAC}/{plural}", body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"provisioner": "example.com/p"}, []),
        ({"provisioner": ""}, [("provisioner", "Required")]),
        ({"provisioner": "a b"}, [("provisioner", "Invalid")]),
        ({"provisioner": "p", "reclaimPolicy": "Recycle"}, [("reclaimPolicy", "NotSupported")]),
        ({"provisioner": "p", "parameters": {"": "x"}}, [("parameters", "Invalid")]),
    ],
)
def test_storage_classes(shared: Api, body: Object, expected: Causes) -> None:
    assert causes(shared, f"{STORAGE}/storageclasses", body) == expected


EVENT = {
    "eventTime": "2024-01-02T03:04:05.000000Z",
    "reportingController": "example.com/c",
    "reportingInstance": "c-1",
    "action": "Act",
    "reason": "Because",
    "type": "Normal",
    "regarding": {"kind": "Pod", "name": "p", "namespace": "default"},
}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"type": "X"}, [("type", "Invalid")]),
        ({"action": ""}, [("action", "Required")]),
        ({"reason": "x" * 129}, [("reason", "Invalid")]),
        ({"deprecatedCount": 2}, [("count", "Invalid")]),
        (
            {"series": {"count": 1, "lastObservedTime": "2024-01-02T03:04:05.000000Z"}},
            [("series.count", "Invalid")],
        ),
        ({"reportingController": "a b"}, [("reportingController", "Invalid")]),
    ],
)
def test_events(shared: Api, fields: Object, expected: Causes) -> None:
    assert causes(shared, EVENTS, {**EVENT, **fields}) == expected


def test_only_the_series_of_an_event_changes(api: Api) -> None:
    api.create(EVENTS, named(**EVENT))
    series = {"count": 2, "lastObservedTime": "2024-01-02T03:04:06.000000Z"}
    path = f"{EVENTS}/a"

    assert change(api, path, {"series": series}) == []
    assert change(api, path, {"note": "other"}) == [("message", "Invalid")]
    assert change(api, path, {"reason": "Other"}) == [("reason", "Invalid")] * 2


@pytest.mark.parametrize(
    ("kind", "data", "expected"),
    [
        ("kubernetes.io/basic-auth", {"username": "eA=="}, []),
        (
            "kubernetes.io/basic-auth",
            {},
            [("data[password]", "Required"), ("data[username]", "Required")],
        ),
        ("kubernetes.io/dockercfg", {".dockercfg": "e30="}, []),
        ("kubernetes.io/dockercfg", {".dockercfg": "eA=="}, [("data[.dockercfg]", "Invalid")]),
        (
            "kubernetes.io/service-account-token",
            {},
            [("metadata.annotations[kubernetes.io/service-account.name]", "Required")],
        ),
        ("Opaque", {"..": "eA=="}, [("data[..]", "Invalid")]),
    ],
)
def test_secrets(shared: Api, kind: str, data: Object, expected: Causes) -> None:
    assert causes(shared, SECRETS, {"type": kind, "data": data}) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"spec": {"podCIDR": "10.0.0.0/24"}}, []),
        ({"spec": {"podCIDRs": ["x"]}}, [("spec.podCIDRs[0]", "Invalid")]),
        (
            {"spec": {"podCIDRs": ["10.0.0.0/24", "10.0.1.0/24"]}},
            [("spec.podCIDRs", "Invalid")],
        ),
        (
            {"spec": {"taints": [{"key": "k", "effect": "X"}]}},
            [("metadata.taints[0].effect", "NotSupported")],
        ),
        ({"spec": {"taints": [{"key": "k"}]}}, [("metadata.taints[0].effect", "Required")]),
        (
            {"status": {"capacity": {"cpu": "-1"}}},
            [("status.allocatable.cpu", "Invalid"), ("status.capacity.cpu", "Invalid")],
        ),
    ],
)
def test_nodes(shared: Api, body: Object, expected: Causes) -> None:
    assert causes(shared, NODES, body) == expected


def test_a_node_is_created_with_its_status(shared: Api) -> None:
    body = named(status={"capacity": {"cpu": "4"}})
    status = shared.call("POST", NODES, body, dryRun="All").body["status"]

    assert status["allocatable"] == status["capacity"] == {"cpu": "4"}
    assert status["nodeInfo"]["kubeletVersion"] == ""


def test_a_generation_that_the_server_does_not_count_is_the_clients(shared: Api) -> None:
    def created(generation: int) -> Any:
        metadata = {"name": "a", "generation": generation}
        return shared.call("POST", SECRETS, {"metadata": metadata}, dryRun="All")

    assert created(9).body["metadata"]["generation"] == 9
    assert created(-1).body["details"]["causes"][0]["field"] == "metadata.generation"


def test_a_lease_has_no_fields_of_coordinated_election(shared: Api) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
    spec = {"holderIdentity": "me", "preferredHolder": "you", "strategy": "OldestEmulationVersion"}

    assert shared.call("POST", path, named(spec=spec), dryRun="All").body["spec"] == {
        "holderIdentity": "me"
    }


def test_a_budget_is_updated_with_its_version_only(api: Api) -> None:
    created = api.create(BUDGETS, named(spec={"minAvailable": 1}))
    without = api.call("PUT", f"{BUDGETS}/a", named(spec={"minAvailable": 2}))
    created["spec"]["minAvailable"] = 2

    assert without.body["details"]["causes"][0]["field"] == "metadata.resourceVersion"
    assert api.call("PUT", f"{BUDGETS}/a", created).status == 200


def test_an_update_of_a_node_checks_taints_twice_and_addresses_once(api: Api) -> None:
    address = {"type": "InternalIP", "address": "1.2.3.4"}
    api.create(NODES, {"metadata": {"name": "n"}})
    path = f"{NODES}/n"
    taint = {"spec": {"taints": [{"key": "-x", "effect": "NoSchedule"}]}}
    tainted = api.call("PATCH", path, taint, MERGE_PATCH)
    addresses = {"status": {"addresses": [address, address], "capacity": {"pods": "1.5"}}}
    status = api.call("PATCH", f"{path}/status", addresses, MERGE_PATCH)

    fields = [cause["field"] for cause in tainted.body["details"]["causes"]]
    assert fields == ["metadata.taints[0].key"] * 2
    fields = [cause["field"] for cause in status.body["details"]["causes"]]
    assert sorted(fields) == [
        "status.addresses[1]",
        "status.allocatable.pods",
        "status.capacity.pods",
    ]


def test_credentials_of_a_registry_are_a_json_object(shared: Api) -> None:
    for text, expected in (("{}", []), ("null", []), ("1", "Invalid"), ("x", "Invalid")):
        body = {"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": text}}
        assert causes(shared, SECRETS, body) == (expected and [("data[.dockercfg]", expected)])


def test_the_bytes_of_a_secret_are_counted_without_base64(shared: Api) -> None:
    fits = {"stringData": {"a": "x" * 1024 * 1024}}
    assert causes(shared, SECRETS, fits) == []
    too_long = {"stringData": {"a": "x" * (1024 * 1024 + 1)}}
    assert causes(shared, SECRETS, too_long) == [("data", "TooLong")]


def test_a_name_that_is_no_hostname_is_warned_of(shared: Api) -> None:
    containers = [{"name": "c", "image": "i"}]
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": containers}}
    workload = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    once = {"template": {"spec": {"containers": containers, "restartPolicy": "Never"}}}
    for path, spec, use in (
        (f"{CORE}/pods", {"containers": containers}, "the Pod's hostname"),
        ("/apis/apps/v1/namespaces/default/deployments", workload, "Pod names and hostnames"),
        ("/apis/batch/v1/namespaces/default/jobs", once, "Pod names and hostnames"),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            {"schedule": "* * * * *", "jobTemplate": {"spec": once}},
            "Pod names and hostnames",
        ),
    ):
        body = {"metadata": {"name": "a.b"}, "spec": spec}
        answer = shared.call("POST", path, body, dryRun="All")
        assert answer.status == 201, answer.body
        assert f"metadata.name: this is used in {use}" in answer.warnings[0]
        assert "[must not contain dots]" in answer.warnings[0]


def test_a_service_with_external_addresses_has_a_policy_for_them(shared: Api) -> None:
    spec = {"ports": [PORT], "externalIPs": ["1.2.3.4"]}
    answer = shared.call("POST", SERVICES, named(spec=spec), dryRun="All")
    assert answer.body["spec"]["externalTrafficPolicy"] == "Cluster"
    refused = {"spec": {**spec, "externalTrafficPolicy": "X"}}
    assert causes(shared, SERVICES, refused) == [("spec.externalTrafficPolicy", "NotSupported")]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"metadata": "x", "target": {"name": "n"}}, 400),
        ({"metadata": {"name": "p"}, "target": "x"}, 400),
        ({"metadata": {"name": "p"}, "target": None}, 500),
        ({"metadata": {"name": "q"}, "target": {"name": "n"}}, 400),
        ({"metadata": {"name": "p"}, "target": {"name": "n", "kind": "Pod"}}, 500),
    ],
)
def test_a_binding_that_can_not_be_read_is_refused(shared: Api, body: Object, status: int) -> None:
    assert shared.call("POST", f"{CORE}/pods/p/binding", body).status == status


def test_an_eviction_that_can_not_be_read_is_refused(shared: Api) -> None:
    assert shared.call("POST", f"{CORE}/pods/p/eviction", {"metadata": "x"}).status == 400


NEW_POD = {"spec": {"containers": [{"name": "c", "image": "i"}]}}
NEW_VOLUME = {
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "hostPath": {"path": "/x"},
    }
}
BAD_LABEL = {"metadata": {"labels": {"a": "b c"}}}


@pytest.mark.parametrize(
    ("collection", "body", "subresource", "change", "expected"),
    [
        (CLAIMS, {"spec": CLAIM}, "", BAD_LABEL, ["metadata.labels:Invalid"] * 4),
        (
            CLAIMS,
            {"spec": CLAIM},
            "",
            {"spec": {"accessModes": ["X"]}},
            ["spec.accessModes:NotSupported", "spec:Forbidden"],
        ),
        (VOLUMES, NEW_VOLUME, "", {"spec": {"accessModes": []}}, ["spec.accessModes:Required"] * 2),
        (SERVICES, {"spec": {"ports": [PORT]}}, "", BAD_LABEL, ["metadata.labels:Invalid"] * 3),
        (
            f"{CORE}/pods",
            NEW_POD,
            "",
            {"spec": {"tolerations": [{"key": "-x", "operator": "Exists"}]}},
            ["spec.tolerations[0].key:Invalid"] * 2,
        ),
        (
            "/apis/scheduling.k8s.io/v1/priorityclasses",
            {"value": 1},
            "",
            {"value": 2000000000, "preemptionPolicy": "X"},
            ["preemptionPolicy:Invalid", "value:Forbidden"],
        ),
        (
            BUDGETS,
            {"spec": {"minAvailable": 1}},
            "/status",
            {"status": {"conditions": [{"status": "X", "reason": "a b"}]}},
            [
                "status.conditions[0].lastTransitionTime:Required",
                "status.conditions[0].reason:Invalid",
                "status.conditions[0].status:NotSupported",
                "status.conditions[0].type:Invalid",
                "status.conditions[0].type:Invalid",
            ],
        ),
    ],
)
def test_an_update_has_each_cause_as_often_as_on_a_real_server(
    api: Api, collection: str, body: Object, subresource: str, change: Object, expected: list[str]
) -> None:
    api.create(collection, {"metadata": {"name": "a"}, **body})
    answer = api.call("PATCH", f"{collection}/a{subresource}", change, MERGE_PATCH)
    found = answer.body["details"]["causes"]
    assert sorted(
        f"{cause['field']}:{cause['reason'].removeprefix('FieldValue')}" for cause in found
    ) == sorted(expected)
