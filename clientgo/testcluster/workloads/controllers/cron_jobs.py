"""CronJobs: a Job whenever the schedule says so.

Upstream: ``pkg/controller/cronjob``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from clientgo.api.batch_v1 import CronJob, Job
from clientgo.api.core_v1 import ObjectReference
from clientgo.meta import ObjectMeta
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator import Context, controller
from clientgo.testcluster.workloads.controllers.jobs import finished_at, has_succeeded
from clientgo.testcluster.workloads.controllers.owner import Owner, Plan
from clientgo.util.text.cron_schedule import Cron

_SCHEDULED: Final = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_MOST_MISSED: Final = 100
"""Starts in a row that are counted; of those that were missed only the last is made up for."""


@controller(CronJob, owns=[Job], name="cronjobs")
class CronJobs(Owner[CronJob]):
    """Starts Jobs, and keeps as many finished ones as the history limits allow."""

    owned = Job

    def plan(self, ctx: Context[CronJob], obj: CronJob, owned: list[Job]) -> Plan:
        now, spec = ctx.clock.time(), obj.spec
        active = [job for job in owned if finished_at(job.status) is None]
        succeeded = [job for job in owned if has_succeeded(job)]
        failed = [job for job in owned if job not in active and job not in succeeded]
        plan = Plan()
        status = replace(obj.status, active=[_reference(job) for job in active] or None)
        if succeeded:
            last = max(job.status.completion_time or "" for job in succeeded)
            status.last_successful_time = max(last, status.last_successful_time or "")
        plan.delete = [
            *_oldest(succeeded, 3, spec.successful_jobs_history_limit),
            *_oldest(failed, 1, spec.failed_jobs_history_limit),
        ]
        plan.status = status
        if spec.suspend:
            return plan
        due, upcoming = _starts(obj, now)
        plan.again = None if upcoming is None else upcoming - now
        if due is None:
            return plan
        if _name(obj, due) in {job.metadata.name for job in owned}:
            status.last_schedule_time = format_time(due)
            return plan
        late = spec.starting_deadline_seconds is not None and (
            now - due > spec.starting_deadline_seconds
        )
        if late or (spec.concurrency_policy == "Forbid" and active):
            return plan
        if spec.concurrency_policy == "Replace":
            plan.delete = [*plan.delete, *active]
        plan.create = [_job(obj, due)]
        plan.events = [("SuccessfulCreate", f"Created job {_name(obj, due)}")]
        return plan


def _starts(obj: CronJob, now: float) -> tuple[float | None, float | None]:
    """Return the latest start that is due since the last one, and the next."""
    zone = ZoneInfo(obj.spec.time_zone) if obj.spec.time_zone else UTC
    cron = Cron.parse(obj.spec.schedule, tz=zone)
    last = obj.status.last_schedule_time or obj.metadata.creation_timestamp
    moment = datetime.fromtimestamp(now, UTC)
    since = datetime.fromtimestamp(parse_time(last), UTC) if last else moment
    upcoming = cron.next(moment)
    due = None
    for _ in range(_MOST_MISSED):
        found = cron.next(since)
        if found is None or found > moment:
            break
        due = since = found
    return (
        None if due is None else due.timestamp(),
        None if upcoming is None else upcoming.timestamp(),
    )


def _name(obj: CronJob, due: float) -> str:
    """Return the name of the Job of one start, so that it is never made twice."""
    return f"{obj.metadata.name}-{int(due) // 60}"


def _job(obj: CronJob, due: float) -> Job:
    template = obj.spec.job_template
    return Job(
        metadata=ObjectMeta(
            name=_name(obj, due),
            namespace=obj.metadata.namespace,
            labels=template.metadata.labels,
            annotations={**template.metadata.annotations, _SCHEDULED: format_time(due)},
        ),
        spec=template.spec,
    )


def _reference(job: Job) -> ObjectReference:
    metadata = job.metadata
    return ObjectReference(
        api_version="batch/v1",
        kind="Job",
        name=metadata.name,
        namespace=metadata.namespace,
        uid=metadata.uid,
    )


def _oldest(jobs: Sequence[Job], default: int, limit: int | None) -> list[Job]:
    """Return the finished Jobs beyond a history limit."""
    by_age = sorted(jobs, key=lambda job: (job.status.start_time or "", job.metadata.name))
    kept = default if limit is None else limit
    return by_age[: max(len(by_age) - kept, 0)]
