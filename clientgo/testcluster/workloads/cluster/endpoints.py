"""Endpoints: the addresses of the pods that a Service selects, in the form before EndpointSlices.

Differs from upstream (``pkg/controller/endpoint``), which deletes the Endpoints of a Service that
is gone: here the Service owns them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from clientgo.api.core_v1 import (
    EndpointAddress,
    EndpointPort,
    Endpoints,
    EndpointSubset,
    Pod,
    Service,
)
from clientgo.meta import ObjectMeta, to_plain
from clientgo.operator import Context, controller, watch
from clientgo.testcluster.workloads.cluster.endpoint_slices import (
    AddressChanged,
    addressed_pods,
    hostname_of,
    ports_of,
    reference_to,
    selecting_services,
)
from clientgo.testcluster.workloads.conditions import is_true
from clientgo.testcluster.workloads.controllers.owner import MODERATE, Owner, Plan

_MANAGED: Final = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
_HEADLESS: Final = {"service.kubernetes.io/headless": ""}

_MOST: Final = 1000
"""Addresses of one Service, as upstream."""
_TRUNCATED: Final = {"endpoints.kubernetes.io/over-capacity": "truncated"}


@controller(
    Service,
    owns=[Endpoints],
    sources=[watch(Pod, mapper=selecting_services, predicate=AddressChanged())],
    name="endpoints",
    rate_limit=MODERATE,
)
class EndpointsOfServices(Owner[Service]):
    """The Endpoints of the Services that have a selector."""

    owned = Endpoints

    def plan(self, ctx: Context[Service], obj: Service, owned: list[Endpoints]) -> Plan:
        if not obj.spec.selector:
            return Plan()
        wanted = _endpoints(obj, addressed_pods(ctx, obj))
        known = ctx.client.find(Endpoints, obj.metadata.name, obj.metadata.namespace)
        if known is None:
            return Plan(create=[wanted])
        new, old = to_plain(wanted), to_plain(known)
        patch = {} if new.get("subsets") == old.get("subsets") else {"subsets": new.get("subsets")}
        labels = dict.fromkeys(known.metadata.labels) | wanted.metadata.labels
        if wanted.metadata.labels != known.metadata.labels:
            patch["metadata"] = {"labels": labels}
        return Plan(changes=[(known, patch)] if patch else ())


def _endpoints(service: Service, pods: list[Pod]) -> Endpoints:
    metadata = service.metadata
    is_headless = service.spec.cluster_ip in (None, "", "None")
    return Endpoints(
        metadata=ObjectMeta(
            name=metadata.name,
            namespace=metadata.namespace,
            labels={**metadata.labels, **_MANAGED, **(_HEADLESS if is_headless else {})},
            annotations=_TRUNCATED if len(pods) > _MOST else {},
        ),
        subsets=_subsets(service, pods[:_MOST]) or None,
    )


def _subsets(service: Service, pods: Iterable[Pod]) -> list[EndpointSubset]:
    """Return the addresses by their ports, which differ if a name has other numbers in pods."""
    by_ports: defaultdict[str, list[Pod]] = defaultdict(list)
    shows_all = bool(service.spec.publish_not_ready_addresses)
    for pod in pods:
        if shows_all or not pod.metadata.deletion_timestamp:
            by_ports[str(ports_of(service, [pod]))].append(pod)
    subsets = []
    for _, group in sorted(by_ports.items()):
        group.sort(key=lambda pod: str(pod.status.pod_ip))
        ready = [shows_all or is_true(pod.status.conditions, "Ready") for pod in group]
        addresses = [_address(service, pod) for pod in group]
        subsets.append(
            EndpointSubset(
                addresses=_where(addresses, ready, True),
                not_ready_addresses=_where(addresses, ready, False),
                ports=_ports(service, group[0]),
            )
        )
    return subsets


def _where(
    addresses: list[EndpointAddress], ready: list[bool], wanted: bool
) -> list[EndpointAddress] | None:
    pairs = zip(addresses, ready, strict=True)
    return [address for address, is_ready in pairs if is_ready is wanted] or None


def _address(service: Service, pod: Pod) -> EndpointAddress:
    return EndpointAddress(
        ip=pod.status.pod_ip or "",
        hostname=hostname_of(service, pod) or None,
        node_name=pod.spec.node_name,
        target_ref=reference_to(pod),
    )


def _ports(service: Service, pod: Pod) -> list[EndpointPort] | None:
    return [
        EndpointPort(
            name=port.name or None,
            port=port.port or 0,
            protocol=port.protocol,
            app_protocol=port.app_protocol,
        )
        for port in ports_of(service, [pod])
    ] or None
