"""PodDisruptionBudgets: how many of the selected pods may go now.

The API server refuses evictions by what the status says.

Upstream: ``pkg/controller/disruption``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.apps_v1 import ReplicaSet, StatefulSet
from clientgo.api.core_v1 import Pod, ReplicationController
from clientgo.api.meta_v1 import Condition
from clientgo.api.policy_v1 import PodDisruptionBudget
from clientgo.meta import ObjectName, get_controller_of, selector_from_object, to_plain
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator import Context, Result, controller, watch
from clientgo.operator.mappers import MapContext
from clientgo.testcluster.workloads.conditions import with_condition
from clientgo.testcluster.workloads.controllers.owner import MODERATE, wanted_replicas
from clientgo.testcluster.workloads.controllers.pod_facts import FINISHED, is_ready
from clientgo.testcluster.workloads.controllers.rollout import share

_SCALED: Final[dict[str, type[Any]]] = {
    kind.__name__: kind for kind in (ReplicaSet, ReplicationController, StatefulSet)
}

_DISRUPTION: Final = 120.0
"""Seconds in which an evicted pod has to begin to end; after that it counts again."""


def _budgets(context: MapContext, pod: Any) -> Iterable[ObjectName]:
    """Map a pod to the budgets that select it."""
    budgets = context.client.list(PodDisruptionBudget, namespace=pod.metadata.namespace)
    return [ObjectName.of(each) for each in budgets if _selects(each, pod)]


def _selects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    selector = to_plain(budget)["spec"].get("selector")
    return selector_from_object(selector).matches(pod.metadata.labels)


@controller(
    PodDisruptionBudget,
    sources=[watch(Pod, mapper=_budgets)],
    reads=[ReplicaSet, ReplicationController, StatefulSet],
    name="disruptionbudgets",
    default_filter=False,
    rate_limit=MODERATE,
)
class DisruptionBudgets:
    """Writes the status that evictions are judged by."""

    def reconcile(self, ctx: Context[PodDisruptionBudget], obj: PodDisruptionBudget) -> Result:
        now = ctx.clock.time()
        pods = [
            pod
            for pod in ctx.client.list(Pod, namespace=obj.metadata.namespace)
            if pod.status.phase not in FINISHED and _selects(obj, pod)
        ]
        disrupted, again = _still_disrupted(obj, pods, now)
        healthy = sum(is_ready(pod) and pod.metadata.name not in disrupted for pod in pods)
        expected = _expected(ctx, pods)
        if obj.spec.max_unavailable is not None:
            desired = max(expected - share(obj.spec.max_unavailable, expected, up=True), 0)
        else:
            if not isinstance(obj.spec.min_available, str):
                expected = len(pods)
            desired = share(obj.spec.min_available, expected, up=True)
        allowed = max(healthy - desired, 0) if expected else 0
        status = replace(
            obj.status,
            observed_generation=obj.metadata.generation,
            expected_pods=expected,
            current_healthy=healthy,
            desired_healthy=desired,
            disruptions_allowed=allowed,
            disrupted_pods=disrupted or None,
        )
        status.conditions = with_condition(obj.status.conditions, _condition(obj, allowed > 0, now))
        changed = PodDisruptionBudget(metadata=obj.metadata, spec=obj.spec, status=status)
        result = Result.status(changed)
        return result if again is None else result.after(again)


def _still_disrupted(
    obj: PodDisruptionBudget, pods: Sequence[Pod], now: float
) -> tuple[dict[str, str], float | None]:
    """Return the evicted pods that have not begun to end, and when the first counts again."""
    ending = {pod.metadata.name: bool(pod.metadata.deletion_timestamp) for pod in pods}
    kept = {
        name: at
        for name, at in (obj.status.disrupted_pods or {}).items()
        if not ending.get(name, True) and parse_time(at) + _DISRUPTION > now
    }
    waits = [parse_time(at) + _DISRUPTION - now for at in kept.values()]
    return kept, min(waits, default=None)


def _expected(ctx: Context[Any], pods: Sequence[Pod]) -> int:
    """Return how many pods the controllers of these want; a pod without one stands for itself."""
    owners: dict[str, int] = {}
    for pod in pods:
        reference, namespace = get_controller_of(pod), pod.metadata.namespace
        if reference is None:
            owners[pod.metadata.uid] = 1
            continue
        kind = _SCALED.get(reference.kind)
        owner = None if kind is None else ctx.client.find(kind, reference.name, namespace)
        if owner is None:
            owners[pod.metadata.uid] = 1
        else:
            owners[reference.uid] = wanted_replicas(owner)
    return sum(owners.values())


def _condition(obj: PodDisruptionBudget, allowed: bool, now: float) -> Condition:
    return Condition(
        type="DisruptionAllowed",
        status=str(allowed),
        reason="SufficientPods" if allowed else "InsufficientPods",
        message="",
        last_transition_time=format_time(now),
        observed_generation=obj.metadata.generation,
    )
