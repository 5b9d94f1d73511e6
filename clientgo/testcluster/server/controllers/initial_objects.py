"""The objects that every cluster has from the start, and where the API server itself is found.

Promises: what is missing is created before the first request is answered; what a client has
changed stays. The objects are written as they are here: they need no validation and no defaults.
The endpoints of the Service ``default/kubernetes`` follow the address of the server.

Upstream: the post-start hooks of kube-apiserver, ``pkg/controlplane/controller``.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address

from clientgo.testcluster.server.admission.plugins.services import ADDRESSES
from clientgo.testcluster.server.objects.writer import ObjectWriter
from clientgo.testcluster.server.storage.storage import Object

_SERVICE_ADDRESS = str(ADDRESSES[1])
"""The first address of the range, which the Service ``default/kubernetes`` has."""

INITIAL_NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")

_PRIORITIES = {
    "system-cluster-critical": (
        2_000_000_000,
        "For system pods that the cluster can't do without.",
    ),
    "system-node-critical": (2_000_001_000, "For system pods that must stay on their node."),
}
_HTTPS = {"name": "https", "port": 443, "protocol": "TCP"}


def create_initial(writer: ObjectWriter, address: str, port: int, *, accounts: bool) -> None:
    """Create what is missing; ``address`` and ``port`` are where the server listens.

    Without ``accounts`` there is no ConfigMap, so that a test finds its own only.
    """
    for api_version, plural, obj in (*_namespaces(), *_priorities(), _service_range()):
        writer.put_own(api_version, plural, obj, keep=True)
    if accounts:
        writer.put_own(*_authentication(), keep=True)
    writer.put_own("v1", "services", _service(port), keep=True)
    for api_version, plural, obj in _endpoints(address, port):
        writer.put_own(api_version, plural, obj)


def _namespaces() -> Iterator[tuple[str, str, Object]]:
    for name in INITIAL_NAMESPACES:
        metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        body = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        yield "v1", "namespaces", {"metadata": metadata, **body}


def _priorities() -> Iterator[tuple[str, str, Object]]:
    for name, (value, description) in _PRIORITIES.items():
        metadata = {"name": name, "generation": 1}
        body = {
            "value": value,
            "description": description,
            "preemptionPolicy": "PreemptLowerPriority",
        }
        yield "scheduling.k8s.io/v1", "priorityclasses", {"metadata": metadata, **body}


def _authentication() -> tuple[str, str, Object]:
    """Return what aggregated API servers read: no authority of clients or of proxies is set."""
    name = "extension-apiserver-authentication"
    return "v1", "configmaps", {"metadata": {"name": name, "namespace": "kube-system"}}


def _service_range() -> tuple[str, str, Object]:
    body = {"spec": {"cidrs": [str(ADDRESSES)]}, "status": {}}
    return "networking.k8s.io/v1", "servicecidrs", {"metadata": {"name": "kubernetes"}, **body}


def _service(port: int) -> Object:
    labels = {"component": "apiserver", "provider": "kubernetes"}
    spec = {
        "clusterIP": _SERVICE_ADDRESS,
        "clusterIPs": [_SERVICE_ADDRESS],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [{**_HTTPS, "targetPort": port}],
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    return {"metadata": _named(labels), "spec": spec, "status": {"loadBalancer": {}}}


def _endpoints(address: str, port: int) -> Iterator[tuple[str, str, Object]]:
    """Yield the endpoints in both forms; they change with the address."""
    ports = [{**_HTTPS, "port": port}]
    labels = {"endpointslice.kubernetes.io/skip-mirror": "true"}
    subsets = [{"addresses": [{"ip": address}], "ports": ports}]
    yield "v1", "endpoints", {"metadata": _named(labels), "subsets": subsets}
    body = {
        "addressType": f"IPv{ip_address(address).version}",
        "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
        "ports": ports,
    }
    metadata = {**_named({"kubernetes.io/service-name": "kubernetes"}), "generation": 1}
    yield "discovery.k8s.io/v1", "endpointslices", {"metadata": metadata, **body}


def _named(labels: dict[str, str]) -> Object:
    return {"name": "kubernetes", "namespace": "default", "labels": labels}
