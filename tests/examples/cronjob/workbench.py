"""The reconciler by itself: a cluster of dictionaries, a clock that the test sets, no threads."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from types import SimpleNamespace
from typing import Any

from clientgo.api.batch_v1 import Job, JobCondition, JobSpec, JobStatus, JobTemplateSpec
from clientgo.api.core_v1 import Container, PodSpec, PodTemplateSpec
from clientgo.meta import AlreadyExistsError, NotFoundError, ObjectMeta, deep_copy
from clientgo.meta.timestamps import format_time
from clientgo.operator import Result
from clientgo.operator.client import set_controller_reference
from clientgo.operator.result import Write
from clientgo.operator.runs.run_fields import BoundLogger
from clientgo.testing import FakeClock
from examples.cronjob.api import SCHEDULED_AT, CronJob, CronJobSpec
from examples.cronjob.jobs import OWNER_INDEX, owners_of
from examples.cronjob.reconciler import CronJobReconciler


def at(text: str) -> datetime:
    """``"10:30"`` of 1 March 2026, or a whole RFC 3339 time, in UTC."""
    return datetime.fromisoformat(text if "T" in text else f"2026-03-01T{text}:00+00:00")


def template(**metadata: Any) -> JobTemplateSpec:
    container = Container(name="hello", image="busybox", args=["/bin/sh", "-c", "date"])
    pod = PodSpec(containers=[container], restart_policy="OnFailure")
    return JobTemplateSpec(
        metadata=ObjectMeta(**metadata), spec=JobSpec(template=PodTemplateSpec(spec=pod))
    )


def cron_job(schedule: str = "*/5 * * * *", **spec: Any) -> CronJob:
    spec.setdefault("job_template", template())
    return CronJob(
        metadata=ObjectMeta(name="backup", namespace="default"),
        spec=CronJobSpec(schedule=schedule, **spec),
    )


class Workbench:
    """A CronJob that was created at 10:00, its Jobs, and what is done to them.

    ``requests`` has every write, ``failures`` what the API server answers to a verb instead of
    doing it. ``stale`` hides Jobs from the cache.
    """

    def __init__(
        self,
        schedule: str = "*/5 * * * *",
        *,
        now: str = "10:02",
        zone: tzinfo = UTC,
        source_exact: bool = False,
        **spec: Any,
    ) -> None:
        self.reconciler = CronJobReconciler(zone, source_exact=source_exact)
        self.cron_job = cron_job(schedule, **spec)
        metadata = self.cron_job.metadata
        metadata.uid, metadata.resource_version, metadata.generation = "u-1", "1", 1
        metadata.creation_timestamp = format_time(at("10:00").timestamp())
        self.clock = FakeClock(wall=at(now).timestamp())
        self.jobs: dict[str, Job] = {}
        self.requests: list[str] = []
        self.failures: dict[str, Exception] = {}
        self.warnings: list[str] = []
        self.stale = False
        self.before_write: Callable[[str], None] = lambda _verb: None

    # What a test says

    def set_time(self, now: datetime) -> None:
        self.clock.step(now.timestamp() - self.clock.time())

    def add_job(
        self,
        due: str | None = "10:00",
        *,
        ended: str = "",
        started: str | None = None,
        name: str = "",
        uid: str = "u-1",
    ) -> Job:
        """A Job of the CronJob that was due at a time; ``ended`` is Complete or Failed."""
        owner = deep_copy(self.cron_job)
        owner.metadata.uid = uid
        annotations = {}
        if due is not None:
            annotations[SCHEDULED_AT] = due if "x" in due else format_time(at(due).timestamp())
        job = Job(
            metadata=ObjectMeta(
                name=name or f"job-{len(self.jobs)}",
                namespace="default",
                uid=f"j-{len(self.jobs)}",
                annotations=annotations,
            ),
            spec=template().spec,
        )
        set_controller_reference(owner, job)
        if started is not None:
            job.status.start_time = format_time(at(started).timestamp())
        self.jobs[job.metadata.name] = job
        if ended:
            self.end(job, ended)
        return job

    def end(self, job: Job, how: str = "Complete") -> None:
        job.status = JobStatus(
            start_time=job.status.start_time, conditions=[JobCondition(type=how, status="True")]
        )

    # What happens

    def reconcile(self) -> Result:
        """One run as the framework makes it; returns its result."""
        obj = self.obj = CronJob(
            metadata=copy.copy(self.cron_job.metadata),
            spec=self.cron_job.spec,
            status=deep_copy(self.cron_job.status),
        )
        result = self.reconciler.reconcile(self._context(), obj)
        if result.write is Write.STATUS:
            self._write_status(result.obj)
        return result

    def runs(self) -> list[str]:
        """The Jobs that were created, by the time they were due: ``10:05``."""
        return [r.removeprefix("create ") for r in self.requests if r.startswith("create ")]

    def deleted(self) -> list[str]:
        return [r.removeprefix("delete ") for r in self.requests if r.startswith("delete ")]

    def condition(self, type_: str) -> tuple[str, str]:
        """Its status and reason."""
        found = next(c for c in self.cron_job.status.conditions if c.type == type_)
        return found.status, found.reason

    def next_run(self, result: Result) -> str:
        """When a result asks to be looked at again."""
        assert result.delay is not None
        due = datetime.fromtimestamp(self.clock.time(), UTC) + timedelta(seconds=result.delay)
        return f"{due:%H:%M}"

    # The framework's side

    def _context(self) -> Any:
        client = SimpleNamespace(
            list=self._list,
            create=self._create,
            delete=self._delete,
            live=SimpleNamespace(get=self._get),
            status=SimpleNamespace(update=self._update_status),
        )
        return SimpleNamespace(
            client=client,
            clock=self.clock,
            now=lambda: datetime.fromtimestamp(self.clock.time(), UTC),
            log=BoundLogger(logging.getLogger("cronjob")),
            events=SimpleNamespace(
                warning=lambda reason, note, **_: self.warnings.append(f"{reason}: {note}")
            ),
            own=lambda job: set_controller_reference(self.obj, job),
        )

    def _fail(self, verb: str) -> None:
        self.before_write(verb)
        if verb in self.failures:
            raise self.failures[verb]

    def _list(self, kind: type, *, namespace: str, fields: dict[str, str]) -> list[Job]:
        self._fail("list")
        ((index, name),) = fields.items()
        assert (kind, namespace, index) == (Job, "default", OWNER_INDEX)
        if self.stale:
            return []
        return [job for job in self.jobs.values() if name in owners_of(job)]

    def _get(self, kind: type, name: str, namespace: str) -> Job:
        if name not in self.jobs:
            raise NotFoundError.of("gone", name=name)
        return self.jobs[name]

    def _create(self, job: Job) -> Job:
        self._fail("create")
        if job.metadata.name in self.jobs:
            raise AlreadyExistsError.of("it is there", name=job.metadata.name)
        job.metadata.uid = f"j-{job.metadata.name}"
        self.jobs[job.metadata.name] = job
        due = datetime.fromisoformat(job.metadata.annotations[SCHEDULED_AT])
        self.requests.append(f"create {due:%H:%M}")
        return job

    def _delete(self, job: Job, *, propagation: str) -> None:
        assert propagation == "Background"
        self._fail("delete")
        self.requests.append(f"delete {job.metadata.name}")
        self.jobs.pop(job.metadata.name, None)

    def _update_status(self, obj: CronJob) -> CronJob:
        self._fail("status")
        assert obj.metadata.resource_version == self.cron_job.metadata.resource_version
        self.requests.append("status")
        self.cron_job.status = deep_copy(obj.status)
        version = str(int(self.cron_job.metadata.resource_version) + 1)
        self.cron_job.metadata.resource_version = version
        return self.cron_job

    def _write_status(self, obj: CronJob) -> None:
        assert obj.metadata.resource_version == self.cron_job.metadata.resource_version
        if obj.status != self.cron_job.status:
            self.requests.append("status")
            self.cron_job.status = obj.status
