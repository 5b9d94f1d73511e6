"""The webhooks that the API server calls before it stores a CronJob."""

from __future__ import annotations

from datetime import UTC, datetime

from clientgo.operator.webhooks import AdmissionContext, FieldErrors, default, validate
from examples.cronjob.api import ConcurrencyPolicy, CronJob
from examples.cronjob.validation import mistakes_in


@default(CronJob, name="mcronjob.kb.io")
def fill_in(cron_job: CronJob, _ctx: AdmissionContext) -> None:
    """Set defaults. A limit of 0 is kept."""
    spec = cron_job.spec
    spec.concurrency_policy = spec.concurrency_policy or ConcurrencyPolicy.ALLOW
    spec.suspend = bool(spec.suspend)
    if spec.successful_jobs_history_limit is None:
        spec.successful_jobs_history_limit = 3
    if spec.failed_jobs_history_limit is None:
        spec.failed_jobs_history_limit = 1


@validate(CronJob, name="vcronjob.kb.io")
def check(cron_job: CronJob, _old: CronJob | None, _ctx: AdmissionContext) -> FieldErrors:
    """Refuse invalid CronJobs."""
    return mistakes_in(cron_job, datetime.now(UTC))
