"""DaemonSets: a pod on each node that its template allows.

Does not simulate ``maxSurge``.

Upstream: ``pkg/controller/daemon``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.apps_v1 import ControllerRevision, DaemonSet, DaemonSetStatus
from clientgo.api.core_v1 import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSelectorRequirement,
    NodeSelectorTerm,
    Pod,
    Toleration,
)
from clientgo.meta import ObjectMeta, ObjectName
from clientgo.operator import Context, controller, watch
from clientgo.operator.mappers import MapContext
from clientgo.testcluster.workloads.controllers.claims import orphans
from clientgo.testcluster.workloads.controllers.owner import MODERATE, Owner, Plan, new_pod
from clientgo.testcluster.workloads.controllers.pod_facts import (
    FINISHED,
    Availability,
    is_active,
    seconds_until_available,
)
from clientgo.testcluster.workloads.controllers.revisions import HASH, revisions_of
from clientgo.testcluster.workloads.controllers.rollout import share
from clientgo.testcluster.workloads.pods.placement import selects, untolerated

_TOLERATED: Final = (
    ("not-ready", "NoExecute"),
    ("unreachable", "NoExecute"),
    ("disk-pressure", "NoSchedule"),
    ("memory-pressure", "NoSchedule"),
    ("pid-pressure", "NoSchedule"),
    ("unschedulable", "NoSchedule"),
)
"""Taints of nodes that a daemon's pods tolerate, whatever its template says."""


def _every_one(context: MapContext, _node: Any) -> Iterable[ObjectName]:
    return [ObjectName.of(each) for each in context.client.list(DaemonSet)]


@controller(
    DaemonSet,
    owns=[Pod, ControllerRevision],
    sources=[watch(Node, mapper=_every_one), orphans(Pod, adopted_by=DaemonSet)],
    name="daemonsets",
    default_filter=False,
    rate_limit=MODERATE,
)
class DaemonSets(Owner[DaemonSet]):
    """Binds nothing itself: each pod has an affinity to its node, and the scheduler does it."""

    claims = True

    def plan(self, ctx: Context[DaemonSet], obj: DaemonSet, owned: list[Pod]) -> Plan:
        revisions = revisions_of(ctx, obj)
        if revisions.update is None or not revisions.plan.is_settled:
            return revisions.plan
        now, revision = ctx.clock.time(), revisions.update.metadata.labels[HASH]
        model = self._model(obj, revision)
        nodes = ctx.client.list(Node)
        eligible = {node.metadata.name for node in nodes if _may_start(model, node)}
        kept = {node.metadata.name for node in nodes if _may_stay(model, node)}
        pods: dict[str, Pod] = {}
        delete = []
        for pod in sorted(owned, key=lambda each: each.metadata.name):
            node = _node_of(pod)
            surplus = node not in kept or node in pods or pod.status.phase in FINISHED
            if not surplus or pod.metadata.deletion_timestamp:
                pods[node] = pod
            else:
                delete.append(pod)
        taken = {pod.metadata.name for pod in owned}
        missing = sorted(eligible - pods.keys())
        plan = Plan(create=[self._pod(obj, node, revision, taken) for node in missing])
        plan.delete = delete or _outdated(obj, list(pods.values()), revision, len(eligible), now)
        active = [pod for pod in pods.values() if is_active(pod)]
        found = Availability(active, obj.spec.min_ready_seconds, now)
        plan.again = found.next
        plan.status = _status(obj, pods, eligible, found, revision)
        if plan.is_settled:
            live = {each.metadata.name for each in revisions.all if _is_used(each, owned)}
            plan.delete = revisions.surplus(obj.spec.revision_history_limit, live)
        return plan

    def _model(self, obj: DaemonSet, revision: str) -> Pod:
        """Return a pod as it would be on any node, to ask which nodes it may be on."""
        pod = new_pod(obj, obj.spec.template, "", {HASH: revision})
        added = [
            Toleration(key=f"node.kubernetes.io/{key}", operator="Exists", effect=effect)
            for key, effect in _TOLERATED
        ]
        pod.spec = replace(pod.spec, tolerations=[*(pod.spec.tolerations or ()), *added])
        return pod

    def _pod(self, obj: DaemonSet, node: str, revision: str, taken: set[str]) -> Pod:
        model = self._model(obj, revision)
        term = NodeSelectorTerm(
            match_fields=[
                NodeSelectorRequirement(key="metadata.name", operator="In", values=[node])
            ]
        )
        old = model.spec.affinity or Affinity()
        here = NodeAffinity(
            required_during_scheduling_ignored_during_execution=NodeSelector(
                node_selector_terms=[term]
            )
        )
        metadata: ObjectMeta = model.metadata
        return Pod(
            metadata=replace(metadata, name=self.randomness.name(obj.metadata.name, taken)),
            spec=replace(model.spec, affinity=replace(old, node_affinity=here)),
        )


def _may_start(pod: Pod, node: Node) -> bool:
    return selects(pod, node) and untolerated(pod, node, "NoSchedule", "NoExecute") is None


def _may_stay(pod: Pod, node: Node) -> bool:
    return selects(pod, node) and untolerated(pod, node, "NoExecute") is None


def _node_of(pod: Pod) -> str:
    """Return the node that a pod is on, or is for."""
    if pod.spec.node_name:
        return pod.spec.node_name
    affinity = pod.spec.affinity and pod.spec.affinity.node_affinity
    required = affinity and affinity.required_during_scheduling_ignored_during_execution
    for term in required.node_selector_terms if required else ():
        for field in term.match_fields or ():
            return (field.values or [""])[0]
    return ""


def _is_used(revision: ControllerRevision, pods: Iterable[Pod]) -> bool:
    suffix = revision.metadata.labels.get(HASH)
    return any(pod.metadata.labels.get(HASH) == suffix for pod in pods)


def _outdated(obj: DaemonSet, pods: list[Pod], revision: str, wanted: int, now: float) -> list[Pod]:
    """Return the old pods that a rolling update replaces next."""
    if obj.spec.update_strategy.type == "OnDelete":
        return []
    rolling = obj.spec.update_strategy.rolling_update
    limit = share(rolling.max_unavailable if rolling else 1, wanted, up=True)
    old, unavailable = [], wanted - len(pods)
    for pod in pods:
        serves = seconds_until_available(pod, obj.spec.min_ready_seconds, now) == 0
        unavailable += not serves
        if pod.metadata.labels.get(HASH) != revision and not pod.metadata.deletion_timestamp:
            old.append((serves, pod))
    broken = [pod for serves, pod in old if not serves]
    serving = [pod for serves, pod in old if serves]
    return broken + serving[: max(limit - unavailable, 0)]


def _status(
    obj: DaemonSet, pods: dict[str, Pod], eligible: set[str], found: Availability, revision: str
) -> DaemonSetStatus:
    current = len(eligible & pods.keys())
    updated = [pod for pod in pods.values() if pod.metadata.labels.get(HASH) == revision]
    return replace(
        obj.status,
        observed_generation=obj.metadata.generation,
        desired_number_scheduled=len(eligible),
        current_number_scheduled=current,
        number_misscheduled=len(pods.keys() - eligible),
        number_ready=found.ready,
        number_available=found.available or None,
        number_unavailable=(len(eligible) - found.available) or None,
        updated_number_scheduled=len(updated) or None,
    )
