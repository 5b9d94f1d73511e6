"""What is wrong with a CronJob beyond what its schema can say.

The webhook refuses it, and the operator does not work with it: an object may be older than the
webhook, or the webhook switched off.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from clientgo.operator.webhooks import FieldErrors, path
from examples.cronjob.api import CronJob
from examples.cronjob.cron import YEARS, Cron, CronError

LONGEST_NAME: Final = 63 - len("-1234567890")
"""The name of a Job, which becomes a label of its pods, is this one's and the time it was due."""


def mistakes_in(cron_job: CronJob, now: datetime) -> FieldErrors:
    """All of them; empty for one that is in order."""
    errors = FieldErrors()
    name, schedule = cron_job.metadata.name, cron_job.spec.schedule
    if len(name) > LONGEST_NAME:
        errors.invalid(path("metadata", "name"), name, f"at most {LONGEST_NAME} characters")
    if objection := _objection(schedule, now):
        errors.invalid(path("spec", "schedule"), schedule, objection)
    return errors


def _objection(schedule: str, now: datetime) -> str:
    try:
        due = Cron.parse(schedule).next(now)
    except CronError as error:
        return str(error)
    return "" if due is not None else f"it is not due within {YEARS} years"
