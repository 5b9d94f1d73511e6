"""EndpointSlices: the addresses of the pods that a Service selects, a hundred in a slice.

Upstream: ``pkg/controller/endpointslice``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from clientgo.api.core_v1 import ObjectReference, Pod, Service
from clientgo.api.discovery_v1 import Endpoint, EndpointConditions, EndpointPort, EndpointSlice
from clientgo.meta import ObjectMeta, ObjectName, to_plain
from clientgo.operator import Context, controller, watch
from clientgo.operator.change_events import ChangeEvent, UpdateEvent
from clientgo.operator.mappers import MapContext
from clientgo.operator.predicates import Predicate
from clientgo.testcluster.workloads.conditions import is_true
from clientgo.testcluster.workloads.controllers.owner import MODERATE, Owner, Plan
from clientgo.testcluster.workloads.controllers.pod_facts import FINISHED
from clientgo.testcluster.workloads.randomness import digest

SERVICE: Final = "kubernetes.io/service-name"
_LARGEST: Final = 100
_LABELS: Final = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}


def selecting_services(context: MapContext, pod: Any) -> Iterable[ObjectName]:
    """Map a pod to the Services that select it."""
    services = context.client.list(Service, namespace=pod.metadata.namespace)
    return [ObjectName.of(each) for each in services if _selects(each, pod)]


def _selects(service: Service, pod: Pod) -> bool:
    selector = service.spec.selector or {}
    return bool(selector) and selector.items() <= pod.metadata.labels.items()


def addressed_pods(ctx: Context[Any], service: Service) -> list[Pod]:
    """Return the pods with an address that a Service selects; they are shared."""
    return [
        pod
        for pod in ctx.client.list(Pod, namespace=service.metadata.namespace)
        if _selects(service, pod) and pod.status.pod_ip and pod.status.phase not in FINISHED
    ]


def reference_to(pod: Pod) -> ObjectReference:
    """Return what an address says of its pod."""
    metadata = pod.metadata
    return ObjectReference(
        kind="Pod", namespace=metadata.namespace, name=metadata.name, uid=metadata.uid
    )


def hostname_of(service: Service, pod: Pod) -> str | None:
    """Return the name under which a Service knows a pod, if it has one."""
    return pod.spec.hostname if pod.spec.subdomain == service.metadata.name else None


class AddressChanged(Predicate):
    """Changes of a pod that its Services show."""

    def passes(self, event: ChangeEvent) -> bool:
        if not isinstance(event, UpdateEvent):
            return bool(event.obj.status.pod_ip)
        return _shown(event.old) != _shown(event.new)


def _shown(pod: Pod) -> tuple[Any, ...]:
    ready = is_true(pod.status.conditions, "Ready")
    metadata = pod.metadata
    return metadata.labels, pod.status.pod_ip, ready, pod.status.phase, metadata.deletion_timestamp


@controller(
    Service,
    owns=[EndpointSlice],
    sources=[watch(Pod, mapper=selecting_services, predicate=AddressChanged())],
    name="endpointslices",
    rate_limit=MODERATE,
)
class EndpointSlices(Owner[Service]):
    """Slices of the Services that have a selector."""

    owned = EndpointSlice

    def plan(self, ctx: Context[Service], obj: Service, owned: list[EndpointSlice]) -> Plan:
        if not obj.spec.selector:
            return Plan()
        pods = addressed_pods(ctx, obj)
        chunks = [
            group[start : start + _LARGEST]
            for group in _by_ports(obj, pods)
            for start in range(0, len(group), _LARGEST)
        ]
        return plan_slices(_slices(obj, chunks or [[]]), owned)


def _by_ports(service: Service, pods: list[Pod]) -> list[list[Pod]]:
    """Return the pods whose ports have the same numbers together, as a slice has one number."""
    groups: dict[tuple[tuple[str, int], ...], list[Pod]] = {}
    for pod in pods:
        numbers = tuple((port.name or "", port.port or 0) for port in ports_of(service, [pod]))
        groups.setdefault(numbers, []).append(pod)
    return [groups[numbers] for numbers in sorted(groups)]


def plan_slices(slices: Iterable[EndpointSlice], owned: Iterable[EndpointSlice]) -> Plan:
    """Return what makes these slices of those that there are."""
    wanted = {each.metadata.name: each for each in slices}
    known = {each.metadata.name: each for each in owned}
    plan = Plan(create=[each for name, each in wanted.items() if name not in known])
    plan.delete = [each for name, each in known.items() if name not in wanted]
    changes = []
    for name in wanted.keys() & known.keys():
        new = {part: to_plain(wanted[name]).get(part) for part in ("endpoints", "ports")}
        old = to_plain(known[name])
        patch = {part: value for part, value in new.items() if (old.get(part) or []) != value}
        if patch:
            changes.append((known[name], patch))
    plan.changes = changes
    return plan


def _slices(service: Service, chunks: list[list[Pod]]) -> list[EndpointSlice]:
    name = service.metadata.name
    return [
        EndpointSlice(
            metadata=ObjectMeta(
                name=f"{name}-{digest(f'{service.metadata.uid}/{number}', 5)}",
                namespace=service.metadata.namespace,
                labels={**service.metadata.labels, **_LABELS, SERVICE: name},
            ),
            address_type="IPv4",
            endpoints=[_endpoint(service, pod) for pod in pods],
            ports=ports_of(service, pods),
        )
        for number, pods in enumerate(chunks)
    ]


def _endpoint(service: Service, pod: Pod) -> Endpoint:
    terminating = bool(pod.metadata.deletion_timestamp)
    serving = is_true(pod.status.conditions, "Ready")
    ready = (serving and not terminating) or bool(service.spec.publish_not_ready_addresses)
    return Endpoint(
        addresses=[pod.status.pod_ip or ""],
        conditions=EndpointConditions(ready=ready, serving=serving, terminating=terminating),
        hostname=hostname_of(service, pod) or None,
        node_name=pod.spec.node_name,
        target_ref=reference_to(pod),
    )


def ports_of(service: Service, pods: list[Pod]) -> list[EndpointPort]:
    """Return the ports of a Service; a port that is named has the number in the first pod."""
    named = {
        port.name: port.container_port
        for pod in pods[:1]
        for container in pod.spec.containers
        for port in container.ports or ()
        if port.name
    }
    found = []
    for port in service.spec.ports or ():
        target = port.target_port if port.target_port is not None else port.port
        number = named.get(target) if isinstance(target, str) else target
        if number is not None:
            found.append(
                EndpointPort(
                    name=port.name or "",
                    port=number,
                    protocol=port.protocol or "TCP",
                    app_protocol=port.app_protocol,
                )
            )
    return found
