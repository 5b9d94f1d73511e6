"""What a CronJob is: a Job that runs on a schedule.

From these classes ``config/crd.yaml`` is made.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta

from clientgo.api.batch_v1 import JobTemplateSpec
from clientgo.api.core_v1 import ObjectReference
from clientgo.api.wire import Int32, Time
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import AGE, CustomResource, Format, PrinterColumn
from clientgo.operator.status import Conditioned

GROUP: Final = "batch.example.com"

SCHEDULED_AT: Final = f"{GROUP}/scheduled-at"
"""The annotation of a Job that says when it was due; it may have been started later."""


class ConcurrencyPolicy(StrEnum):
    """What to do with a Job that is due while an earlier one still runs."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class CronJobSpec(Model):
    """What the user wants. Limits and the deadline mean something when they are 0, and something
    else when they are not there."""

    schedule: Annotated[str, Meta(min_length=1)]
    """When Jobs are due, in cron's format."""
    job_template: JobTemplateSpec
    """What the Jobs are like."""
    starting_deadline_seconds: Annotated[int, Meta(ge=0), Format("int64")] | None = None
    """A Job that could not be started so long after it was due is not started any more."""
    concurrency_policy: ConcurrencyPolicy | None = None
    """Whether a Job may run beside another one (Allow), has to wait until the next time (Forbid)
    or takes the other's place (Replace). Defaults to Allow."""
    suspend: bool | None = None
    """Start no more Jobs; those that run go on."""
    successful_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None
    """How many Jobs that succeeded are kept."""
    failed_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None
    """How many Jobs that failed are kept."""


class CronJobStatus(Conditioned):
    """What the operator has seen."""

    active: list[ObjectReference] = []
    """The Jobs that run."""
    last_schedule_time: Time | None = None
    """When the newest Job was due."""


@CustomResource(
    columns=(
        PrinterColumn("Schedule", ".spec.schedule"),
        PrinterColumn("Suspend", ".spec.suspend"),
        PrinterColumn("Last Schedule", ".status.lastScheduleTime"),
        AGE,
    ),
)
@resource(group=GROUP, version="v1", plural="cronjobs")
class CronJob(Resource):
    """Starts Jobs on a schedule."""

    spec: CronJobSpec
    status: CronJobStatus = CronJobStatus()
