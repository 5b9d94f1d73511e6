"""Deployments: a ReplicaSet for each pod template, and the way from one to the next.

Upstream: ``pkg/controller/deployment``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.apps_v1 import (
    Deployment,
    DeploymentCondition,
    DeploymentStatus,
    ReplicaSet,
    ReplicaSetSpec,
)
from clientgo.api.core_v1 import Pod, PodTemplateSpec
from clientgo.api.meta_v1 import LabelSelector
from clientgo.meta import ObjectMeta
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator import Context, controller
from clientgo.testcluster.workloads.conditions import (
    find_condition,
    with_condition,
    without_condition,
)
from clientgo.testcluster.workloads.controllers import rollout
from clientgo.testcluster.workloads.controllers.claims import orphans
from clientgo.testcluster.workloads.controllers.owner import (
    MODERATE,
    Owner,
    Plan,
    owned_by,
    plain_template,
    wanted_replicas,
)
from clientgo.testcluster.workloads.controllers.replica_sets import REPLICA_FAILURE
from clientgo.testcluster.workloads.randomness import digest
from clientgo.util.text.go_format import compact_json

HASH: Final = "pod-template-hash"
REVISION: Final = "deployment.kubernetes.io/revision"
DESIRED: Final = "deployment.kubernetes.io/desired-replicas"
MAXIMUM: Final = "deployment.kubernetes.io/max-replicas"
_OWN_ANNOTATIONS: Final = (
    REVISION,
    DESIRED,
    MAXIMUM,
    "deployment.kubernetes.io/revision-history",
    "deprecated.deployment.rollback.to",
    "kubectl.kubernetes.io/last-applied-configuration",
)
"""Annotations that a ReplicaSet does not take over from its Deployment."""


@controller(
    Deployment,
    owns=[ReplicaSet],
    sources=[orphans(ReplicaSet, adopted_by=Deployment)],
    name="deployments",
    rate_limit=MODERATE,
    default_filter=False,
)
class Deployments(Owner[Deployment]):
    """Moves pods from the ReplicaSets of old templates to that of the present one."""

    claims = True

    owned = ReplicaSet

    def plan(self, ctx: Context[Deployment], obj: Deployment, owned: list[ReplicaSet]) -> Plan:
        now = ctx.clock.time()
        template = _comparable(plain_template(obj))
        by_age = sorted(owned, key=lambda each: (_revision(each), each.metadata.name))
        matching = [each for each in by_age if _comparable(plain_template(each)) == template]
        new = matching[-1] if matching else None
        old = [each for each in by_age if each is not new]
        plan = self._steps(ctx, obj, new, old, template)
        plan.status, plan.again = _status(obj, new, old, now)
        if plan.is_settled and _is_complete(obj, plan.status):
            plan.delete = _history(obj, old)
        return plan

    def _steps(
        self,
        ctx: Context[Deployment],
        obj: Deployment,
        new: ReplicaSet | None,
        old: Sequence[ReplicaSet],
        template: dict[str, Any],
    ) -> Plan:
        sets = [*([new] if new else []), *reversed(old)]
        scaled = any(
            each.metadata.annotations.get(DESIRED) not in (None, str(wanted_replicas(obj)))
            for each in sets
            if wanted_replicas(each)
        )
        if obj.spec.paused or scaled:
            return self._resized(obj, sets, rollout.resize(obj, sets))
        recreates = obj.spec.strategy.type == "Recreate"
        if recreates and (sizes := rollout.stop(old)):
            return self._resized(obj, sets, sizes)
        old_pods = recreates and any(owned_by(ctx, Pod, each) for each in old)
        if new is None:
            if old_pods:
                return Plan()
            created = _new_replica_set(obj, old, template)
            name = created.metadata.name
            created.spec.replicas = (
                wanted_replicas(obj) if recreates else rollout.roll(obj, created, old).get(name, 0)
            )
            note = f"Scaled up replica set {name} from 0 to {created.spec.replicas}"
            events = [("ScalingReplicaSet", note)] if created.spec.replicas else []
            return Plan(create=[created], events=events)
        revision = max(map(_revision, old), default=0) + 1
        if changes := _annotate(obj, new, max(revision, _revision(new))):
            return Plan(changes=changes)
        if recreates:
            return self._resized(obj, sets, rollout.recreate(obj, new, old_pods=old_pods))
        return self._resized(obj, sets, rollout.roll(obj, new, old))

    def _resized(self, obj: Deployment, sets: Sequence[ReplicaSet], sizes: rollout.Sizes) -> Plan:
        """Scale ReplicaSets, and note in all that have pods what the Deployment wants."""
        plan, changes = Plan(), []
        for each in sets:
            name, now = each.metadata.name, wanted_replicas(each)
            count = sizes.get(name, now)
            patch: dict[str, Any] = {}
            if count or now:
                patch = _missing_annotations(each, _size_annotations(obj))
            if count != now:
                patch["spec"] = {"replicas": count}
                direction = "up" if count > now else "down"
                plan.events.append(
                    (
                        "ScalingReplicaSet",
                        f"Scaled {direction} replica set {name} from {now} to {count}",
                    )
                )
            if patch:
                changes.append((each, patch))
        plan.changes = changes
        return plan


def _comparable(template: dict[str, Any]) -> dict[str, Any]:
    """Return a template without the label that tells the ReplicaSets of a Deployment apart."""
    metadata = {
        name: value
        for name, value in (template.get("metadata") or {}).items()
        if value is not None and name != "labels"
    }
    labels = (template.get("metadata") or {}).get("labels") or {}
    kept = {name: value for name, value in labels.items() if name != HASH}
    return {**template, "metadata": {**metadata, "labels": kept}}


def _revision(each: ReplicaSet) -> int:
    text = each.metadata.annotations.get(REVISION, "")
    return int(text) if text.isdecimal() else 0


def _size_annotations(obj: Deployment) -> dict[str, str]:
    wanted = wanted_replicas(obj)
    return {DESIRED: str(wanted), MAXIMUM: str(wanted + rollout.limits_of(obj).surge)}


def _taken_over(obj: Deployment) -> dict[str, str]:
    annotations = obj.metadata.annotations
    return {name: annotations[name] for name in annotations if name not in _OWN_ANNOTATIONS}


def _missing_annotations(each: Any, wanted: dict[str, str]) -> dict[str, Any]:
    """Return a patch for annotations; an empty one if they are there."""
    has = each.metadata.annotations
    missing = {name: value for name, value in wanted.items() if has.get(name) != value}
    return {"metadata": {"annotations": missing}} if missing else {}


def _annotate(obj: Deployment, new: ReplicaSet, revision: int) -> list[tuple[Any, dict[str, Any]]]:
    """Return what brings the revision and the annotations up to date."""
    wanted = {**_taken_over(obj), REVISION: str(revision), **_size_annotations(obj)}
    parts = [
        (new, _missing_annotations(new, wanted)),
        (obj, _missing_annotations(obj, {REVISION: str(revision)})),
    ]
    return [(each, patch) for each, patch in parts if patch]


def _new_replica_set(
    obj: Deployment, old: Sequence[ReplicaSet], template: dict[str, Any]
) -> ReplicaSet:
    """Return an empty ReplicaSet for the present template."""
    name = digest(compact_json(template))
    spec, labels = obj.spec, {**obj.spec.template.metadata.labels, HASH: name}
    selector = spec.selector
    revision = str(max(map(_revision, old), default=0) + 1)
    return ReplicaSet(
        metadata=ObjectMeta(
            name=f"{obj.metadata.name}-{name}",
            namespace=obj.metadata.namespace,
            labels=labels,
            annotations={**_taken_over(obj), REVISION: revision, **_size_annotations(obj)},
        ),
        spec=ReplicaSetSpec(
            replicas=0,
            min_ready_seconds=spec.min_ready_seconds,
            selector=LabelSelector(
                match_labels={**(selector.match_labels or {}), HASH: name},
                match_expressions=selector.match_expressions,
            ),
            template=PodTemplateSpec(
                metadata=replace(spec.template.metadata, labels=labels), spec=spec.template.spec
            ),
        ),
    )


def _history(obj: Deployment, old: Sequence[ReplicaSet]) -> list[ReplicaSet]:
    """Return the old ReplicaSets without pods that are too many to be kept."""
    limit = obj.spec.revision_history_limit
    empty = [
        each
        for each in old
        if not wanted_replicas(each)
        and not each.status.replicas
        and each.status.observed_generation == each.metadata.generation
        and not each.metadata.deletion_timestamp
    ]
    surplus = len(old) - (10 if limit is None else limit)
    return empty[: max(surplus, 0)]


# The status


def _status(
    obj: Deployment, new: ReplicaSet | None, old: Sequence[ReplicaSet], now: float
) -> tuple[DeploymentStatus, float | None]:
    """Return the status, and in how many seconds the progress is late."""
    sets = [*([new] if new else []), *old]
    total = sum(each.status.replicas for each in sets)
    available = rollout.available(sets)
    status = replace(
        obj.status,
        observed_generation=obj.metadata.generation,
        replicas=total or None,
        updated_replicas=(new.status.replicas if new else 0) or None,
        ready_replicas=sum(each.status.ready_replicas or 0 for each in sets) or None,
        available_replicas=available or None,
        unavailable_replicas=max(rollout.size(sets) - available, 0) or None,
    )
    enough = available >= wanted_replicas(obj) - rollout.limits_of(obj).unavailable
    status.conditions = with_condition(
        obj.status.conditions,
        _condition(
            "Available",
            "True" if enough else "False",
            "MinimumReplicasAvailable" if enough else "MinimumReplicasUnavailable",
            f"Deployment {'has' if enough else 'does not have'} minimum availability.",
            now,
            obj.status.conditions,
        ),
    )
    status.conditions = _with_failure(obj, status.conditions, sets, now)
    return _with_progress(obj, status, new, now)


def _with_failure(
    obj: Deployment,
    conditions: list[DeploymentCondition],
    sets: Sequence[ReplicaSet],
    now: float,
) -> list[DeploymentCondition]:
    """Return the conditions with that of the first ReplicaSet whose pods are refused."""
    found = (find_condition(each.status.conditions, REPLICA_FAILURE) for each in sets)
    failure = next(filter(None, found), None)
    if failure is None:
        return without_condition(conditions, REPLICA_FAILURE)
    return with_condition(
        conditions,
        _condition(
            REPLICA_FAILURE,
            failure.status,
            failure.reason or "",
            failure.message or "",
            now,
            obj.status.conditions,
        ),
    )


def _with_progress(
    obj: Deployment, status: DeploymentStatus, new: ReplicaSet | None, now: float
) -> tuple[DeploymentStatus, float | None]:
    deadline = obj.spec.progress_deadline_seconds
    if deadline is None:
        status.conditions = without_condition(status.conditions, "Progressing")
        return status, None
    known = find_condition(obj.status.conditions, "Progressing")
    name = f'ReplicaSet "{new.metadata.name}"' if new else f'Deployment "{obj.metadata.name}"'
    text, reason, message, again = "True", "", "", None
    if obj.spec.paused:
        text, reason, message = "Unknown", "DeploymentPaused", "Deployment is paused"
    elif _is_complete(obj, status):
        reason, message = "NewReplicaSetAvailable", f"{name} has successfully progressed."
    elif known is None or name not in (known.message or "") or _has_progressed(obj, status, known):
        reason = "ReplicaSetUpdated" if new else "NewReplicaSetCreated"
        message = f"{name} is progressing."
    elif known.last_update_time:
        again = parse_time(known.last_update_time) + deadline - now
        if again <= 0 and known.reason != "ProgressDeadlineExceeded":
            text, reason = "False", "ProgressDeadlineExceeded"
            message = f"{name} has timed out progressing."
        if again <= 0:
            again = None
    if reason:
        wanted = _condition("Progressing", text, reason, message, now)
        if known is not None and known.reason == reason and known.message == message:
            steady = reason in ("NewReplicaSetAvailable", "DeploymentPaused")
            if steady or not _has_progressed(obj, status, known):
                wanted = known
        status.conditions = with_condition(status.conditions, wanted)
        if reason in ("ReplicaSetUpdated", "NewReplicaSetCreated"):
            again = float(deadline)
    return status, again


def _is_complete(obj: Deployment, status: DeploymentStatus) -> bool:
    """Return True if all pods are of the present template, and available."""
    wanted = wanted_replicas(obj)
    counts = (status.updated_replicas, status.replicas, status.available_replicas)
    return not obj.spec.paused and all((count or 0) == wanted for count in counts)


def _has_progressed(obj: Deployment, status: DeploymentStatus, known: DeploymentCondition) -> bool:
    """Return True if there are more new pods, fewer old ones, or another change is wanted."""
    before = obj.status

    def old(each: DeploymentStatus) -> int:
        return (each.replicas or 0) - (each.updated_replicas or 0)

    return (
        (status.updated_replicas or 0) > (before.updated_replicas or 0)
        or (status.ready_replicas or 0) > (before.ready_replicas or 0)
        or (status.available_replicas or 0) > (before.available_replicas or 0)
        or old(status) < old(before)
        or known.reason in ("NewReplicaSetAvailable", "DeploymentPaused")
    )


def _condition(
    kind: str,
    text: str,
    reason: str,
    message: str,
    now: float,
    known: Sequence[DeploymentCondition] | None = None,
) -> DeploymentCondition:
    """Return a condition; one that is there already keeps the time of its update."""
    at = format_time(now)
    wanted = DeploymentCondition(
        type=kind,
        status=text,
        reason=reason,
        message=message,
        last_update_time=at,
        last_transition_time=at,
    )
    same = find_condition(known, kind)
    if same is not None and (same.status, same.reason) == (text, reason):
        wanted.last_update_time = same.last_update_time
    return wanted
