"""The controller: seven steps from a CronJob to its next Job. Read :meth:`reconcile` first.

Promises at most one Job for each start, also after restarts and with an old cache: the name of a
Job contains its time, and ``lastScheduleTime`` is stored before any Job is deleted.

Differs from kubebuilder's tutorial, whose steps it follows: ``lastScheduleTime`` never goes back,
so a history of 0 does not start a Job again; a Job that exists already and is ours is no error;
nothing is written if nothing has changed; there are conditions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from clientgo.api.batch_v1 import Job
from clientgo.api.core_v1 import ObjectReference
from clientgo.meta import AlreadyExistsError, StatusError, deep_copy
from clientgo.meta.owner_references import is_controlled_by
from clientgo.meta.timestamps import format_time, parse_time
from clientgo.operator import (
    Context,
    ErrorResult,
    Manager,
    OperatorError,
    Result,
    controller,
)
from clientgo.operator.client import RESOURCE_EXISTS
from clientgo.operator.errors import AlreadyOwnedError, OwnershipError
from clientgo.operator.permissions import rbac
from clientgo.operator.webhooks import FieldErrors
from clientgo.record import NoReferenceError, get_reference
from clientgo.rest import TransportError
from clientgo.util.text.cron_schedule import Cron
from examples.cronjob.api import GROUP, ConcurrencyPolicy, CronJob
from examples.cronjob.conditions import (
    CREATION_FAILED,
    INVALID,
    MISSED,
    TOO_MANY_MISSED,
    Trouble,
    note_activity,
    note_trouble,
)
from examples.cronjob.jobs import OWNER_INDEX, Jobs, new_job, owners_of, scheduled_at, surplus
from examples.cronjob.starts import Starts, TooManyMissedStartsError, starts_since
from examples.cronjob.validation import mistakes_in

_LONGEST_DEADLINE: Final = 100 * 365 * 86400
"""Seconds; a longer one makes no difference, and dates have an end."""

_EVERYTHING: Final = ("get", "list", "watch", "create", "update", "patch", "delete")


@rbac(groups=[GROUP], resources=["cronjobs"], verbs=_EVERYTHING)
@rbac(groups=[GROUP], resources=["cronjobs/status"], verbs=["get", "update", "patch"])
@rbac(groups=[GROUP], resources=["cronjobs/finalizers"], verbs=["update"])
@rbac(groups=["batch"], resources=["jobs"], verbs=_EVERYTHING)
@rbac(groups=["batch"], resources=["jobs/status"], verbs=["get"])
@controller(CronJob, owns=[Job])
class CronJobReconciler:
    """Starts Jobs when they are due, and deletes old ones that have ended.

    ``zone`` is the time zone of schedules. With ``source_exact`` the last start is computed from
    the Jobs alone, as in the tutorial.
    """

    def __init__(self, zone: tzinfo = UTC, *, source_exact: bool = False) -> None:
        self._zone = zone
        self._source_exact = source_exact

    def setup(self, manager: Manager) -> None:
        """Index Jobs by their CronJob."""
        manager.index(Job, OWNER_INDEX, owners_of)

    # 1: the framework has loaded the CronJob. It does not call us if the CronJob is gone.

    def reconcile(self, ctx: Context[CronJob], cron_job: CronJob) -> Result:
        jobs = self._load_jobs(ctx, cron_job)  # 2
        self._record(ctx, cron_job, jobs)
        self._clean_up_history(ctx, cron_job, jobs)  # 3
        if cron_job.spec.suspend:  # 4
            ctx.log.debug("suspended")
            return self._ended(ctx, cron_job, None)
        now = ctx.now()
        try:
            starts = self._starts(cron_job, now)  # 5
        except FieldErrors as errors:
            return self._only_an_edit_helps(ctx, cron_job, Trouble(INVALID, str(errors)))
        except TooManyMissedStartsError as error:
            return self._only_an_edit_helps(ctx, cron_job, Trouble(TOO_MANY_MISSED, str(error)))
        trouble = self._start_what_is_due(ctx, cron_job, jobs, starts)  # 6
        result = self._ended(ctx, cron_job, trouble)
        return result if starts.next is None else result.after(starts.next - now)  # 7

    def on_error(self, ctx: Context[CronJob], cron_job: CronJob, error: Exception) -> ErrorResult:
        """Write the status of the failed run; the run is retried."""
        return ErrorResult.status(cron_job)

    # 2: load the Jobs

    def _load_jobs(self, ctx: Context[CronJob], cron_job: CronJob) -> Jobs:
        name, namespace = cron_job.metadata.name, cron_job.metadata.namespace
        return Jobs.sorted_out(
            ctx.client.list(Job, namespace=namespace, fields={OWNER_INDEX: name})
        )

    def _record(self, ctx: Context[CronJob], cron_job: CronJob, jobs: Jobs) -> None:
        """Store the status before any Job is deleted."""
        ctx.log.debug(
            "Jobs",
            active=len(jobs.active),
            successful=len(jobs.successful),
            failed=len(jobs.failed),
        )
        before = deep_copy(cron_job.status)
        self._observe(ctx, cron_job, jobs)
        if cron_job.status != before:
            written = ctx.client.status.update(cron_job)
            cron_job.metadata.resource_version = written.metadata.resource_version

    def _observe(self, ctx: Context[CronJob], cron_job: CronJob, jobs: Jobs) -> None:
        """Compute the status from the Jobs; only ``lastScheduleTime`` is kept."""
        status = cron_job.status
        marks = list(_marks(ctx, jobs.all()))
        if status.last_schedule_time and not self._source_exact:
            marks.append(parse_time(status.last_schedule_time))
        status.last_schedule_time = format_time(max(marks)) if marks else None
        status.active = list(_references(ctx, jobs.active))
        note_activity(cron_job, ctx.clock)

    # 3: delete old Jobs

    def _clean_up_history(self, ctx: Context[CronJob], cron_job: CronJob, jobs: Jobs) -> None:
        spec = cron_job.spec
        for ended, limit in (
            (jobs.failed, spec.failed_jobs_history_limit),
            (jobs.successful, spec.successful_jobs_history_limit),
        ):
            for job in [] if limit is None else surplus(ended, limit):
                try:
                    ctx.client.delete(job, propagation="Background")
                except (StatusError, TransportError) as error:
                    ctx.log.warning("an old Job stays for now", job=job, error=str(error))
                else:
                    ctx.log.debug("deleted an old Job", job=job)

    # 5: find what is due

    def _starts(self, cron_job: CronJob, now: datetime) -> Starts:
        mistakes_in(cron_job, now).raise_if_any()
        last = cron_job.status.last_schedule_time or cron_job.metadata.creation_timestamp
        assert last, "the API server says when it created the object"
        return starts_since(
            datetime.fromtimestamp(parse_time(last), UTC),
            now,
            Cron.parse(cron_job.spec.schedule, tz=self._zone),
            _deadline(cron_job),
        )

    def _only_an_edit_helps(
        self, ctx: Context[CronJob], cron_job: CronJob, trouble: Trouble
    ) -> Result:
        """End without an error and without a requeue: only an edit can help."""
        ctx.log.error("nothing is started any more", reason=trouble.reason, error=trouble.message)
        ctx.events.warning(trouble.reason, trouble.message)
        return self._ended(ctx, cron_job, trouble)

    # 6: start it

    def _start_what_is_due(
        self, ctx: Context[CronJob], cron_job: CronJob, jobs: Jobs, starts: Starts
    ) -> Trouble | None:
        """Start the missed Job if the policy allows it; return what is wrong, or None."""
        missed, policy = starts.missed, cron_job.spec.concurrency_policy
        now = ctx.now()
        log = ctx.log.bind(now=now, due=missed, next_run=starts.next)
        late = _past_deadline(starts.given_up) if starts.given_up else None
        if missed is None:
            log.debug("nothing is due")
            return late
        deadline = _deadline(cron_job)
        if deadline is not None and missed + deadline < now:
            log.info("too late")
            return _past_deadline(missed)
        if policy is ConcurrencyPolicy.FORBID and jobs.active:
            log.info("an earlier Job still runs", active=len(jobs.active))
            return late
        try:
            if policy is ConcurrencyPolicy.REPLACE:
                self._delete_active(ctx, jobs)
            job = self._create(ctx, cron_job, missed)
        except (OwnershipError, AlreadyOwnedError) as error:
            log.error("no Job can be made of the template", error=str(error))
            return Trouble(CREATION_FAILED, str(error))
        except (StatusError, TransportError, OperatorError) as error:
            note_trouble(cron_job, ctx.clock, Trouble(CREATION_FAILED, str(error)))
            raise
        jobs.add(job)
        self._observe(ctx, cron_job, jobs)
        log.info("started", job=job)
        return None

    def _delete_active(self, ctx: Context[CronJob], jobs: Jobs) -> None:
        while jobs.active:
            ctx.client.delete(jobs.active[-1], propagation="Background")
            jobs.active.pop()

    def _create(self, ctx: Context[CronJob], cron_job: CronJob, due: datetime) -> Job:
        """Create the Job; return the existing one if the cache did not have it yet."""
        job = ctx.own(new_job(cron_job, due))
        name, namespace = job.metadata.name, job.metadata.namespace
        try:
            return ctx.client.create(job)
        except AlreadyExistsError:
            there = ctx.client.live.get(Job, name, namespace)
            if is_controlled_by(there, cron_job):
                return there
            message = f"Job {name!r} exists already and has another owner"
            ctx.events.warning(RESOURCE_EXISTS, message, related=there)
            raise OperatorError(f"{message}; delete or rename it") from None

    def _ended(self, ctx: Context[CronJob], cron_job: CronJob, trouble: Trouble | None) -> Result:
        note_trouble(cron_job, ctx.clock, trouble)
        return Result.status(cron_job)


def _marks(ctx: Context[CronJob], jobs: Iterable[Job]) -> Iterator[float]:
    """Return the times for which Jobs were scheduled."""
    for job in jobs:
        try:
            due = scheduled_at(job)
        except ValueError as error:
            ctx.log.warning("a Job does not say when it was due", job=job, error=str(error))
        else:
            if due is not None:
                yield due.timestamp()


def _references(ctx: Context[CronJob], jobs: Iterable[Job]) -> Iterator[ObjectReference]:
    for job in jobs:
        try:
            reference = get_reference(job)
        except NoReferenceError as error:
            ctx.log.warning("a Job cannot be referred to", job=job, error=str(error))
        else:
            # The version changes with every step of the Job, and would cause a write of the status.
            reference.resource_version = None
            yield reference


def _deadline(cron_job: CronJob) -> timedelta | None:
    seconds = cron_job.spec.starting_deadline_seconds
    return None if seconds is None else timedelta(seconds=min(seconds, _LONGEST_DEADLINE))


def _past_deadline(due: datetime) -> Trouble:
    return Trouble(MISSED, f"The start of {due.isoformat()} was not made before its deadline.")
