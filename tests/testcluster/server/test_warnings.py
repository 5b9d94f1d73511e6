"""What clients are warned of when an object of a built-in kind is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.server.http.messages import warning_headers
from clientgo.testcluster.server.kinds.pod_warnings import pod_warnings
from tests.testcluster.server.fuzz.request_parts import APPLY_PATCH
from tests.testcluster.server.http_api import MERGE_PATCH, Answer, Api

Object = dict[str, Any]

DEFAULT = "/api/v1/namespaces/default"
APPS = "/apis/apps/v1/namespaces/default"
BATCH = "/apis/batch/v1/namespaces/default"
STORAGE = "/apis/storage.k8s.io/v1"
NETWORKS = "/apis/networking.k8s.io/v1/namespaces/default"
LONG = "2001:DB8::1"
LONG_RANGE = "2001:DB8::/32"
FORM = 'IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'
RANGE = 'IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'
OLD_CLASS = (
    "metadata.annotations[volume.beta.kubernetes.io/storage-class]: deprecated since v1.8; use "
    '"storageClassName" attribute instead'
)
OLD_OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
FRACTION = 'fractional byte value "100m" is invalid, must be an integer'


@pytest.fixture(scope="module")
def shared() -> Iterator[Api]:
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def texts(answer: Answer) -> list[str]:
    """Return the warnings of an accepted request."""
    assert answer.status < 300, answer.body
    return warnings_of(answer)


def warnings_of(answer: Answer) -> list[str]:
    quoted = (warning.removeprefix('299 - "')[:-1] for warning in answer.warnings)
    return [text.replace('\\"', '"') for text in quoted]


def created(api: Api, path: str, name: str = "a", **body: Any) -> list[str]:
    metadata = {"name": name, **body.pop("metadata", {})}
    return texts(api.call("POST", path, {"metadata": metadata, **body}, dryRun="All"))


def on_os(operator: str = "Exists") -> Object:
    return {"matchExpressions": [{"key": "beta.kubernetes.io/os", "operator": operator}]}


def volume(**spec: Any) -> Object:
    source = {} if spec.keys() & {"rbd", "storageos"} else {"hostPath": {"path": "/x"}}
    usual = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {"spec": usual | source | spec}


def claim(amount: str = "1Gi") -> Object:
    return {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": amount}}}


CLASS = {"annotations": {"volume.beta.kubernetes.io/storage-class": "c"}}
SERVICE = {"ports": [{"port": 80}]}
RULE = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": {"service": {
    "name": "s", "port": {"number": 80}}}}]}}  # fmt: skip


@pytest.mark.parametrize(
    ("path", "body", "expected"),
    [
        (f"{DEFAULT}/services", {"spec": SERVICE | {"loadBalancerIP": LONG}},
         [f"spec.loadBalancerIP: {FORM}"]),
        (f"{DEFAULT}/services",
         {"spec": SERVICE | {"type": "LoadBalancer", "loadBalancerSourceRanges": [LONG_RANGE]}},
         [f"spec.loadBalancerSourceRanges[0]: {RANGE}"]),
        (f"{DEFAULT}/endpoints", {"subsets": [{"addresses": [{"ip": LONG}], "ports": []}]},
         ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
          f"subsets[0].addresses[0].ip: {FORM}"]),
        ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
         {"addressType": "IPv6", "endpoints": [{"addresses": [LONG]}]},
         [f"endpoints[0].addresses[0]: {FORM}"]),
        ("/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
         {"addressType": "IPv6", "endpoints": [{"addresses": [LONG]}], "metadata": {"labels": {
             "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}}}, []),
        ("/api/v1/nodes", {"spec": {"externalID": "x"}, "metadata": {"labels": {
            "endpoints.kubernetes.io/managed-by": "endpoint-controller"}}},
         ["spec.externalID: this field is deprecated, and is unused by Kubernetes"]),
        (f"{NETWORKS}/networkpolicies",
         {"spec": {"podSelector": {}, "egress": [{"to": [{"ipBlock": {"cidr": LONG_RANGE}}]}]}},
         [f"spec.egress[0].to[0].ipBlock.cidr: {RANGE}"]),
        (f"{NETWORKS}/ingresses", {"spec": {"rules": [RULE]}, "metadata": {
            "annotations": {"kubernetes.io/ingress.class": "c"}}},
         ["annotation \"kubernetes.io/ingress.class\" is deprecated, please use "
          "'spec.ingressClassName' instead"]),
        ("/api/v1/nodes", {"spec": {"podCIDRs": [LONG_RANGE], "externalID": "x"}},
         ["spec.externalID: this field is deprecated, and is unused by Kubernetes",
          f"spec.podCIDRs[0]: {RANGE}"]),
        ("/api/v1/persistentvolumes",
         volume(nodeAffinity={"required": {"nodeSelectorTerms": [on_os()]}},
                persistentVolumeReclaimPolicy="Recycle") | {"metadata": CLASS},
         [OLD_CLASS,
          "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, "
          "the recommended approach is to use dynamic provisioning.",
          "spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: "
          f"beta.kubernetes.io/os is {OLD_OS}"]),
        ("/api/v1/persistentvolumes", volume(rbd={"monitors": ["m"], "image": "i"}),
         ["spec.rbd: deprecated in v1.28, non-functional in v1.31+"]),
        ("/api/v1/persistentvolumes", volume(storageos={"volumeName": "v"}),
         ["spec.storageOS: deprecated in v1.22, non-functional in v1.25+"]),
        (f"{DEFAULT}/persistentvolumeclaims", {"spec": claim("100m"), "metadata": CLASS},
         [OLD_CLASS, f"spec.resources.requests[storage]: {FRACTION}"]),
        (f"{STORAGE}/storageclasses", {"provisioner": "p", "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "beta.kubernetes.io/os", "values": ["x"]}]}]},
         [f"allowedTopologies[0].matchLabelExpressions[0].key: {OLD_OS}"]),
        (f"{STORAGE}/namespaces/default/csistoragecapacities",
         {"storageClassName": "c", "nodeTopology": {"matchLabels": {"beta.kubernetes.io/os": "x"}}},
         [f"nodeTopology.matchLabels.beta.kubernetes.io/os: {OLD_OS}"]),
        ("/apis/node.k8s.io/v1/runtimeclasses",
         {"handler": "h", "scheduling": {"nodeSelector": {"beta.kubernetes.io/os": "x"}}},
         [f"scheduling.nodeSelector: {OLD_OS}"]),
        (f"{DEFAULT}/serviceaccounts", {"metadata": {"annotations": {
            "kubernetes.io/enforce-mountable-secrets": "true"}}},
         ["metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; "
          "prefer separate namespaces to isolate access to mounted secrets"]),
        (f"{DEFAULT}/podtemplates", {"template": {"spec": {
            "containers": [{"name": "c", "image": "i"}],
            "nodeSelector": {"beta.kubernetes.io/os": "x"}}}},
         [f"template.spec.nodeSelector[beta.kubernetes.io/os]: {OLD_OS}"]),
    ],
)  # fmt: skip
def test_the_fields_of_a_new_object_are_warned_of(
    shared: Api, path: str, body: Object, expected: list[str]
) -> None:
    assert created(shared, path, **body) == expected


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (f"{DEFAULT}/services", {"spec": SERVICE | {"clusterIP": "010.96.0.9"}}, 422),
        (f"{DEFAULT}/services", {"spec": SERVICE | {"externalIPs": ["::ffff:1.2.3.4"]}}, 422),
        (f"{NETWORKS}/networkpolicies", {"spec": {"podSelector": {}, "ingress": [
            {"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]}}, 422),
        ("/api/v1/nodes", {"spec": {"podCIDRs": ["10.0.0.0/08"]}}, 422),
        (f"{NETWORKS}/ingresses", {"spec": {"rules": [RULE | {"host": "010.0.0.1"}]}}, 422),
    ],
)  # fmt: skip
def test_addresses_that_programs_read_differently_are_refused(
    shared: Api, path: str, body: Object, status: int
) -> None:
    body = {"metadata": {"name": "a"}, **body}
    assert shared.call("POST", path, body, dryRun="All").status == status


def workload(**template: Any) -> Object:
    labels = {"app": "a"}
    spec = {"containers": [{"name": "c", "image": "i", "resources": {
        "requests": {"memory": "100m"}}}]}  # fmt: skip
    pods = {"metadata": {"labels": labels, **template}, "spec": spec}
    return {"selector": {"matchLabels": labels}, "template": pods}


FRACTION_IN_TEMPLATE = f"spec.template.spec.containers[0].resources.requests[memory]: {FRACTION}"


def test_a_new_generation_of_a_workload_is_warned_of_again(api: Api) -> None:
    """As upstream, also when the template stays as it is; other writes are not."""
    api.create(f"{APPS}/deployments", {"metadata": {"name": "a"}, "spec": workload()})
    path = f"{APPS}/deployments/a"

    def change(subresource: str, body: Object) -> list[str]:
        return texts(api.call("PATCH", path + subresource, body, MERGE_PATCH))

    assert change("", {"spec": {"replicas": 2}}) == [FRACTION_IN_TEMPLATE]
    assert change("/scale", {"spec": {"replicas": 3}}) == [FRACTION_IN_TEMPLATE]
    assert change("", {"metadata": {"labels": {"a": "b"}}}) == []
    assert change("/status", {"status": {"observedGeneration": 1}}) == []


def test_a_daemon_set_is_warned_of_its_template_when_it_changes(api: Api) -> None:
    api.create(f"{APPS}/daemonsets", {"metadata": {"name": "a"}, "spec": workload()})
    path = f"{APPS}/daemonsets/a"
    ready = api.call("PATCH", path, {"spec": {"minReadySeconds": 5}}, MERGE_PATCH)
    labelled = {"spec": {"template": {"metadata": {"labels": {"b": "c"}}}}}

    assert texts(ready) == []
    assert texts(api.call("PATCH", path, labelled, MERGE_PATCH)) == [FRACTION_IN_TEMPLATE]


def test_the_claims_of_a_stateful_set_are_warned_of(api: Api) -> None:
    path = f"{APPS}/statefulsets"
    claims = [{"metadata": {"name": "c"}, "spec": claim("100m")}]
    spec = workload() | {"serviceName": "s", "volumeClaimTemplates": claims}
    del spec["template"]["spec"]["containers"][0]["resources"]
    new = api.call("POST", path, {"metadata": {"name": "a"}, "spec": spec})
    changed = api.call("PATCH", f"{path}/a", {"spec": {"replicas": 0}}, MERGE_PATCH)

    place = "spec.volumeClaimTemplates[0]"
    assert texts(new) == [f"{place}.resources.requests[storage]: {FRACTION}"]
    assert texts(changed) == [f"{place}.Spec.resources.requests[storage]: {FRACTION}"]


def test_jobs_with_too_many_indexes_are_warned_of(shared: Api) -> None:
    pods = {"spec": {"containers": [{"name": "c", "image": "i"}], "restartPolicy": "Never"}}
    job = {"template": pods, "completionMode": "Indexed", "parallelism": 20_000}
    warnings = created(shared, f"{BATCH}/jobs", spec=job | {"completions": 200_000})
    fewer = created(shared, f"{BATCH}/jobs", spec=job | {"completions": 100_000})
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job | {"completions": 200_000}}}
    in_template = created(shared, f"{BATCH}/cronjobs", spec=cron)

    assert fewer == []
    assert [text.split(":")[0] for text in warnings + in_template] == [
        "spec",
        "spec.jobTemplate.spec",
    ]


def test_annotations_of_pods_that_are_fields_now_are_warned_of() -> None:
    names = (
        "scheduler.alpha.kubernetes.io/critical-pod",
        "seccomp.security.alpha.kubernetes.io/pod",
        "container.seccomp.security.alpha.kubernetes.io/c",
        "container.apparmor.security.beta.kubernetes.io/c",
    )
    pod = {
        "metadata": {"annotations": dict.fromkeys(names, "x")},
        "spec": {"containers": [{"name": "c"}]},
    }
    what = (
        'non-functional in v1.16+; use the "priorityClassName" field instead',
        'non-functional in v1.27+; use the "seccompProfile" field instead',
        'non-functional in v1.27+; use the "seccompProfile" field instead',
        'deprecated since v1.30; use the "appArmorProfile" field instead',
    )
    assert pod_warnings(pod, "t.") == [
        f"t.metadata.annotations[{name}]: {text}" for name, text in zip(names, what, strict=True)
    ]
    pod["spec"]["securityContext"] = {"seccompProfile": {}, "appArmorProfile": {}}
    assert len(pod_warnings(pod)) == 2  # the first, and that of the container


def test_old_labels_of_nodes_and_values_that_are_no_labels_are_warned_of() -> None:
    key = "beta.kubernetes.io/os"
    duringly = "DuringSchedulingIgnoredDuringExecution"
    preference = {"matchExpressions": [{"key": "k", "operator": "In", "values": ["a b"]}]}
    spec = {
        "containers": [],
        "affinity": {
            "nodeAffinity": {
                f"required{duringly}": {"nodeSelectorTerms": [on_os()]},
                f"preferred{duringly}": [{"weight": 1, "preference": preference}],
            }
        },
        "topologySpreadConstraints": [{"topologyKey": key, "labelSelector": {}}],
    }
    path = "spec.affinity.nodeAffinity"
    required, preferred, spread = pod_warnings({"spec": spec})

    assert required == (
        f"{path}.required{duringly}.nodeSelectorTerms[0].matchExpressions[0].key: {key} is {OLD_OS}"
    )
    assert preferred.startswith(
        f"{path}.preferred{duringly}[0].preference.matchExpressions[0].values[0]: a b is invalid, "
    )
    assert spread == f"spec.topologySpreadConstraints[0].topologyKey: {key} is {OLD_OS}"


def test_ports_of_all_containers_that_contradict_each_other_are_warned_of() -> None:
    def port(**fields: Any) -> Object:
        return {"containerPort": 80, "protocol": "TCP", **fields}

    ports = [port(hostPort=1), port(hostPort=1, hostIP="1.2.3.4"), port(hostIP="1.2.3.4")]
    spec = {
        "initContainers": [{"name": "i", "ports": [port()]}],
        "containers": [{"name": "c", "ports": ports}],
    }
    first, second, third = (f"spec.containers[0].ports[{index}]" for index in range(3))
    init = "spec.initContainers[0].ports[0]"
    assert pod_warnings({"spec": spec}) == [
        f"{first}: overlapping port definition with {init}",
        f"{second}: overlapping port definition with {init}",
        f"{second}: dangerously ambiguous port definition with {first}",
        f"{third}: hostIP set without hostPort: "
        "{Name: HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}",
        f"{third}: overlapping port definition with {init}",
        f"{third}: overlapping port definition with {first}",
        f"{third}: overlapping port definition with {second}",
    ]


def test_odd_addresses_of_pods_are_warned_of(api: Api) -> None:
    spec = {
        "containers": [{"name": "c", "image": "i"}],
        "dnsConfig": {"nameservers": [LONG]},
        "hostAliases": [{"ip": LONG, "hostnames": ["h"]}],
    }
    pod = api.call("POST", f"{DEFAULT}/pods", {"metadata": {"name": "a"}, "spec": spec})
    status = {"podIPs": [{"ip": LONG}], "podIP": LONG}
    path = f"{DEFAULT}/pods/a"
    running = api.call("PATCH", f"{path}/status", {"status": status}, MERGE_PATCH)

    assert pod_warnings({"spec": {"overhead": {"memory": "100m"}}}) == [
        f"spec.overhead[memory]: {FRACTION}"
    ]
    assert texts(pod) == [
        f"spec.dnsConfig.nameservers[0]: {FORM}",
        f"spec.hostAliases[0].ip: {FORM}",
    ]
    assert texts(running) == [f"status.podIPs[0].ip: {FORM}"]
    assert texts(api.call("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)) == []


def test_only_a_new_annotation_of_a_service_account_is_warned_of(api: Api) -> None:
    path = f"{DEFAULT}/serviceaccounts"
    annotations = {"kubernetes.io/enforce-mountable-secrets": "true"}
    api.create(path, {"metadata": {"name": "a"}})
    added = api.call("PATCH", f"{path}/a", {"metadata": {"annotations": annotations}}, MERGE_PATCH)
    kept = api.call("PATCH", f"{path}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE_PATCH)

    assert (len(texts(added)), texts(kept)) == (1, [])


def test_the_address_of_a_load_balancer_is_warned_of_in_the_status_only(api: Api) -> None:
    path = f"{DEFAULT}/services"
    spec = SERVICE | {"type": "LoadBalancer", "loadBalancerIP": LONG}
    api.create(path, {"metadata": {"name": "a"}, "spec": spec})
    status = {"loadBalancer": {"ingress": [{"ip": LONG}]}}
    written = api.call("PATCH", f"{path}/a/status", {"status": status}, MERGE_PATCH)

    assert texts(written) == [f"status.loadBalancer.ingress[0]: {FORM}"]


def test_an_applied_object_is_warned_of(api: Api) -> None:
    config = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a",
        "annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}}  # fmt: skip
    path = f"{DEFAULT}/serviceaccounts/a"
    assert len(texts(api.call("PATCH", path, config, APPLY_PATCH, fieldManager="m"))) == 1


def test_a_negative_time_to_end_is_warned_of() -> None:
    spec = {"containers": [], "terminationGracePeriodSeconds": -1}
    assert pod_warnings({"spec": spec}) == [
        "spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be "
        "treated as 1"
    ]
    assert pod_warnings({"spec": spec | {"terminationGracePeriodSeconds": 0}}) == []


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ([], []),
        (["a", "", "b", "a"], ["a", "b"]),
        ([f"{n:02}" for n in range(99)] * 2, [f"{n:02}" for n in range(99)]),
        (["x" * 4096], ["x" * 4096]),
        (["x" * 4097], ["x" * 256]),
        (["x" * 4096, "y"], ["x" * 256, "y"]),
        (["x" * 4000, "y" * 300, "z" * 300], ["x" * 256, "y" * 256, "z" * 256]),
        (
            [f"{n:02}{'x' * 300}" for n in range(50)],
            [f"{n:02}{'x' * 254}" for n in range(16)],
        ),
        (
            [f"{n:04}" for n in range(1024)] + ["one more", "none"],
            [f"{n:04}" for n in range(1024)] + ["one more"],
        ),
    ],
)
def test_warnings_are_cut_as_a_real_server_cuts_them(given, sent):
    """Upstream: apiserver `filters.WithWarningRecorder`."""
    assert warning_headers(given) == tuple(("warning", f'299 - "{text}"') for text in sent)
