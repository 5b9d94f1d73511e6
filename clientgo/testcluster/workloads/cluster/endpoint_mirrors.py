"""EndpointSlices for Endpoints that users write themselves, for Services without a selector.

Upstream: ``pkg/controller/endpointslicemirroring``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Iterator
from typing import Any, Final

from clientgo.api.core_v1 import EndpointAddress, Endpoints, EndpointSubset, Service
from clientgo.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.operator import Context, controller, watch
from clientgo.operator.mappers import MapContext
from clientgo.testcluster.workloads.cluster.endpoint_slices import SERVICE, plan_slices
from clientgo.testcluster.workloads.controllers.owner import MODERATE, Owner, Plan
from clientgo.testcluster.workloads.randomness import digest

_LABELS: Final = {
    "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io"
}
_SKIP: Final = "endpointslice.kubernetes.io/skip-mirror"
_LEADER: Final = "control-plane.alpha.kubernetes.io/leader"


def _of_same_name(_context: MapContext, service: Any) -> Iterable[ObjectName]:
    return [ObjectName.of(service)]


@controller(
    Endpoints,
    owns=[EndpointSlice],
    sources=[watch(Service, mapper=_of_same_name)],
    name="endpointmirrors",
    default_filter=False,
    rate_limit=MODERATE,
)
class EndpointMirrors(Owner[Endpoints]):
    """Writes the addresses of such Endpoints into slices, one for each subset and IP family."""

    owned = EndpointSlice

    def plan(self, ctx: Context[Endpoints], obj: Endpoints, owned: list[EndpointSlice]) -> Plan:
        metadata = obj.metadata
        service = ctx.client.find(Service, metadata.name, metadata.namespace)
        is_mirrored = (
            service is not None
            and not service.spec.selector
            and metadata.labels.get(_SKIP) != "true"
            and _LEADER not in metadata.annotations
        )
        return plan_slices(_slices(obj) if is_mirrored else (), owned)


def _slices(obj: Endpoints) -> Iterator[EndpointSlice]:
    metadata = obj.metadata
    for number, subset in enumerate(obj.subsets or ()):
        for family in ("IPv4", "IPv6"):
            endpoints = [
                _endpoint(address, ready=ready)
                for ready, addresses in (
                    (True, subset.addresses),
                    (False, subset.not_ready_addresses),
                )
                for address in addresses or ()
                if f"IPv{ipaddress.ip_address(address.ip).version}" == family
            ]
            if endpoints:
                name = digest(f"{metadata.uid}/{number}/{family}", 5)
                yield EndpointSlice(
                    metadata=ObjectMeta(
                        name=f"{metadata.name}-{name}",
                        namespace=metadata.namespace,
                        labels={**metadata.labels, **_LABELS, SERVICE: metadata.name},
                    ),
                    address_type=family,
                    endpoints=endpoints,
                    ports=_ports(subset),
                )


def _endpoint(address: EndpointAddress, *, ready: bool) -> Endpoint:
    return Endpoint(
        addresses=[address.ip],
        conditions=EndpointConditions(ready=ready),
        hostname=address.hostname,
        node_name=address.node_name,
        target_ref=address.target_ref,
    )


def _ports(subset: EndpointSubset) -> list[EndpointPort]:
    return [
        EndpointPort(
            name=port.name or "",
            port=port.port,
            protocol=port.protocol or "TCP",
            app_protocol=port.app_protocol,
        )
        for port in subset.ports or ()
    ]
