"""The conditions of a CronJob.

``Available``: Jobs are started. ``Progressing``: a Job is running. ``Degraded``: something is wrong
that a user should look at; it becomes False when the cause is gone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from clientgo.operator.status import set_condition
from clientgo.util.clock import Clock
from examples.cronjob.api import CronJob


@dataclass(frozen=True, slots=True)
class Trouble:
    """A reason for being degraded."""

    reason: str
    message: str


INVALID: Final = "InvalidSchedule"
TOO_MANY_MISSED: Final = "TooManyMissedStarts"
MISSED: Final = "MissedSchedule"
CREATION_FAILED: Final = "JobCreationFailed"


def note_activity(cron_job: CronJob, clock: Clock) -> None:
    """Set Available and Progressing from the spec and the active Jobs."""
    running = len(cron_job.status.active)
    if cron_job.spec.suspend:
        _set(cron_job, clock, "Available", False, "Suspended", "No Jobs are started.")
    elif running:
        _set(cron_job, clock, "Available", True, "JobsActive", "Jobs are started, and run.")
    else:
        _set(cron_job, clock, "Available", True, "AllJobsCompleted", "All Jobs have ended.")
    if running:
        _set(cron_job, clock, "Progressing", True, "JobsActive", f"Jobs that run: {running}.")
    else:
        _set(cron_job, clock, "Progressing", False, "NoJobsActive", "No Job runs.")


def note_trouble(cron_job: CronJob, clock: Clock, trouble: Trouble | None) -> None:
    """Set Degraded."""
    if trouble is None:
        _set(cron_job, clock, "Degraded", False, "AsExpected", "Nothing is wrong.")
    else:
        _set(cron_job, clock, "Degraded", True, trouble.reason, trouble.message)


def _set(
    cron_job: CronJob, clock: Clock, type_: str, is_so: bool, reason: str, message: str
) -> None:
    set_condition(
        cron_job.status.conditions,
        type_,
        is_so,
        reason,
        message,
        generation=cron_job.metadata.generation,
        clock=clock,
    )
