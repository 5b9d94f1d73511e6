"""The Jobs of a CronJob: owner, state, time, and new ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from clientgo.api.batch_v1 import Job
from clientgo.meta import ObjectMeta, deep_copy
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator.mappers import owner_index
from examples.cronjob.api import SCHEDULED_AT, CronJob

OWNER_INDEX, owners_of = owner_index(CronJob)
"""Jobs by the name of the CronJob that controls them."""


@dataclass(slots=True)
class Jobs:
    """The Jobs of one CronJob, by state."""

    active: list[Job] = field(default_factory=list)
    successful: list[Job] = field(default_factory=list)
    failed: list[Job] = field(default_factory=list)

    @classmethod
    def sorted_out(cls, jobs: Iterable[Job]) -> Self:
        """Sort Jobs by their conditions; a Job without Complete or Failed is active."""
        sorted_out = cls()
        for job in jobs:
            sorted_out.add(job)
        return sorted_out

    def add(self, job: Job) -> None:
        match _ending(job):
            case "Complete":
                self.successful.append(job)
            case "Failed":
                self.failed.append(job)
            case _:
                self.active.append(job)

    def all(self) -> list[Job]:
        return [*self.active, *self.successful, *self.failed]


def _ending(job: Job) -> str | None:
    return next(
        (
            condition.type
            for condition in job.status.conditions or ()
            if condition.type in ("Complete", "Failed") and condition.status == "True"
        ),
        None,
    )


def scheduled_at(job: Job) -> datetime | None:
    """Return the time for which a Job was scheduled, or None. Raises ``ValueError``."""
    text = job.metadata.annotations.get(SCHEDULED_AT)
    return None if text is None else datetime.fromtimestamp(parse_time(text), UTC)


def surplus(ended: Iterable[Job], limit: int) -> list[Job]:
    """Return all but the ``limit`` newest Jobs; Jobs that never began are the oldest."""
    by_age = sorted(ended, key=lambda job: _began(job))
    return by_age[: max(len(by_age) - limit, 0)]


def _began(job: Job) -> float:
    return parse_time(job.status.start_time) if job.status.start_time else float("-inf")


def new_job(cron_job: CronJob, due: datetime) -> Job:
    """Return the Job due at a time. The time is in its name, so it cannot be created twice."""
    template = cron_job.spec.job_template
    said = template.metadata
    metadata = ObjectMeta(
        name=f"{cron_job.metadata.name}-{int(due.timestamp())}",
        namespace=cron_job.metadata.namespace,
        labels=dict(said.labels),
        annotations={**said.annotations, SCHEDULED_AT: format_time(due.timestamp())},
    )
    return Job(metadata=metadata, spec=deep_copy(template.spec))
