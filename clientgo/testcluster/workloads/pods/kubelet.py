"""The kubelets of all nodes: pods that are bound to a node live as their stages say.

Upstream: ``pkg/kubelet``.
"""

from __future__ import annotations

import ipaddress
import threading
from dataclasses import dataclass, replace
from typing import Final

from clientgo.api.core_v1 import Node, Pod, PodStatus
from clientgo.meta import ObjectName
from clientgo.operator import Context, Result, controller
from clientgo.operator.predicates import Predicate, UpdatePredicate, worth_a_reconcile
from clientgo.testcluster.workloads.pods.lifecycle import Lifecycle, Place, Since, terminated
from clientgo.testcluster.workloads.predicates import OfPrimary

_POD_NETWORK: Final = int(ipaddress.IPv4Address("10.128.0.0"))
_POD_ADDRESSES: Final = 2**23 - 2

_BOUND: Final = Predicate.of(lambda pod: bool(pod.spec.node_name))
_CHANGED: Final = worth_a_reconcile(minds_finalizers=False) | UpdatePredicate(
    lambda old, new: old.spec.node_name != new.spec.node_name
)


class PodAddresses:
    """Gives each pod another address; after a restart, other ones than those in use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def new(self) -> str:
        """Return the next address."""
        with self._lock:
            self._last = self._last % _POD_ADDRESSES + 1
            return str(ipaddress.IPv4Address(_POD_NETWORK + self._last))

    def used(self, address: str | None) -> None:
        """Do not give this address for a long time."""
        if not address:
            return
        number = int(ipaddress.ip_address(address)) - _POD_NETWORK
        with self._lock:
            if 0 < number <= _POD_ADDRESSES:
                self._last = max(self._last, number)


@dataclass(frozen=True)
class _Memory:
    """What a pod's status does not say: its address before it starts, and times more exactly."""

    uid: str
    address: str
    since: Since | None = None


@controller(
    Pod,
    reads=[Node],
    name="kubelet",
    generation_aware=False,
    default_filter=False,
    predicate=OfPrimary(Pod, _BOUND & _CHANGED),
)
class Kubelet:
    """Runs pods: writes what a real kubelet would report, and removes pods that are deleted."""

    def __init__(self, lifecycle: Lifecycle, addresses: PodAddresses) -> None:
        self._lifecycle = lifecycle
        self._addresses = addresses
        self._lock = threading.Lock()
        self._memory: dict[ObjectName, _Memory] = {}

    def reconcile_key(self, ctx: Context[Pod], key: ObjectName) -> Result | None:
        pod: Pod | None = ctx.obj
        if pod is None or not pod.spec.node_name:
            with self._lock:
                self._memory.pop(key, None)
            return None
        self._addresses.used(pod.status.pod_ip)
        if pod.metadata.deletion_timestamp:
            return self._terminate(ctx, pod)
        return self._advance(ctx, key, pod)

    def _advance(self, ctx: Context[Pod], key: ObjectName, pod: Pod) -> Result:
        with self._lock:
            known = self._memory.get(key)
        if known is None or known.uid != pod.metadata.uid:
            known = _Memory(pod.metadata.uid, pod.status.pod_ip or self._addresses.new())
        place = self._place(ctx, pod, known.address)
        step = self._lifecycle.step(pod, place, ctx.clock.time(), known.since)
        with self._lock:
            self._memory[key] = replace(known, since=step.since)
        _record(ctx, pod, step.status)
        result = Result.status(Pod(metadata=pod.metadata, spec=pod.spec, status=step.status))
        return result if step.due is None else result.after(max(step.due, 0.001))

    def _terminate(self, ctx: Context[Pod], pod: Pod) -> Result | None:
        left = self._lifecycle.end_of(pod, ctx.clock.time())
        if left > 0:
            return Result.requeue(left)
        if any(each.state.running for each in pod.status.container_statuses or ()):
            # Clients see that the pod is not ready any more before it is gone.
            status = terminated(pod, ctx.clock.time())
            stopped = Pod(metadata=pod.metadata, spec=pod.spec, status=status)
            return Result.status(stopped).after(0.001)
        if pod.metadata.deletion_grace_period_seconds:
            ctx.client.delete(pod, grace=0, only_this=True)
        # With a grace period of 0 it is the finalizers that keep the pod.
        return None

    def _place(self, ctx: Context[Pod], pod: Pod, address: str) -> Place:
        node = ctx.client.find(Node, pod.spec.node_name or "")
        addresses = (node.status.addresses if node else None) or ()
        host = next((each.address for each in addresses if each.type == "InternalIP"), "")
        return Place(host, host if pod.spec.host_network else address)


def _record(ctx: Context[Pod], pod: Pod, status: PodStatus) -> None:
    """Record an event for each container that has begun to wait because of an error."""
    before = {each.name: each.state.waiting for each in pod.status.container_statuses or ()}
    for each in status.container_statuses or ():
        waiting = each.state.waiting
        if waiting is None or waiting == before.get(each.name):
            continue
        reason = _REASONS.get(waiting.reason or "")
        if reason is not None:
            ctx.events.warning(reason, waiting.message or "")


_REASONS: Final = {
    "ErrImagePull": "Failed",
    "ImagePullBackOff": "BackOff",
    "CrashLoopBackOff": "BackOff",
}
"""The reason of the event by that of the container's state."""
