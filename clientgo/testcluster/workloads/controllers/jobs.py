"""Jobs: pods that run until enough of them have succeeded.

Does not simulate pod failure policies, success policies and back-off limits per index. Pods carry
no finalizer: a finished pod that a user deletes does not count any more.

Upstream: ``pkg/controller/job``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec.structs import replace

from clientgo.api.batch_v1 import Job, JobCondition, JobStatus
from clientgo.api.core_v1 import EnvVar, Pod
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator import Context, Result, controller
from clientgo.testcluster.workloads.conditions import find_condition, is_true, with_condition
from clientgo.testcluster.workloads.controllers.claims import orphans
from clientgo.testcluster.workloads.controllers.owner import MODERATE, Owner, Plan, new_pod
from clientgo.testcluster.workloads.controllers.pod_facts import deletion_cost, is_active, is_ready

INDEX: Final = "batch.kubernetes.io/job-completion-index"

_FIRST_BACKOFF, _LONGEST_BACKOFF = 10.0, 600.0
"""Seconds from a failed pod to the next one, doubled with each failure."""


@controller(
    Job,
    owns=[Pod],
    sources=[orphans(Pod, adopted_by=Job)],
    name="jobs",
    default_filter=False,
    rate_limit=MODERATE,
)
class Jobs(Owner[Job]):
    """Keeps as many pods running as may run, until the Job is complete or has failed."""

    claims = True

    def reconcile(self, ctx: Context[Job], obj: Job) -> Result:
        if finished := finished_at(obj.status):
            return _expire(ctx, obj, finished)
        return super().reconcile(ctx, obj)

    def plan(self, ctx: Context[Job], obj: Job, owned: list[Pod]) -> Plan:
        now, spec = ctx.clock.time(), obj.spec
        active = [pod for pod in owned if is_active(pod)]
        succeeded = [pod for pod in owned if pod.status.phase == "Succeeded"]
        failed = [pod for pod in owned if pod.status.phase == "Failed"]
        indexes = {index for pod in succeeded if (index := _index_of(pod)) is not None}
        is_indexed = spec.completion_mode == "Indexed"
        done = len(indexes) if is_indexed else len(succeeded)
        status = replace(
            obj.status,
            start_time=None if spec.suspend else obj.status.start_time or format_time(now),
            active=len(active) or None,
            ready=sum(map(is_ready, active)),
            succeeded=done or None,
            # Failed pods that are gone still count.
            failed=max(len(failed), obj.status.failed or 0) or None,
            completed_indexes=(_ranges(indexes) or None) if is_indexed else None,
            terminating=sum(bool(pod.metadata.deletion_timestamp) for pod in owned),
        )
        plan = Plan(status=status)
        is_complete = done >= spec.completions if spec.completions else done > 0 and not active
        reason, message = _failure(obj, status, active, len(failed), now)
        if is_complete:
            _end(status, "Complete", "SuccessCriteriaMet", "CompletionsReached", now)
            if not (status.terminating or active):
                status.completion_time = format_time(now)
            plan.delete = active
        elif reason:
            _end(status, "Failed", "FailureTarget", reason, now, message)
            plan.delete = active
        elif spec.suspend:
            _set(status, "Suspended", "True", "JobSuspended", now, "Job suspended")
            plan.delete = active
        else:
            if find_condition(status.conditions, "Suspended"):
                _set(status, "Suspended", "False", "JobResumed", now, "Job resumed")
            self._balance(obj, plan, owned, active, done, indexes, _last_failure(failed), now)
        if spec.active_deadline_seconds is not None and status.start_time and not spec.suspend:
            left = parse_time(status.start_time) + spec.active_deadline_seconds - now
            if left > 0 and not (is_complete or reason):
                plan.again = min(left, plan.again or left)
        if finished_at(status) is not None:
            plan.again = spec.ttl_seconds_after_finished  # its own write wakes no controller
        return plan

    def _balance(
        self,
        obj: Job,
        plan: Plan,
        owned: Sequence[Pod],
        active: Sequence[Pod],
        done: int,
        indexes: set[int],
        last_failure: float | None,
        now: float,
    ) -> None:
        """Create pods up to the parallelism, or delete those beyond it."""
        spec = obj.spec
        parallelism = 1 if spec.parallelism is None else spec.parallelism
        wanted = min(parallelism, spec.completions - done) if spec.completions else parallelism
        if not spec.completions and done:
            wanted = len(active)  # one success is enough; the others end by themselves
        missing = wanted - len(active)
        if missing < 0:
            plan.delete = sorted(active, key=deletion_cost)[:-missing]
            return
        if missing and last_failure is not None:
            failures = sum(pod.status.phase == "Failed" for pod in owned)
            backoff = min(_FIRST_BACKOFF * 2 ** min(failures - 1, 10), _LONGEST_BACKOFF)
            if last_failure + backoff > now:
                plan.again = last_failure + backoff - now
                return
        taken = {pod.metadata.name for pod in owned}
        if spec.completion_mode == "Indexed":
            busy = indexes | {index for pod in active if (index := _index_of(pod)) is not None}
            free = [each for each in range(spec.completions or 0) if each not in busy][:missing]
            plan.create = [self._pod(obj, taken, index) for index in free]
        else:
            plan.create = [self._pod(obj, taken) for _ in range(missing)]

    def _pod(self, obj: Job, taken: Iterable[str], index: int | None = None) -> Pod:
        name = obj.metadata.name
        labels = {
            "batch.kubernetes.io/job-name": name,
            "job-name": name,
            "batch.kubernetes.io/controller-uid": obj.metadata.uid,
            "controller-uid": obj.metadata.uid,
        }
        if index is None:
            return new_pod(obj, obj.spec.template, self.randomness.name(name, list(taken)), labels)
        chosen = self.randomness.name(f"{name}-{index}", list(taken))
        number = str(index)
        labels[INDEX] = number
        pod = new_pod(obj, obj.spec.template, chosen, labels, {INDEX: number})
        variable = EnvVar(name="JOB_COMPLETION_INDEX", value=number)
        containers = [
            replace(each, env=[*(each.env or ()), variable]) for each in pod.spec.containers
        ]
        pod.spec = replace(pod.spec, containers=containers, hostname=f"{name}-{index}")
        return pod


def finished_at(status: JobStatus) -> float | None:
    """Return when a Job completed or failed; None if it has not."""
    for kind in ("Complete", "Failed"):
        found = find_condition(status.conditions, kind)
        if found is not None and found.status == "True" and found.last_transition_time:
            return parse_time(found.last_transition_time)
    return None


def has_succeeded(obj: Job) -> bool:
    """Return True if a Job is complete."""
    return is_true(obj.status.conditions, "Complete")


def _expire(ctx: Context[Job], obj: Job, finished: float) -> Result:
    """Delete a finished Job when its time to live is over."""
    lives = obj.spec.ttl_seconds_after_finished
    if lives is None:
        return Result.done()
    left = finished + lives - ctx.clock.time()
    if left > 0:
        return Result.requeue(left)
    ctx.client.delete(obj, propagation="Foreground")
    return Result.done()


def _failure(
    obj: Job, status: JobStatus, active: Sequence[Pod], failed: int, now: float
) -> tuple[str, str]:
    """Return reason and message of why a Job has failed; empty if it has not."""
    limit = 6 if obj.spec.backoff_limit is None else obj.spec.backoff_limit
    restarts = sum(
        each.restart_count for pod in active for each in pod.status.container_statuses or ()
    )
    if failed > limit or (limit and restarts >= limit) or (not limit and restarts):
        return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
    deadline = obj.spec.active_deadline_seconds
    if deadline is None or not status.start_time or obj.spec.suspend:
        return "", ""
    if parse_time(status.start_time) + deadline <= now:
        return "DeadlineExceeded", "Job was active longer than specified deadline"
    return "", ""


def _last_failure(failed: Iterable[Pod]) -> float | None:
    times = [
        parse_time(each.state.terminated.finished_at)
        for pod in failed
        for each in pod.status.container_statuses or ()
        if each.state.terminated and each.state.terminated.finished_at
    ]
    return max(times, default=None)


def _index_of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def _ranges(indexes: Iterable[int]) -> str:
    """Return indexes as a status has them: ``0,2-4``."""
    parts: list[list[int]] = []
    for index in sorted(indexes):
        if parts and parts[-1][1] == index - 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    return ",".join(f"{low}" if low == high else f"{low}-{high}" for low, high in parts)


def _end(
    status: JobStatus, kind: str, before: str, reason: str, now: float, message: str = ""
) -> None:
    message = message or "Reached expected number of succeeded pods"
    # What a Job comes to is said when it is decided, and once more when its last pod has ended.
    for each in (before,) if status.terminating or status.active else (before, kind):
        _set(status, each, "True", reason, now, message)
    status.active, status.ready = None, 0


def _set(status: JobStatus, kind: str, value: str, reason: str, now: float, message: str) -> None:
    at = format_time(now)
    condition = JobCondition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        last_probe_time=at,
        last_transition_time=at,
    )
    known = find_condition(status.conditions, kind)
    if known is None or (known.status, known.reason) != (value, reason):
        status.conditions = with_condition(status.conditions, condition)
