"""The life of one pod, as its status shows it.

::

    new ──► pulling ──► running ──► finished
               │           │  ▲
               ▼           ▼  │
            pull-failed   exited

Promises that the next status is a function of the pod, its stages and the time: a kubelet that
starts again continues where another one stopped.

Does not promise probes, hooks or init containers that take time: containers start together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from msgspec.structs import replace

from clientgo.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    HostIP,
    Pod,
    PodCondition,
    PodIP,
    PodStatus,
)
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.testcluster.workloads.conditions import is_true, with_condition
from clientgo.testcluster.workloads.pods.stages import Exit, Pull, Ready, Rules
from clientgo.testcluster.workloads.randomness import Randomness, digest

PULL_BACKOFF: Final = 2.0
"""Seconds from ErrImagePull to ImagePullBackOff."""

_SIGTERM: Final = 143
_SIGKILL: Final = 137
"""Exit codes of containers that these signals end."""

_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 300.0
"""Seconds from the second exit to the next start, doubled each time."""


@dataclass(frozen=True)
class Place:
    """Where a pod runs, and the addresses that it gets there."""

    host_ip: str
    pod_ip: str


@dataclass(frozen=True)
class Since:
    """When a pod came to where it is; statuses have whole seconds only."""

    situation: str
    at: float


@dataclass(frozen=True)
class Step:
    """The status of a pod now, since when, and in how many seconds it changes by itself."""

    status: PodStatus
    since: Since
    due: float | None = None


class Lifecycle:
    """Computes steps. Immutable."""

    def __init__(self, rules: Rules, randomness: Randomness) -> None:
        self._rules = rules
        self._randomness = randomness

    def step(self, pod: Pod, place: Place, now: float, known: Since | None = None) -> Step:
        """Return how a pod that was bound and is not being deleted looks by now."""
        status, situation = pod.status, situation_of(pod.status)
        since = known or Since(situation, _started(pod, now))
        if since.situation != situation:
            since = Since(situation, now)
        for _ in range(10):
            changed, at = self._next(pod, status, place, since, now)
            if changed is None or at is None or at > now:
                seen = _with_generation(status, pod.metadata.generation)
                return Step(seen, since, None if at is None else at - now)
            status, situation = changed, situation_of(changed)
            if situation != since.situation:
                since = Since(situation, at)
        return Step(status, since, 0.001)

    def end_of(self, pod: Pod, now: float) -> float:
        """Return in how many seconds a pod that is being deleted is gone."""
        metadata = pod.metadata
        grace = metadata.deletion_grace_period_seconds or 0
        assert metadata.deletion_timestamp is not None
        began = parse_time(metadata.deletion_timestamp) - grace
        delay = self._rules.stage("terminate", pod).seconds(pod, self._randomness)
        return float(max(began + min(delay, grace) - now, 0.0))

    def _next(
        self, pod: Pod, status: PodStatus, place: Place, since: Since, now: float
    ) -> tuple[PodStatus | None, float | None]:
        """Return the next status and when it is due; the status is None if there is none."""
        situation = since.situation.partition(" ")[0]
        if situation == "new":
            return _accepted(pod, place, now), now
        if situation in ("pulling", "pull-failed", "pull-backoff"):
            return self._pulled(pod, status, place, since, now)
        if situation == "running":
            return self._running(pod, status, since, now)
        if situation == "exited":
            at = since.at + _backoff(_restarts(status))
            return _running_again(status, now), at
        return None, None

    def _pulled(
        self, pod: Pod, status: PodStatus, place: Place, since: Since, now: float
    ) -> tuple[PodStatus | None, float | None]:
        pulls: list[Pull] = [
            self._rules.stage("pull", pod, each.image or "") for each in pod.spec.containers
        ]
        errors = [pull.error for pull in pulls]
        if not any(errors):
            wait = max(pull.seconds(pod, self._randomness) for pull in pulls)
            at = since.at + wait if since.situation == "pulling" else now
            return _started_first(pod, status, place, now), at
        if since.situation == "pulling":
            wait = max(pull.seconds(pod, self._randomness) for pull in pulls)
            return _waiting(pod, status, errors, backoff=False), since.at + wait
        if since.situation == "pull-failed":
            return _waiting(pod, status, errors, backoff=True), since.at + PULL_BACKOFF
        return None, None

    def _running(
        self, pod: Pod, status: PodStatus, since: Since, now: float
    ) -> tuple[PodStatus | None, float | None]:
        end = self._end(pod, status, since)
        limit = pod.spec.active_deadline_seconds
        if limit is not None and status.start_time:
            at = parse_time(status.start_time) + limit
            if at <= now and (end is None or at <= end):
                return _deadline_exceeded(pod, status, now), at
            end = at if end is None else min(end, at)
        if end is not None and end <= now:
            return _exited(pod, status, self._rules.stage("exit", pod).code, now), end
        ready, until = self._readiness(pod, since.at, now)
        if ready != is_true(status.conditions, "ContainersReady"):
            return _with_readiness(pod, status, now, ready=ready), now
        gates_met = _gates_met(pod, status)
        if (ready and gates_met) != is_true(status.conditions, "Ready"):
            return _with_readiness(pod, status, now, ready=ready), now
        times = [at for at in (end, until) if at is not None]
        return status, min(times, default=None)

    def _end(self, pod: Pod, status: PodStatus, since: Since) -> float | None:
        """Return when the containers end; None if they run for ever."""
        stage: Exit = self._rules.stage("exit", pod)
        restarts = _restarts(status)
        if stage.never or (stage.times is not None and restarts >= stage.times):
            return None
        return since.at + stage.seconds(pod, self._randomness, restarts)

    def _readiness(self, pod: Pod, started: float, now: float) -> tuple[bool, float | None]:
        """Return whether the containers are ready, and when that changes."""
        stage: Ready = self._rules.stage("ready", pod)
        if stage.never:
            return False, None
        probes = [each.readiness_probe for each in pod.spec.containers if each.readiness_probe]
        initial = max((probe.initial_delay_seconds or 0 for probe in probes), default=0)
        wait = stage.seconds(pod, self._randomness) or float(initial)
        age = now - started - wait
        if age < 0:
            return False, started + wait
        if stage.flap is None:
            return True, None
        ready, left = stage.flap.at(age)
        return ready, now + left


def situation_of(status: PodStatus) -> str:
    """Return where in its life a pod is; a restart makes another situation."""
    containers = status.container_statuses or ()
    if status.phase in ("Succeeded", "Failed"):
        return "finished"
    if not status.start_time or not containers:
        return "new"
    if any(each.state.running for each in containers):
        return f"running {_restarts(status)}"
    reasons = {each.state.waiting.reason for each in containers if each.state.waiting}
    if "ErrImagePull" in reasons:
        return "pull-failed"
    if "ImagePullBackOff" in reasons:
        return "pull-backoff"
    if any(each.last_state.terminated or each.state.terminated for each in containers):
        return f"exited {_restarts(status)}"
    return "pulling"


def _started(pod: Pod, now: float) -> float:
    """Return when the situation of a pod began, as far as its status tells."""
    texts: list[str | None] = []
    for each in pod.status.container_statuses or ():
        state = each.state
        if state.running:
            texts.append(state.running.started_at)
        elif each.last_state.terminated:
            texts.append(each.last_state.terminated.finished_at)
    known = [parse_time(text) for text in texts if text]
    if not known and pod.status.start_time:
        known = [parse_time(pod.status.start_time)]
    return min(max(known), now) if known else now


def _restarts(status: PodStatus) -> int:
    return max((each.restart_count for each in status.container_statuses or ()), default=0)


def _backoff(restarts: int) -> float:
    """Return the seconds from an exit to the next start; the first restart is immediate."""
    if not restarts:
        return 0.0
    return float(min(_FIRST_BACKOFF * 2 ** min(restarts - 1, 10), _LONGEST_BACKOFF))


# Statuses

_OF_KUBELETS: Final = frozenset(
    {"ContainersReady", "Initialized", "PodReadyToStartContainers", "PodScheduled", "Ready"}
)
"""Types of the conditions that kubelets write."""


def _with_generation(status: PodStatus, generation: int | None) -> PodStatus:
    """Return a status that says which spec of the pod it is about."""
    conditions = [
        replace(each, observed_generation=generation) if each.type in _OF_KUBELETS else each
        for each in status.conditions or ()
    ]
    return replace(status, observed_generation=generation, conditions=conditions or None)


def _accepted(pod: Pod, place: Place, now: float) -> PodStatus:
    waiting = "PodInitializing" if pod.spec.init_containers else "ContainerCreating"
    status = replace(
        pod.status,
        phase="Pending",
        start_time=format_time(now),
        host_ip=place.host_ip,
        host_ips=[HostIP(ip=place.host_ip)],
        container_statuses=[_new(each, waiting) for each in pod.spec.containers],
        init_container_statuses=[
            _new(each, "PodInitializing") for each in pod.spec.init_containers or ()
        ]
        or None,
    )
    return _conditions(status, now, containers_ready=False, ready=False, initialized=True)


def _new(container: Container, reason: str, message: str | None = None) -> ContainerStatus:
    return ContainerStatus(
        name=container.name,
        image=container.image or "",
        image_id="",
        ready=False,
        started=False,
        restart_count=0,
        state=ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message)),
    )


def _waiting(pod: Pod, status: PodStatus, errors: Sequence[str], *, backoff: bool) -> PodStatus:
    """Return a status with the containers whose image can't be pulled."""
    statuses = []
    for container, error in zip(pod.spec.containers, errors, strict=True):
        image = container.image or ""
        if not error:
            statuses.append(_new(container, "ContainerCreating"))
        elif backoff:
            text = f'Back-off pulling image "{image}": ErrImagePull: {error}'
            statuses.append(_new(container, "ImagePullBackOff", text))
        else:
            text = f'failed to pull image "{image}": {error}'
            statuses.append(_new(container, "ErrImagePull", text))
    return replace(status, container_statuses=statuses)


def _started_first(pod: Pod, status: PodStatus, place: Place, now: float) -> PodStatus:
    at = format_time(now)
    running = ContainerState(running=ContainerStateRunning(started_at=at))

    def started(container: Container) -> ContainerStatus:
        name, image = container.name, container.image or ""
        return ContainerStatus(
            name=name,
            image=image,
            image_id=f"{image}@sha256:{digest(image, 12)}",
            container_id=f"simulated://{digest(pod.metadata.uid + name, 20)}",
            ready=False,
            started=True,
            restart_count=0,
            state=running,
        )

    done = ContainerState(
        terminated=ContainerStateTerminated(
            exit_code=0, reason="Completed", started_at=at, finished_at=at
        )
    )
    first = []
    for container in pod.spec.init_containers or ():
        begun = started(container)
        if container.restart_policy != "Always":
            begun = replace(begun, ready=True, started=False, state=done)
        else:
            begun = replace(begun, ready=True)
        first.append(begun)
    return replace(
        status,
        phase="Running",
        pod_ip=place.pod_ip,
        pod_ips=[PodIP(ip=place.pod_ip)],
        container_statuses=[started(each) for each in pod.spec.containers],
        init_container_statuses=first or None,
    )


def _running_again(status: PodStatus, now: float) -> PodStatus:
    running = ContainerState(running=ContainerStateRunning(started_at=format_time(now)))
    statuses = [
        replace(
            each,
            state=running,
            last_state=each.last_state if each.last_state.terminated else each.state,
            restart_count=each.restart_count + 1,
            started=True,
        )
        for each in status.container_statuses or ()
    ]
    return replace(status, phase="Running", container_statuses=statuses)


def _exited(pod: Pod, status: PodStatus, code: int, now: float) -> PodStatus:
    """Return a status whose containers have ended; the restart policy decides what follows."""
    policy = pod.spec.restart_policy or "Always"
    for_good = policy == "Never" or (policy == "OnFailure" and not code)
    backoff = _backoff(_restarts(status))

    def ended(each: ContainerStatus) -> ContainerStatus:
        state = ContainerState(
            terminated=ContainerStateTerminated(
                exit_code=code,
                reason="Error" if code else "Completed",
                container_id=each.container_id,
                started_at=each.state.running.started_at if each.state.running else None,
                finished_at=format_time(now),
            )
        )
        each = replace(each, ready=False, started=False)
        if for_good or not backoff:
            return replace(each, state=state)
        message = (
            f"back-off {backoff:.0f}s restarting failed container={each.name} "
            f"pod={pod.metadata.name}_{pod.metadata.namespace}({pod.metadata.uid})"
        )
        waiting = ContainerStateWaiting(reason="CrashLoopBackOff", message=message)
        return replace(each, state=ContainerState(waiting=waiting), last_state=state)

    status = replace(
        status, container_statuses=[ended(each) for each in status.container_statuses or ()]
    )
    if for_good:
        status.phase = "Failed" if code else "Succeeded"
    reason = None if code or not for_good else "PodCompleted"
    return _conditions(status, now, containers_ready=False, ready=False, reason=reason)


def terminated(pod: Pod, now: float, code: int = _SIGTERM) -> PodStatus:
    """Return the status of a pod whose containers have been stopped for good."""
    never = replace(pod.spec, restart_policy="Never")
    return _exited(Pod(metadata=pod.metadata, spec=never), pod.status, code, now)


def _deadline_exceeded(pod: Pod, status: PodStatus, now: float) -> PodStatus:
    stopped = Pod(metadata=pod.metadata, spec=pod.spec, status=status)
    ended = terminated(stopped, now, _SIGKILL)
    message = "Pod was active on the node longer than the specified deadline"
    return replace(ended, phase="Failed", reason="DeadlineExceeded", message=message)


def _with_readiness(pod: Pod, status: PodStatus, now: float, *, ready: bool) -> PodStatus:
    statuses = [replace(each, ready=ready) for each in status.container_statuses or ()]
    status = replace(status, container_statuses=statuses)
    return _conditions(status, now, containers_ready=ready, ready=ready and _gates_met(pod, status))


def _gates_met(pod: Pod, status: PodStatus) -> bool:
    gates = pod.spec.readiness_gates or ()
    return all(is_true(status.conditions, gate.condition_type) for gate in gates)


def _conditions(
    status: PodStatus,
    now: float,
    *,
    containers_ready: bool,
    ready: bool,
    initialized: bool = False,
    reason: str | None = None,
) -> PodStatus:
    """Return a status with the conditions of the kubelet."""
    conditions = list(status.conditions or ())
    values = {"ContainersReady": containers_ready, "Ready": ready}
    if initialized:
        values = {"PodReadyToStartContainers": True, "Initialized": True} | values
        values["PodScheduled"] = True
    for kind, value in values.items():
        unready = kind in ("ContainersReady", "Ready") and not value
        condition = PodCondition(
            type=kind,
            status=str(value),
            last_transition_time=format_time(now),
            reason=(reason or "ContainersNotReady") if unready else None,
        )
        conditions = with_condition(conditions, condition)
    return replace(status, conditions=conditions)
