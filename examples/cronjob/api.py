"""The kind CronJob: a Job that runs on a schedule.

``clientgo operator gen`` makes the definition in ``config/crd`` from these classes.
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
"""The annotation of a Job with the time for which it was scheduled."""


class ConcurrencyPolicy(StrEnum):
    """What to do with a Job that is due while an earlier one still runs."""

    ALLOW = "Allow"
    FORBID = "Forbid"
    REPLACE = "Replace"


class CronJobSpec(Model):
    """The desired schedule and Jobs. For limits and the deadline, 0 is not the same as absent."""

    schedule: Annotated[str, Meta(min_length=1)]
    """When Jobs are due, in cron's format."""
    job_template: JobTemplateSpec
    """The template of the Jobs."""
    starting_deadline_seconds: Annotated[int, Meta(ge=0), Format("int64")] | None = None
    """A Job that could not start within so many seconds of its time does not start."""
    concurrency_policy: ConcurrencyPolicy | None = None
    """Allow: Jobs may run at the same time. Forbid: skip a Job while another one runs. Replace:
    delete the running Job. Defaults to Allow."""
    suspend: bool | None = None
    """Start no more Jobs; running Jobs continue."""
    successful_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None
    """How many Jobs that succeeded are kept."""
    failed_jobs_history_limit: Annotated[Int32, Meta(ge=0)] | None = None
    """How many Jobs that failed are kept."""


class CronJobStatus(Conditioned):
    """The observed state."""

    active: list[ObjectReference] = []
    """The running Jobs."""
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
