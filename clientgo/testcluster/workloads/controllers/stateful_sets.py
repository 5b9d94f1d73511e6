"""StatefulSets: pods with names that stay, created and replaced in order.

Does not simulate ``maxUnavailable`` of rolling updates and the retention policy of claims.

Upstream: ``pkg/controller/statefulset``.
"""

from __future__ import annotations

from msgspec.structs import replace

from clientgo.api.apps_v1 import ControllerRevision, StatefulSet, StatefulSetStatus
from clientgo.api.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimVolumeSource,
    Pod,
    Volume,
)
from clientgo.meta import ObjectMeta
from clientgo.operator import Context, controller
from clientgo.testcluster.workloads.controllers.claims import orphans
from clientgo.testcluster.workloads.controllers.owner import (
    MODERATE,
    Owner,
    Plan,
    new_pod,
    wanted_replicas,
)
from clientgo.testcluster.workloads.controllers.pod_facts import (
    FINISHED,
    Availability,
    seconds_until_available,
)
from clientgo.testcluster.workloads.controllers.revisions import HASH, Revisions, revisions_of


@controller(
    StatefulSet,
    owns=[Pod, ControllerRevision],
    sources=[orphans(Pod, adopted_by=StatefulSet)],
    name="statefulsets",
    default_filter=False,
    rate_limit=MODERATE,
)
class StatefulSets(Owner[StatefulSet]):
    """Works from the lowest ordinal up when it creates, from the highest down when it removes."""

    claims = True

    def may_adopt(self, obj: StatefulSet, orphan: Pod) -> bool:
        return orphan.metadata.name == f"{obj.metadata.name}-{_ordinal(orphan)}"

    def plan(self, ctx: Context[StatefulSet], obj: StatefulSet, owned: list[Pod]) -> Plan:
        revisions = revisions_of(ctx, obj)
        if revisions.update is None or not revisions.plan.is_settled:
            return revisions.plan
        now = ctx.clock.time()
        update = revisions.update.metadata.name
        current = obj.status.current_revision or update
        if revisions.template_of(current) is None:
            current = update
        first = obj.spec.ordinals.start or 0 if obj.spec.ordinals else 0
        wanted = range(first, first + wanted_replicas(obj))
        pods = {_ordinal(pod): pod for pod in owned}
        plan = _scale(obj, wanted, pods, revisions, current, update, now)
        if plan.is_settled:
            plan = _update(obj, wanted, pods, update, now)
        found = Availability(pods.values(), obj.spec.min_ready_seconds, now)
        plan.again = found.next
        plan.status = _status(obj, list(pods.values()), found, current, update)
        if plan.is_settled:
            live = {current, update, *map(_revision, pods.values())}
            plan.delete = revisions.surplus(obj.spec.revision_history_limit, live)
        return plan

    def refusal(self, obj: StatefulSet, refused: Pod, message: str) -> str:
        name = refused.metadata.name
        return f"create Pod {name} in StatefulSet {obj.metadata.name} failed error: {message}"


def _scale(
    obj: StatefulSet,
    wanted: range,
    pods: dict[int, Pod],
    revisions: Revisions,
    current: str,
    update: str,
    now: float,
) -> Plan:
    """Create the pods that are missing, replace those that have ended, remove the surplus."""
    plan, ordered = Plan(), obj.spec.pod_management_policy != "Parallel"
    create, delete = [], []
    for ordinal in wanted:
        pod = pods.get(ordinal)
        if pod is None:
            revision = current if ordinal - wanted.start < _partition(obj) else update
            create.append(_pod(obj, ordinal, revision, revisions))
        elif pod.status.phase in FINISHED and not pod.metadata.deletion_timestamp:
            delete.append(pod)
        elif not ordered or _is_available(obj, pod, now):
            continue
        if ordered:
            break
    else:
        surplus = [pods[ordinal] for ordinal in sorted(pods, reverse=True) if ordinal not in wanted]
        going = [pod for pod in surplus if pod.metadata.deletion_timestamp]
        staying = [pod for pod in surplus if not pod.metadata.deletion_timestamp]
        delete += ([] if going else staying[:1]) if ordered else staying
    plan.create, plan.delete = create, delete
    plan.unowned = [claim for pod in create for claim in _claims(obj, _ordinal(pod))]
    return plan


def _update(obj: StatefulSet, wanted: range, pods: dict[int, Pod], update: str, now: float) -> Plan:
    """Replace the next pod of an old revision, once all above it are available."""
    if obj.spec.update_strategy.type == "OnDelete":
        return Plan()
    for ordinal in reversed(wanted):
        pod = pods.get(ordinal)
        if ordinal - wanted.start < _partition(obj):
            break
        if pod is None or pod.metadata.deletion_timestamp:
            break
        if _revision(pod) != update:
            return Plan(delete=[pod])
        if not _is_available(obj, pod, now):
            break
    return Plan()


def _is_available(obj: StatefulSet, pod: Pod, now: float) -> bool:
    return seconds_until_available(pod, obj.spec.min_ready_seconds, now) == 0


def _partition(obj: StatefulSet) -> int:
    rolling = obj.spec.update_strategy.rolling_update
    return (rolling.partition or 0) if rolling else 0


def _ordinal(pod: Pod) -> int:
    text = pod.metadata.name.rpartition("-")[2]
    return int(text) if text.isdecimal() else -1


def _revision(pod: Pod) -> str:
    return pod.metadata.labels.get(HASH, "")


def _claim_name(template: str, obj: StatefulSet, ordinal: int) -> str:
    return f"{template}-{obj.metadata.name}-{ordinal}"


def _pod(obj: StatefulSet, ordinal: int, revision: str, revisions: Revisions) -> Pod:
    name = f"{obj.metadata.name}-{ordinal}"
    template = revisions.template_of(revision) or obj.spec.template
    labels = {
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": str(ordinal),
        HASH: revision,
    }
    pod = new_pod(obj, template, name, labels)
    templates = [each.metadata.name for each in obj.spec.volume_claim_templates or ()]
    volumes = [each for each in template.spec.volumes or () if each.name not in templates]
    volumes += [
        Volume(
            name=each,
            persistent_volume_claim=PersistentVolumeClaimVolumeSource(
                claim_name=_claim_name(each, obj, ordinal)
            ),
        )
        for each in templates
    ]
    pod.spec = replace(
        template.spec, hostname=name, subdomain=obj.spec.service_name, volumes=volumes or None
    )
    return pod


def _claims(obj: StatefulSet, ordinal: int) -> list[PersistentVolumeClaim]:
    return [
        PersistentVolumeClaim(
            metadata=ObjectMeta(
                name=_claim_name(each.metadata.name, obj, ordinal),
                namespace=obj.metadata.namespace,
                labels={**each.metadata.labels, **(obj.spec.selector.match_labels or {})},
                annotations=each.metadata.annotations,
            ),
            spec=each.spec,
        )
        for each in obj.spec.volume_claim_templates or ()
    ]


def _status(
    obj: StatefulSet, pods: list[Pod], found: Availability, current: str, update: str
) -> StatefulSetStatus:
    total = len(pods)
    updated = sum(_revision(pod) == update for pod in pods)
    if updated == total == wanted_replicas(obj) == found.ready:
        current = update
    return replace(
        obj.status,
        observed_generation=obj.metadata.generation,
        replicas=total,
        ready_replicas=found.ready or None,
        available_replicas=found.available,
        current_replicas=sum(_revision(pod) == current for pod in pods) or None,
        updated_replicas=updated or None,
        current_revision=current,
        update_revision=update,
    )
