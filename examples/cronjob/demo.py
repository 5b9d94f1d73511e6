"""A demonstration of the operator with an embedded API server, in a few seconds.

The API server calls the webhooks over TLS. A controller simulates the Jobs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clientgo.api.batch_v1 import Job, JobCondition, JobStatus
from clientgo.client import Client
from clientgo.meta import InvalidError
from clientgo.meta.timestamps import format_time
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testing.observer import Observer
from clientgo.tools.scaffold import apply, by_url, webhook_configurations
from clientgo.util.certificates import make_throw_away_pair, write_pair
from clientgo.util.text.yaml_reader import read_yaml
from examples.cronjob.api import CronJob
from examples.cronjob.main import NAME, new_manager
from examples.embedded import embedded, see

SAMPLE = Path(__file__).parent / "config" / "samples" / "v1_cronjob.yaml"
_HERE = "127.0.0.1"


@controller(Job, name="kubelet")
class JobSimulator:
    """Reports Jobs as complete after half a second."""

    def reconcile(self, ctx: Context[Job], job: Job) -> Result:
        if job.status.conditions:
            return Result.done()
        now = format_time(ctx.clock.time())
        if job.status.start_time is None:
            job.status = JobStatus(active=1, start_time=now)
            return Result.status(job).after(0.5)
        job.status = JobStatus(
            succeeded=1,
            start_time=job.status.start_time,
            completion_time=now,
            conditions=[
                JobCondition(type=reached, status="True", last_transition_time=now)
                for reached in ("SuccessCriteriaMet", "Complete")
            ],
        )
        return Result.status(job)


def sample(**spec: Any) -> dict[str, Any]:
    """Return the manifest of ``config/samples`` with changes."""
    manifest: dict[str, Any] = read_yaml(SAMPLE.read_bytes())[0]
    manifest["spec"] |= spec
    return manifest


@contextmanager
def serving_webhooks(client: Client, **settings: Any) -> Iterator[Manager]:
    """Run the operator with its own certificate until the end of the block."""
    authority, pair = make_throw_away_pair([_HERE], now=time.time())
    with tempfile.TemporaryDirectory() as directory:
        write_pair(Path(directory), pair)
        options = WebhookOptions(host=_HERE, port=0, cert_dir=directory)
        manager = new_manager(
            client, metrics="0", webhook=options, close_client_on_stop=False, **settings
        )
        manager.register(JobSimulator())
        with manager:
            call_webhooks(client, manager, authority)
            yield manager


def call_webhooks(client: Client, manager: Manager, trusted: bytes) -> None:
    """Register the manager's webhooks with the API server by their URL."""
    reach = by_url(manager.bound.webhooks, trusted)
    for manifest in webhook_configurations(NAME, manager.webhooks.manifests, reach):
        apply(client, manifest)


def demo() -> None:
    with (
        embedded(CronJob) as client,
        serving_webhooks(client),
        Observer(client, CronJob, Job) as seen,
    ):
        tell(client, seen)


def tell(client: Client, seen: Observer) -> None:
    cron_jobs = client.resource(CronJob).namespace("default")
    cron_job = seen.lister(CronJob).namespace("default")
    jobs = seen.lister(Job).namespace("default")
    try:
        cron_jobs.create(sample(schedule="now and then"))
    except InvalidError as error:
        print(error.message)
    created = cron_jobs.create(sample(schedule="@every 1s", successfulJobsHistoryLimit=1))
    name = created.metadata.name
    print(f"created; failed Jobs that will be kept: {created.spec.failed_jobs_history_limit}")

    see(seen, "a Job is started", jobs.list)
    first = jobs.list()[0].metadata.name
    see(seen, "it runs", lambda: cron_job.get(name).status.active)
    see(
        seen,
        "the next one has run, and the first is forgotten",
        lambda: (names := {job.metadata.name for job in jobs.list()}) and first not in names,
    )
    cron_jobs.patch(name, {"spec": {"suspend": True}})
    see(
        seen,
        "suspended: the last Job runs to its end, and no other is started",
        lambda: (
            not cron_job.get(name).status.active
            and any(c.reason == "Suspended" for c in cron_job.get(name).status.conditions)
        ),
    )
    cron_jobs.delete(name, propagation_policy="Background")
    see(seen, "without the CronJob its Jobs are gone", lambda: not jobs.list())
