"""Validation of a CronJob beyond its schema.

The webhook and the reconciler use it: an object may be older than the webhook, or the webhook may
be switched off.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from clientgo.operator.webhooks import FieldErrors, path
from clientgo.util.text.cron import CronError
from clientgo.util.text.cron_schedule import YEARS, Cron
from examples.cronjob.api import CronJob

LONGEST_NAME: Final = 63 - len("-1234567890")
"""The name of a Job is that of the CronJob with the time; it becomes a label of the pods."""


def mistakes_in(cron_job: CronJob, now: datetime) -> FieldErrors:
    """Return all errors of a CronJob."""
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
