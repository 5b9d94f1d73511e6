"""Which nodes a pod fits on, and why it does not fit on others.

Knows node names, selectors, required node affinity, taints, host ports, and requests of resources.
Does not know affinity between pods, spread constraints or preferences.

Upstream: ``pkg/scheduler/framework/plugins``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final

from clientgo.api.core_v1 import Node, NodeSelectorRequirement, NodeSelectorTerm, Pod, Taint
from clientgo.api.core_v1 import Toleration as Toleration
from clientgo.testcluster.workloads.conditions import find_condition
from clientgo.util.text.quantities import parse_quantity

UNSCHEDULABLE: Final = Taint(key="node.kubernetes.io/unschedulable", effect="NoSchedule")
NOT_READY: Final = Taint(key="node.kubernetes.io/not-ready", effect="NoSchedule")

_OWN_POD: Final = "pods"


def taints_of(node: Node) -> list[Taint]:
    """Return the taints of a node, with those that its state makes."""
    taints = list(node.spec.taints or ())
    if node.spec.unschedulable and not any(each.key == UNSCHEDULABLE.key for each in taints):
        taints.append(UNSCHEDULABLE)
    ready = find_condition(node.status.conditions, "Ready")
    if ready is None or ready.status != "True":
        taints.append(NOT_READY)
    return taints


def tolerates(tolerations: Iterable[Toleration] | None, taint: Taint) -> bool:
    """Return True if one of the tolerations is for a taint."""
    return any(
        (not each.effect or each.effect == taint.effect)
        and (not each.key or each.key == taint.key)
        and (each.operator == "Exists" or (each.value or "") == (taint.value or ""))
        for each in tolerations or ()
    )


def untolerated(pod: Pod, node: Node, *effects: str) -> Taint | None:
    """Return a taint of one of the effects that a pod does not tolerate, or None."""
    for taint in taints_of(node):
        if taint.effect in effects and not tolerates(pod.spec.tolerations, taint):
            return taint
    return None


def selects(pod: Pod, node: Node) -> bool:
    """Return True if the node selector and the required affinity of a pod allow a node."""
    labels = node.metadata.labels
    if any(labels.get(key) != value for key, value in (pod.spec.node_selector or {}).items()):
        return False
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    return not required or any(_term_matches(term, node) for term in required.node_selector_terms)


def _term_matches(term: NodeSelectorTerm, node: Node) -> bool:
    fields = {"metadata.name": node.metadata.name}
    return bool(term.match_expressions or term.match_fields) and all(
        _requirement_met(each, values)
        for part, values in (
            (term.match_expressions, node.metadata.labels),
            (term.match_fields, fields),
        )
        for each in part or ()
    )


def _requirement_met(requirement: NodeSelectorRequirement, values: Mapping[str, str]) -> bool:
    value, wanted = values.get(requirement.key), requirement.values or []
    match requirement.operator:
        case "In":
            return value in wanted
        case "NotIn":
            return value not in wanted
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
    try:
        number, bound = int(value or ""), int(wanted[0])
    except (ValueError, IndexError):
        return False
    return number > bound if requirement.operator == "Gt" else number < bound


def requests_of(pod: Pod) -> dict[str, Decimal]:
    """Return what a pod asks of its node; init containers run before the others."""
    total: dict[str, Decimal] = {_OWN_POD: Decimal(1)}
    for container in pod.spec.containers:
        for name, amount in (container.resources.requests or {}).items():
            total[name] = total.get(name, Decimal(0)) + parse_quantity(str(amount))
    for container in pod.spec.init_containers or ():
        for name, amount in (container.resources.requests or {}).items():
            total[name] = max(total.get(name, Decimal(0)), parse_quantity(str(amount)))
    return total


HostPort = tuple[str, str, int]
"""The address, protocol and number of a port of a node."""

_EVERY_ADDRESS: Final = "0.0.0.0"


def host_ports_of(pod: Pod) -> list[HostPort]:
    """Return the ports of its node that a pod takes."""
    sidecars = [each for each in pod.spec.init_containers or () if each.restart_policy == "Always"]
    return [
        (port.host_ip or _EVERY_ADDRESS, port.protocol or "TCP", port.host_port)
        for container in [*pod.spec.containers, *sidecars]
        for port in container.ports or ()
        if port.host_port
    ]


def _collide(one: HostPort, other: HostPort) -> bool:
    addresses = {one[0], other[0]}
    return one[1:] == other[1:] and (len(addresses) == 1 or _EVERY_ADDRESS in addresses)


@dataclass
class Room:
    """What is left of a node; not thread-safe."""

    node: Node
    free: dict[str, Decimal] = field(default_factory=dict)
    pods: int = 0
    ports: list[HostPort] = field(default_factory=list)
    """The ports that pods have taken."""

    def __post_init__(self) -> None:
        allocatable = self.node.status.allocatable or {}
        self.free = {name: parse_quantity(str(amount)) for name, amount in allocatable.items()}

    def take(self, pod: Pod, requests: Mapping[str, Decimal]) -> None:
        """Note a pod that is on the node."""
        self.pods += 1
        self.ports += host_ports_of(pod)
        for name, amount in requests.items():
            self.free[name] = self.free.get(name, Decimal(0)) - amount

    def objection(self, pod: Pod, requests: Mapping[str, Decimal]) -> str:
        """Return why a pod does not fit, in the words of the real scheduler; empty if it does."""
        taint = untolerated(pod, self.node, "NoSchedule", "NoExecute")
        if taint is not None and taint.key == UNSCHEDULABLE.key:
            return "node(s) were unschedulable"
        if taint is not None:
            return f"node(s) had untolerated taint(s) {{{taint.key}: {taint.value or ''}}}"
        if not selects(pod, self.node):
            return "node(s) didn't match Pod's node affinity/selector"
        wanted = host_ports_of(pod) if self.ports else ()
        if any(_collide(port, taken) for port in wanted for taken in self.ports):
            return "node(s) didn't have free ports for the requested pod ports"
        for name, amount in requests.items():
            if amount > self.free.get(name, Decimal(0)):
                return "Too many pods" if name == _OWN_POD else f"Insufficient {name}"
        return ""
