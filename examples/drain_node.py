"""Drains nodes that have a label: no new pods, and an eviction for each pod that can move.

``python -m examples.drain_node`` runs on the cluster of your kubeconfig: mark a node with
``kubectl label node NAME example.com/drain=true``.
``python -m examples.drain_node --demo`` runs on an API server of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from clientgo.api.apps_v1 import Deployment, DeploymentSpec
from clientgo.api.core_v1 import Container, Node, Pod, PodSpec, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.api.policy_v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from clientgo.client import Client
from clientgo.meta import ObjectMeta, ObjectName, get_controller_of
from clientgo.meta.errors import NotFoundError, TooManyRequestsError
from clientgo.operator import CacheScope, Context, Manager, Result, controller, watch
from clientgo.operator.client import ignore
from clientgo.operator.permissions import rbac
from examples.embedded import embedded, manager_of, run_on_your_cluster, see

DRAIN = "example.com/drain"
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction"}
MIRROR = "kubernetes.io/config.mirror"
"""The annotation of a pod that a kubelet runs from a file: an eviction would not end it."""


def its_node(_context: Any, pod: Pod) -> Iterable[ObjectName]:
    return [ObjectName("", pod.spec.node_name)] if pod.spec.node_name else []


@rbac(groups=[""], resources=["nodes"], verbs=["patch"])
@rbac(groups=[""], resources=["pods/eviction"], verbs=["create"])
@controller(Node, labels=f"{DRAIN}=true", sources=[watch(Pod, mapper=its_node)])
class NodeDrainer:
    """Runs again whenever a pod of the node goes; a pod that a budget holds is tried again."""

    def reconcile(self, ctx: Context[Node], node: Node) -> Result:
        if not (node.spec and node.spec.unschedulable):
            ctx.client.patch(node, {"spec": {"unschedulable": True}})
        left = [pod for pod in ctx.secondaries(Pod) if can_move(pod)]
        held: TooManyRequestsError | None = None
        for pod in left:
            if pod.metadata.deletion_timestamp:
                continue
            try:
                with ignore(NotFoundError):  # the cache may be behind
                    ctx.client.subresource("eviction").create(pod, EVICTION)
            except TooManyRequestsError as error:
                held = error
        if not left:
            ctx.events.normal("Drained", "all pods that can move have gone")
        elif held is not None:
            ctx.events.normal("EvictionHeld", str(held))
            return Result.requeue(1.0)
        return Result.done()


def can_move(pod: Pod) -> bool:
    """Return True if another node can run the pod, or a replacement of it."""
    owner = get_controller_of(pod)
    of_this_node = MIRROR in pod.metadata.annotations or (owner and owner.kind == "DaemonSet")
    return not of_this_node


def new_manager(client: Client) -> Manager:
    not_ended = CacheScope(fields="status.phase!=Succeeded,status.phase!=Failed")
    manager = manager_of(client, "drain-node", cache_by_kind={Pod: not_ended})
    manager.register(NodeDrainer())
    return manager


def demo() -> None:
    from clientgo.testcluster.workloads import WorkloadSimulator
    from clientgo.testing.observer import Observer

    labels = {"app": "web"}
    pod = PodSpec(containers=[Container(name="web", image="web:1")])
    web = Deployment(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=DeploymentSpec(
            replicas=4,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod),
        ),
    )
    budget = PodDisruptionBudget(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=PodDisruptionBudgetSpec(
            selector=LabelSelector(match_labels=labels), max_unavailable=1
        ),
    )
    with (
        embedded() as client,
        WorkloadSimulator(client, nodes=2),
        Observer(client, Pod, Node) as seen,
    ):
        client.resource(PodDisruptionBudget).create(budget)
        client.resource(Deployment).create(web)

        def ready_on(node: str) -> int:
            pods = [pod for pod in seen.lister(Pod).list() if pod.spec.node_name == node]
            return sum(bool(pod.status and is_ready(pod)) for pod in pods)

        first, second = (node.metadata.name for node in client.resource(Node).list().items)
        see(seen, "two pods run on each node", lambda: ready_on(first) == ready_on(second) == 2)
        with new_manager(client):
            client.resource(Node).patch(first, {"metadata": {"labels": {DRAIN: "true"}}})
            see(seen, "the first takes no new pods", lambda: is_closed(seen, first))
            see(seen, "all of them run on the other", lambda: ready_on(second) == 4)


def is_closed(seen: Any, name: str) -> bool:
    node: Node = seen.lister(Node).get(name)
    return bool(node.spec and node.spec.unschedulable)


def is_ready(pod: Pod) -> bool:
    conditions = (pod.status.conditions if pod.status else None) or ()
    return any(c.type == "Ready" and c.status == "True" for c in conditions)


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        run_on_your_cluster(new_manager)
