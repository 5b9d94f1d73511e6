"""ReplicaSets and ReplicationControllers: as many pods as wanted, it does not matter which.

Upstream: ``pkg/controller/replicaset`` and ``pkg/controller/replication``.
"""

from __future__ import annotations

from typing import ClassVar, Final, TypeVar

from msgspec.structs import replace

from clientgo.api.apps_v1 import ReplicaSet, ReplicaSetCondition
from clientgo.api.core_v1 import (
    Pod,
    PodTemplateSpec,
    ReplicationController,
    ReplicationControllerCondition,
)
from clientgo.meta.timestamps import format_time
from clientgo.operator import Context, controller
from clientgo.testcluster.workloads.conditions import (
    find_condition,
    with_condition,
    without_condition,
)
from clientgo.testcluster.workloads.controllers.claims import orphans
from clientgo.testcluster.workloads.controllers.owner import (
    MODERATE,
    Owner,
    Plan,
    new_pod,
    wanted_replicas,
)
from clientgo.testcluster.workloads.controllers.pod_facts import (
    Availability,
    deletion_cost,
    is_active,
)

REPLICA_FAILURE: Final = "ReplicaFailure"
"""The condition of a ReplicaSet whose pods are refused."""


R = TypeVar("R", ReplicaSet, ReplicationController)


class _Replicas(Owner[R]):
    """Creates pods that are missing, deletes those that are too many."""

    claims = True
    condition: ClassVar[type[ReplicaSetCondition | ReplicationControllerCondition]]

    def may_adopt(self, obj: R, orphan: Pod) -> bool:
        return is_active(orphan)

    def plan(self, ctx: Context[R], obj: R, owned: list[Pod]) -> Plan:
        active = [pod for pod in owned if is_active(pod)]
        missing = wanted_replicas(obj) - len(active)
        plan = Plan()
        if missing > 0:
            taken = {pod.metadata.name for pod in owned}
            names = [self.randomness.name(obj.metadata.name, taken) for _ in range(missing)]
            template = obj.spec.template or PodTemplateSpec()
            plan.create = [new_pod(obj, template, name) for name in names]
        elif missing < 0:
            plan.delete = sorted(active, key=deletion_cost)[:-missing]
        found = Availability(active, obj.spec.min_ready_seconds, ctx.clock.time())
        plan.again = found.next
        plan.status = replace(
            obj.status,
            replicas=len(active),
            fully_labeled_replicas=len(active) or None,
            ready_replicas=found.ready or None,
            available_replicas=found.available or None,
            observed_generation=obj.metadata.generation,
            conditions=without_condition(obj.status.conditions, REPLICA_FAILURE) or None,
        )
        return plan

    def note_refusal(self, obj: R, plan: Plan, message: str, now: float) -> None:
        failure = self.condition(
            type=REPLICA_FAILURE,
            status="True",
            reason="FailedCreate",
            message=message,
            last_transition_time=format_time(now),
        )
        known = find_condition(obj.status.conditions, REPLICA_FAILURE)
        # Each try makes another name: the first message stays, as in a cluster.
        conditions = with_condition(obj.status.conditions, known or failure)
        plan.status = replace(plan.status, conditions=conditions)


@controller(
    ReplicaSet,
    owns=[Pod],
    sources=[orphans(Pod, adopted_by=ReplicaSet)],
    name="replicasets",
    default_filter=False,
    rate_limit=MODERATE,
)
class ReplicaSets(_Replicas[ReplicaSet]):
    """Keeps the pods of ReplicaSets."""

    condition = ReplicaSetCondition


@controller(
    ReplicationController,
    owns=[Pod],
    sources=[orphans(Pod, adopted_by=ReplicationController)],
    name="replicationcontrollers",
    default_filter=False,
    rate_limit=MODERATE,
)
class ReplicationControllers(_Replicas[ReplicationController]):
    """Keeps the pods of ReplicationControllers."""

    condition = ReplicationControllerCondition
