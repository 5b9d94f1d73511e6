"""Endpoints, autoscalers, certificates, and Jobs whose time to live is over."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from clientgo.api.apps_v1 import Deployment
from clientgo.api.autoscaling_v2 import HorizontalPodAutoscaler
from clientgo.api.certificates_v1 import CertificateSigningRequest
from clientgo.api.core_v1 import Endpoints, Service
from clientgo.client import Client
from clientgo.meta import to_plain
from clientgo.rest import Identity, StaticCredentials, load_config
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testcluster.workloads import Rule, simulate
from clientgo.testcluster.workloads.pods.stages import Ready
from clientgo.testing.operator import eventually
from tests.testcluster.server.http_api import Api
from tests.testcluster.workloads.objects import (
    daemon_set,
    deployment,
    made,
    replica_set,
    replication_controller,
    stateful_set,
)
from tests.testcluster.workloads.still_cluster import StillCluster

# -- Endpoints


def service(name: str = "web", **spec: Any) -> Service:
    ports = [{"port": 80, "targetPort": "http"}]
    plain = {
        "metadata": {"name": name, "namespace": "default", "labels": {"of": name}},
        "spec": {"selector": {"app": "web"}, "ports": ports, **spec},
    }
    return made(Service, plain)  # type: ignore[no-any-return]


def serving(name: str = "web", port: int = 8080, **spec: Any) -> Deployment:
    """A Deployment whose pods name their port."""
    container = {
        "name": "app",
        "image": "app:1",
        "ports": [{"name": "http", "containerPort": port}],
    }
    template = {
        "metadata": {"labels": {"app": "web", "d": name}},
        "spec": {"containers": [container]},
    }
    selector = {"matchLabels": {"d": name}}
    return deployment(name, template=template, selector=selector, **spec)


def subsets(cluster: StillCluster, name: str = "web") -> list[dict[str, Any]]:
    plain: dict[str, Any] = to_plain(cluster.get(Endpoints, name))
    return plain.get("subsets", [])


def test_endpoints_have_the_addresses_by_their_ports(cluster: StillCluster) -> None:
    cluster.create(service(), serving(replicas=2), serving("other", 9090, replicas=1))
    assert subsets(cluster) == []

    cluster.step(1)

    found = {
        subset["ports"][0]["port"]: sorted(each["ip"] for each in subset["addresses"])
        for subset in subsets(cluster)
    }
    pods = {pod.metadata.labels["d"]: pod for pod in cluster.pods(app="web")}
    assert sorted(map(len, found.values())) == [1, 2]
    assert found[9090] == [pods["other"].status.pod_ip]
    address = next(each for each in subsets(cluster) if each["ports"][0]["port"] == 9090)
    assert address["addresses"][0]["targetRef"]["name"] == pods["other"].metadata.name
    assert address["ports"] == [{"port": 9090, "protocol": "TCP"}]
    labels = cluster.get(Endpoints, "web").metadata.labels
    assert labels == {"of": "web", "endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert cluster.settle() == 0


def test_pods_that_are_not_ready_are_shown_apart(
    new_cluster: Callable[..., StillCluster],
) -> None:
    cluster = new_cluster(Rule(ready=Ready(never=True)))
    cluster.create(service(), service("all", publishNotReadyAddresses=True), serving(replicas=1))
    cluster.step(1)
    [pod] = cluster.pods(app="web")

    [subset] = subsets(cluster)

    assert [each["ip"] for each in subset["notReadyAddresses"]] == [pod.status.pod_ip]
    assert "addresses" not in subset
    [shown] = subsets(cluster, "all")
    assert [each["ip"] for each in shown["addresses"]] == [pod.status.pod_ip]


def test_endpoints_follow_their_service(cluster: StillCluster) -> None:
    cluster.create(service(), serving(replicas=1), service("alone", selector=None))
    cluster.step(1)
    assert cluster.get(Endpoints, "alone") is None

    cluster.patch(Service, "web", {"metadata": {"labels": {"of": None, "now": "x"}}})
    cluster.patch(Deployment, "web", {"spec": {"replicas": 0}})
    cluster.step(40)

    assert subsets(cluster) == []
    assert cluster.get(Endpoints, "web").metadata.labels == {
        "now": "x",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
    }
    cluster.delete(Service, "web")
    assert cluster.get(Endpoints, "web") is None


# -- autoscalers


def autoscaler(lowest: int = 2, highest: int = 4, **spec: Any) -> HorizontalPodAutoscaler:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    plain = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"scaleTargetRef": target, "minReplicas": lowest, "maxReplicas": highest, **spec},
    }
    return made(HorizontalPodAutoscaler, plain)  # type: ignore[no-any-return]


def conditions(cluster: StillCluster) -> dict[str, tuple[str, str]]:
    status = cluster.get(HorizontalPodAutoscaler, "web").status
    return {each.type: (each.status, each.reason) for each in status.conditions or ()}


def test_an_autoscaler_without_metrics_says_so(cluster: StillCluster) -> None:
    cluster.create(deployment(replicas=3), autoscaler())

    assert conditions(cluster) == {
        "AbleToScale": ("True", "SucceededGetScale"),
        "ScalingActive": ("False", "FailedGetResourceMetric"),
    }
    status = cluster.get(HorizontalPodAutoscaler, "web").status
    assert (status.current_replicas, status.desired_replicas) == (3, 3)
    assert status.conditions[1].message == (
        "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to "
        "get metrics for resource cpu: unable to fetch metrics from resource metrics API: the "
        "server could not find the requested resource (get pods.metrics.k8s.io)"
    )
    cluster.step(60)
    assert cluster.settle() == 0


@pytest.mark.parametrize(("replicas", "scaled"), [(1, 2), (9, 4)])
def test_a_target_is_brought_into_its_limits(
    cluster: StillCluster, replicas: int, scaled: int
) -> None:
    cluster.create(deployment(replicas=replicas), autoscaler())

    assert cluster.get(Deployment, "web").spec.replicas == scaled
    cluster.step(15)
    status = cluster.get(HorizontalPodAutoscaler, "web").status
    assert (status.current_replicas, status.desired_replicas) == (scaled, scaled)
    assert status.last_scale_time
    reasons = [event.reason for event in cluster.events if event.regarding.kind.startswith("Horiz")]
    assert reasons[0] == "SuccessfulRescale"


def test_a_target_that_is_missing_or_switched_off_is_not_scaled(cluster: StillCluster) -> None:
    cluster.create(autoscaler())
    assert conditions(cluster) == {"AbleToScale": ("False", "FailedGetScale")}

    cluster.create(deployment(replicas=0))
    cluster.step(15)

    assert conditions(cluster)["ScalingActive"] == ("False", "ScalingDisabled")
    assert cluster.get(Deployment, "web").spec.replicas == 0


# -- certificates

CLIENT = "kubernetes.io/kube-apiserver-client"
KUBELET = "kubernetes.io/kube-apiserver-client-kubelet"
SERVING = "kubernetes.io/kubelet-serving"
KEY = ec.generate_private_key(ec.SECP256R1())
SIGNING = ["digital signature", "key encipherment"]


def request(
    signer: str, usage: str, name: str = "alice", group: str = "", host: str = "", **spec: Any
) -> CertificateSigningRequest:
    parts = [x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]
    parts += [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, group)] if group else []
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(parts))
    if host:
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        builder = builder.add_extension(names, critical=False)
    pem = builder.sign(KEY, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    plain = {
        "metadata": {"name": "r"},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": signer,
            "usages": [*SIGNING, *filter(None, [usage])],
            **spec,
        },
    }
    return made(CertificateSigningRequest, plain)  # type: ignore[no-any-return]


def approve(cluster: StillCluster) -> CertificateSigningRequest:
    approved = {"type": "Approved", "status": "True", "reason": "R", "message": "m"}
    cluster.patch(
        CertificateSigningRequest,
        "r",
        {"status": {"conditions": [approved]}},
        subresource="approval",
    )
    return cluster.get(CertificateSigningRequest, "r")  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    "wanted",
    [
        request(CLIENT, "client auth"),
        request(KUBELET, "client auth", "system:node:n", "system:nodes"),
        request(SERVING, "server auth", "system:node:n", "system:nodes", "n.example.com"),
    ],
    ids=lambda item: item.spec.signer_name,
)
def test_an_approved_request_is_signed(
    cluster: StillCluster, wanted: CertificateSigningRequest
) -> None:
    cluster.create(wanted)
    assert cluster.get(CertificateSigningRequest, "r").status.certificate is None

    signed = approve(cluster).status.certificate

    assert signed is not None
    certificate = x509.load_pem_x509_certificate(signed)
    assert certificate.public_key() == KEY.public_key()
    assert certificate.subject == x509.load_pem_x509_csr(wanted.spec.request).subject
    lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lasts.total_seconds() <= 365 * 86400 + 300
    assert cluster.settle() == 0


@pytest.mark.parametrize(
    ("wanted", "problem"),
    [
        (request(CLIENT, "server auth"), "invalid usage for client certificate: server auth"),
        (request(CLIENT, ""),
         "missing required usage for client certificate: client auth"),
        (request(KUBELET, "client auth", "system:node:n"),
         "subject organization is not system:nodes"),
        (request(KUBELET, "client auth", "n", "system:nodes"),
         "subject common name does not begin with system:node: "),
        (request(KUBELET, "client auth", "system:node:n", "system:nodes", "n.example.com"),
         "DNS subjectAltNames are not allowed"),
        (request(SERVING, "server auth", "system:node:n", "system:nodes"),
         "DNS or IP subjectAltName is required"),
        (request(SERVING, "client auth", "system:node:n", "system:nodes", "n.example.com"),
         "usages did not match [digital signature key encipherment server auth]"),
    ],
)  # fmt: skip
def test_a_request_that_its_signer_does_not_take_fails(
    cluster: StillCluster, wanted: CertificateSigningRequest, problem: str
) -> None:
    cluster.create(wanted)

    status = approve(cluster).status

    assert status.certificate is None
    [failed] = [each for each in status.conditions or () if each.type == "Failed"]
    assert (failed.reason, failed.message) == ("SignerValidationFailure", problem)
    assert cluster.settle() == 0


def test_a_signer_of_somebody_else_signs_itself(cluster: StillCluster) -> None:
    cluster.create(request("example.com/signer", "client auth"))

    assert approve(cluster).status.certificate is None


def test_a_lifetime_is_at_least_ten_minutes(cluster: StillCluster) -> None:
    cluster.create(request(CLIENT, "client auth", expirationSeconds=600))

    signed = approve(cluster).status.certificate

    assert signed is not None
    certificate = x509.load_pem_x509_certificate(signed)
    lasts = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert lasts.total_seconds() == 600 + 300


# -- with a server, whose own writes wake nobody


def test_a_finished_job_goes_when_its_time_to_live_is_over() -> None:
    path = "/apis/batch/v1/namespaces/default/jobs"
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "image"}]}
    spec = {"ttlSecondsAfterFinished": 0, "template": {"spec": pod}}
    with EmbeddedAPIServer() as server, simulate(server):
        api = Api(server.url)
        api.create(path, {"metadata": {"name": "j"}, "spec": spec})

        eventually(lambda: api.call("GET", f"{path}/j").status == 404)
        eventually(lambda: not api.get("/api/v1/namespaces/default/pods")["items"])


@pytest.mark.parametrize(
    "owner",
    [deployment(), replica_set(), stateful_set(), daemon_set(), replication_controller()],
    ids=lambda owner: owner.kind,
)
def test_a_status_that_a_client_overwrites_is_written_again(owner: Any) -> None:
    root = "/api/v1" if owner.kind == "ReplicationController" else "/apis/apps/v1"
    collection = f"{root}/namespaces/default/{owner.kind.lower()}s"
    ready = "numberReady" if owner.kind == "DaemonSet" else "readyReplicas"
    with EmbeddedAPIServer() as server, simulate(server, nodes=1):
        api = Api(server.url)
        api.create(collection, owner.to_dict())
        path = f"{collection}/{owner.metadata.name}"
        eventually(lambda: api.get(path)["status"].get(ready) == 1)
        wrong = {ready: 0} if owner.kind == "DaemonSet" else {ready: 0, "availableReplicas": 0}
        api.patch(f"{path}/status", {"status": wrong})
        eventually(lambda: api.get(path)["status"].get(ready) == 1)


def test_a_port_of_a_pod_answers_with_its_name_through_the_proxy() -> None:
    path = "/api/v1/namespaces/default/pods"
    ports = [{"containerPort": 8080}]
    spec = {"containers": [{"name": "c", "image": "image", "ports": ports}]}
    with EmbeddedAPIServer() as server, simulate(server, nodes=1):
        api = Api(server.url)
        api.create(path, {"metadata": {"name": "web"}, "spec": spec})
        eventually(lambda: api.get(f"{path}/web")["spec"].get("nodeName"))

        assert api.call("GET", f"{path}/web/proxy/").body == "web"
        refused = api.call("GET", f"{path}/web:9/proxy/")
        assert refused.status == 503
        assert "connection refused" in refused.body["message"]


def test_a_signed_certificate_is_that_of_a_user_of_the_server() -> None:
    with EmbeddedAPIServer(secure=True, authorization="RBAC") as server, simulate(server):
        with Client(load_config(server.kubeconfig)) as client:
            requests = client.resource(CertificateSigningRequest)
            requests.create(request(CLIENT, "client auth", "alice", "system:masters"))
            approved = {"type": "Approved", "status": "True", "reason": "R", "message": "m"}
            requests.patch("r", {"status": {"conditions": [approved]}}, subresource="approval")
            eventually(lambda: requests.get("r").status.certificate is not None)
            certificate = requests.get("r").status.certificate

        key = KEY.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        alice = Identity(cert_data=certificate.decode(), key_data=key.decode())
        config = replace(load_config(server.kubeconfig), credentials=StaticCredentials(alice))
        with Client(config) as client:
            assert client.resource(Service).list().items
