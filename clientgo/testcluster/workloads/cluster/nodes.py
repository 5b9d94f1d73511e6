"""Nodes: they are ready, renew their leases, and keep only pods that may be there.

Upstream: the node part of ``pkg/kubelet``, ``pkg/controller/podgc`` and ``tainteviction``.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from clientgo.api.coordination_v1 import Lease, LeaseSpec
from clientgo.api.core_v1 import (
    Node,
    NodeAddress,
    NodeCondition,
    NodeStatus,
    NodeSystemInfo,
    Pod,
    Taint,
)
from clientgo.client import Client
from clientgo.meta import AlreadyExistsError, NotFoundError, ObjectMeta, ObjectName
from clientgo.meta.timestamps import format_micro_time, format_time
from clientgo.operator import Context, Result, controller
from clientgo.operator.client import ignore
from clientgo.testcluster.workloads.conditions import find_condition
from clientgo.testcluster.workloads.pods.placement import NOT_READY, UNSCHEDULABLE, untolerated

BY_NODE: Final = "node"
"""The name of the index of pods by node."""

RENEWAL: Final = 10.0
"""Seconds from one renewal of a lease to the next."""

_LEASE_SECONDS: Final = 40
_LEASES: Final = "kube-node-lease"
_CAPACITY: Final = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}
_NETWORK: Final = int(ipaddress.IPv4Address("172.18.0.1"))
_ADDRESSES: Final = 2**16 - 3
_VERSION: Final = "v1.36.0"

_TROUBLES: Final = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


def create_nodes(client: Client, count: int) -> None:
    """Create the nodes ``node-1`` and so on, those that do not exist."""
    for number in range(1, count + 1):
        name = f"node-{number}"
        labels = {
            "kubernetes.io/hostname": name,
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
        }
        with ignore(AlreadyExistsError):
            client.resource(Node).create(Node(metadata=ObjectMeta(name=name, labels=labels)))


def node_of(pod: Pod) -> Sequence[str]:
    """Return the value of the index :data:`BY_NODE`."""
    return (pod.spec.node_name,) if pod.spec.node_name else ()


@controller(Node, reads=[Pod], name="nodes")
class Nodes:
    """All nodes, those that users create too."""

    def __init__(self) -> None:
        self._renewed: dict[str, float] = {}
        """When a node's lease was renewed last, by the clock's ``monotonic()``."""

    def reconcile_key(self, ctx: Context[Node], key: ObjectName) -> Result | None:
        node: Node | None = ctx.obj
        pods = ctx.client.list(Pod, fields={BY_NODE: key.name})
        if node is None:
            self._renewed.pop(key.name, None)
            for pod in pods:
                ctx.client.delete(pod, grace=0)
            return None
        for pod in pods:
            if untolerated(pod, node, "NoExecute") and not pod.metadata.deletion_timestamp:
                ctx.events.normal("TaintManagerEviction", f"Deleting pod {ObjectName.of(pod)}")
                ctx.client.delete(pod)
        wait = self._renew(ctx, node)
        status, taints = node.status, _taints(node)
        if find_condition(status.conditions, "Ready") is None:
            status = _ready_status(node, ctx.clock.time())
        spec = replace(node.spec, taints=taints or None)
        changed = Node(metadata=node.metadata, spec=spec, status=status)
        return Result.both(changed, optimistic=False).after(wait)

    def _renew(self, ctx: Context[Node], node: Node) -> float:
        """Renew the lease if it is time; return the seconds to the next renewal."""
        name, now = node.metadata.name, ctx.clock.monotonic()
        left = self._renewed.get(name, now - RENEWAL) + RENEWAL - now
        if left > 0:
            return left
        time = format_micro_time(ctx.clock.time())
        lease = Lease(
            metadata=ObjectMeta(name=name, namespace=_LEASES),
            spec=LeaseSpec(
                holder_identity=name, lease_duration_seconds=_LEASE_SECONDS, renew_time=time
            ),
        )
        try:
            ctx.client.patch(lease, {"spec": {"renewTime": time}})
        except NotFoundError:
            ctx.client.create(ctx.own(lease, controller=False))
        self._renewed[name] = now
        return RENEWAL


def _taints(node: Node) -> list[Taint]:
    """Return the taints of a node that is ready; a cordoned one has a taint too."""
    ours = (NOT_READY.key, UNSCHEDULABLE.key)
    taints = [each for each in node.spec.taints or () if each.key not in ours]
    return [*taints, UNSCHEDULABLE] if node.spec.unschedulable else taints


def _address(name: str) -> str:
    """Return an address for a node: ``node-7`` has the seventh, others any."""
    number = name.rpartition("-")[2]
    offset = int(number) if number.isdecimal() else int.from_bytes(name.encode())
    return str(ipaddress.IPv4Address(_NETWORK + offset % _ADDRESSES))


def _ready_status(node: Node, now: float) -> NodeStatus:
    at, name = format_time(now), node.metadata.name
    conditions = [
        NodeCondition(
            type=kind,
            status="False",
            reason=reason,
            message="",
            last_heartbeat_time=at,
            last_transition_time=at,
        )
        for kind, reason in _TROUBLES.items()
    ]
    conditions.append(
        NodeCondition(
            type="Ready",
            status="True",
            reason="KubeletReady",
            message="the simulated kubelet is ready",
            last_heartbeat_time=at,
            last_transition_time=at,
        )
    )
    status = node.status
    capacity = {**_CAPACITY, **(status.capacity or {})}
    addresses = status.addresses or [NodeAddress(type="InternalIP", address=_address(name))]
    if not any(each.type == "Hostname" for each in addresses):
        addresses = [*addresses, NodeAddress(type="Hostname", address=name)]
    return replace(
        status,
        conditions=conditions,
        capacity=capacity,
        allocatable={**capacity, **(status.allocatable or {})},
        addresses=addresses,
        node_info=NodeSystemInfo(
            machine_id=name,
            system_uuid=name,
            boot_id=name,
            kernel_version="simulated",
            os_image="simulated",
            container_runtime_version="simulated://1.0",
            kubelet_version=_VERSION,
            kube_proxy_version=_VERSION,
            operating_system="linux",
            architecture="amd64",
        ),
    )
