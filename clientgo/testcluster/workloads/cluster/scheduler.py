"""The scheduler: binds pods to nodes, those with the fewest pods first.

It works in rounds. A round looks at all pods and nodes, and binds every pod that is due; a pod that
fits nowhere waits for the next change. So its choices do not depend on the order of events.

Upstream: ``pkg/scheduler``, which takes one pod at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from clientgo.api.core_v1 import (
    Binding,
    Node,
    ObjectReference,
    PersistentVolumeClaim,
    Pod,
    PodCondition,
)
from clientgo.meta import ConflictError, NotFoundError, ObjectMeta, ObjectName, to_plain
from clientgo.meta.timestamps import format_time
from clientgo.operator import Context, Result, controller, watch
from clientgo.operator.change_events import ChangeEvent, DeleteEvent, UpdateEvent
from clientgo.operator.mappers import MapContext
from clientgo.operator.predicates import Predicate
from clientgo.testcluster.workloads.conditions import with_condition
from clientgo.testcluster.workloads.controllers.pod_facts import FINISHED
from clientgo.testcluster.workloads.pods.placement import Room, requests_of
from clientgo.testcluster.workloads.pods.stages import Rules
from clientgo.testcluster.workloads.randomness import Randomness
from clientgo.testcluster.workloads.status_writes import write_status

NAME: Final = "default-scheduler"
_ROUND: Final = ObjectName("", "round")


def _one_round(_context: MapContext, _obj: Any) -> list[ObjectName]:
    """Map every event to the one thing that is to be done: another round."""
    return [_ROUND]


class _Concerns(Predicate):
    """Pods that wait for a node, and what makes room for them; other kinds pass."""

    def passes(self, event: ChangeEvent) -> bool:
        pod = event.obj
        if isinstance(pod, Node):
            return not isinstance(event, UpdateEvent) or _offer(event.old) != _offer(pod)
        if not isinstance(pod, Pod):
            return True
        makes_room = isinstance(event, DeleteEvent) or pod.status.phase in FINISHED
        return makes_room or not pod.spec.node_name


def _offer(node: Node) -> tuple[Any, ...]:
    """Return what the choice of a node depends on."""
    ready = [each.status for each in node.status.conditions or () if each.type == "Ready"]
    return node.spec, node.metadata.labels, node.status.allocatable, ready


@controller(
    Node,
    sources=[watch(Pod, mapper=_one_round), watch(PersistentVolumeClaim, mapper=_one_round)],
    name=NAME,
    default_filter=False,
    predicate=_Concerns(),
)
class Scheduler:
    """One worker: two rounds at a time would give away the same room."""

    def __init__(self, rules: Rules, randomness: Randomness) -> None:
        self._rules = rules
        self._randomness = randomness
        self._first_seen: dict[str, float] = {}
        """When a pod was first seen waiting, by uid."""
        self._assumed: dict[str, str] = {}
        """The node that a pod was bound to, by its uid, until the watch brings that."""

    def reconcile_key(self, ctx: Context[Node], _key: ObjectName) -> Result | None:
        pods = ctx.client.list(Pod)
        unbound = [pod for pod in pods if _is_waiting(pod)]
        uids = {pod.metadata.uid for pod in unbound}
        self._assumed = {uid: node for uid, node in self._assumed.items() if uid in uids}
        waiting = [pod for pod in unbound if pod.metadata.uid not in self._assumed]
        now = ctx.clock.time()
        self._first_seen = {
            pod.metadata.uid: self._first_seen.get(pod.metadata.uid, now) for pod in waiting
        }
        if not waiting:
            return None
        later: list[float] = []
        rooms = _rooms(ctx.client.list(Node), pods, self._assumed)
        for pod in sorted(waiting, key=_turn):
            delay = self._rules.stage("schedule", pod).seconds(pod, self._randomness)
            due = self._first_seen[pod.metadata.uid] + delay
            if due > now:
                later.append(due - now)
            else:
                self._place(ctx, pod, rooms)
        return Result.requeue(min(later)) if later else None

    def _place(self, ctx: Context[Node], pod: Pod, rooms: Sequence[Room]) -> None:
        requests = requests_of(pod)
        objections = [(room.objection(pod, requests), room) for room in rooms]
        fitting = [room for objection, room in objections if not objection]
        claims = _missing_claims(ctx, pod)
        try:
            if claims or not fitting:
                _note_unschedulable(ctx, pod, claims or _reasons(objections))
                return
            room = min(fitting, key=lambda each: (each.pods, each.node.metadata.name))
            _bind(ctx, pod, room.node.metadata.name)
            self._assumed[pod.metadata.uid] = room.node.metadata.name
        except (ConflictError, NotFoundError):
            return  # another scheduler was faster, or the pod is gone
        room.take(pod, requests)


def _is_waiting(pod: Pod) -> bool:
    return (
        not pod.spec.node_name
        and not pod.metadata.deletion_timestamp
        and not pod.spec.scheduling_gates
        and (pod.spec.scheduler_name or NAME) == NAME
        and pod.status.phase not in FINISHED
    )


def _turn(pod: Pod) -> tuple[Any, ...]:
    """Order pods: by priority, and then as they came."""
    metadata = pod.metadata
    age = metadata.creation_timestamp or ""
    return -(pod.spec.priority or 0), age, metadata.namespace, metadata.name


def _rooms(nodes: Sequence[Node], pods: Sequence[Pod], assumed: Mapping[str, str]) -> list[Room]:
    rooms = {node.metadata.name: Room(node) for node in nodes}
    for pod in pods:
        room = rooms.get(pod.spec.node_name or assumed.get(pod.metadata.uid, ""))
        if room is not None and pod.status.phase not in FINISHED:
            room.take(pod, requests_of(pod))
    return list(rooms.values())


def _bind(ctx: Context[Node], pod: Pod, node: str) -> None:
    metadata = pod.metadata
    binding = Binding(
        metadata=ObjectMeta(name=metadata.name, namespace=metadata.namespace, uid=metadata.uid),
        target=ObjectReference(api_version="v1", kind="Node", name=node),
    )
    pods = ctx.client.base.resource(Pod).namespace(metadata.namespace)
    pods.create(to_plain(binding), name=metadata.name, subresource="binding")


def _missing_claims(ctx: Context[Node], pod: Pod) -> str:
    """Return which volume claim of a pod is missing or not bound; empty if none is."""
    for volume in pod.spec.volumes or ():
        source = volume.persistent_volume_claim
        if source is None:
            continue
        name, namespace = source.claim_name, pod.metadata.namespace
        claim = ctx.client.find(PersistentVolumeClaim, name, namespace)
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.status.phase != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""


def _reasons(objections: Sequence[tuple[str, Room]]) -> str:
    counts = Counter(objection for objection, _ in objections)
    if not counts:
        return "no nodes available to schedule pods"
    reasons = ", ".join(f"{count} {text}" for text, count in sorted(counts.items()))
    return f"0/{len(objections)} nodes are available: {reasons}."


def _note_unschedulable(ctx: Context[Node], pod: Pod, message: str) -> None:
    condition = PodCondition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message=message,
        last_transition_time=format_time(ctx.clock.time()),
        observed_generation=pod.metadata.generation,
    )
    conditions = with_condition(pod.status.conditions, condition)
    if conditions != pod.status.conditions:
        ctx.events.warning("FailedScheduling", message, regarding=pod)
        write_status(ctx.client, pod, replace(pod.status, conditions=conditions))
