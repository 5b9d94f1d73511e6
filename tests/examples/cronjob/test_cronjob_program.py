"""The whole operator against an API server, on a clock that only the test moves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.batch_v1 import Job
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectName
from clientgo.meta.timestamps import parse_time
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.testing import FakeClock
from clientgo.testing.observer import Observer
from clientgo.testing.recording_transport import RecordingTransport
from examples.cronjob.api import SCHEDULED_AT, CronJob
from examples.cronjob.demo import sample
from examples.cronjob.main import new_manager
from tests.examples.running import printed_by

EVERY = 20.0
"""Seconds between two starts: fewer than the operator trusts its own writes without having seen
them, so that a step of the clock does not outrun the watch."""


class Scene:
    """A cluster with the operator at work. When a CronJob is created, one start is due already."""

    def __init__(self) -> None:
        self.server = EmbeddedAPIServer()
        self.server.start()
        config = RestConfig(server=self.server.url, qps=-1)
        self.client = Client(config)
        for definition in definitions_of([CronJob]):
            self.client.resource(CustomResourceDefinition).create(definition)
        # Objects are created by the API server's clock, which is the real one.
        self.clock = FakeClock(wall=time.time() + 1.5 * EVERY)
        self.asked = RecordingTransport(HTTPTransport(config))
        self.manager = new_manager(
            Client(config, transport=self.asked),
            metrics="0",
            clock=self.clock,
            webhook=WebhookOptions(host="127.0.0.1", port=0),
        )
        (self.controller,) = self.manager.controllers()
        self.seen = Observer(self.client, CronJob, Job)
        self.manager.start()
        self.seen.__enter__()

    def close(self) -> None:
        self.seen.close()
        self.manager.stop()
        self.client.close()
        self.server.stop()

    def create(self, **spec: Any) -> None:
        spec = {"schedule": "@every 20s", "startingDeadlineSeconds": None} | spec
        self.client.resource(CronJob).namespace("default").create(sample(**spec))

    def wait_until(self, seen: Callable[[], Any]) -> None:
        assert self.seen.wait_until(seen, 30.0), (self.jobs(), self.cron_job())

    def settle(self) -> None:
        """Wait until the operator has nothing to do until time goes on."""

        def is_settled() -> bool:
            statistics = self.controller.queue.statistics()
            return statistics.ready == statistics.running == 0 and statistics.waiting > 0

        self.clock.wait_for(is_settled)

    def jobs(self) -> list[Job]:
        """Ask the server: the caches of two kinds do not move together."""
        return self.client.resource(Job).namespace("default").list().items

    def cron_job(self) -> CronJob:
        return self.seen.lister(CronJob).namespace("default").get("cronjob-sample")

    def condition(self, type_: str) -> str:
        return next((c.reason for c in self.cron_job().status.conditions if c.type == type_), "")

    def end(self, job: Job, how: str = "Complete") -> None:
        target = "SuccessCriteriaMet" if how == "Complete" else "FailureTarget"
        status: dict[str, Any] = {
            "startTime": job.metadata.creation_timestamp,
            "conditions": [{"type": type_, "status": "True"} for type_ in (target, how)],
        }
        if how == "Complete":
            status["completionTime"] = job.metadata.creation_timestamp
        jobs = self.client.resource(Job).namespace("default")
        jobs.patch(job.metadata.name, {"status": status}, subresource="status")

    def writes(self) -> list[str]:
        return [str(request) for request in self.asked.writes() if "events" not in str(request)]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    monkeypatch.setenv("ENABLE_WEBHOOKS", "false")
    scene = Scene()
    yield scene
    scene.close()


def test_jobs_are_started_one_by_one_and_forgotten(scene: Scene) -> None:
    """CRON-07, CRON-28, CRON-36, CRON-45: on the clock of the manager, and without webhooks."""
    assert scene.manager.bound.webhooks == ""
    scene.create(successfulJobsHistoryLimit=1)
    for count in range(1, 4):
        scene.wait_until(lambda: scene.cron_job().status.active)
        active = [job for job in scene.jobs() if not job.status.conditions]
        assert len(active) == 1
        assert SCHEDULED_AT in active[0].metadata.annotations
        scene.end(active[0])
        scene.wait_until(lambda: not scene.cron_job().status.active)
        scene.wait_until(lambda: len(scene.jobs()) == 1)
        scene.settle()
        assert len([w for w in scene.writes() if w.startswith("create jobs")]) == count
        scene.clock.step(EVERY)
    scene.wait_until(lambda: scene.cron_job().status.active)


def test_who_has_to_wait_is_started_when_the_earlier_job_ends(scene: Scene) -> None:
    """CRON-31, CRON-36: an event of the Job comes before the next start."""
    scene.create(concurrencyPolicy="Forbid")
    scene.wait_until(lambda: scene.cron_job().status.active)
    (first,) = scene.jobs()
    scene.settle()
    scene.clock.step(EVERY)
    scene.settle()
    assert len(scene.jobs()) == 1
    scene.end(first)
    scene.wait_until(lambda: len(scene.jobs()) == 2)


def test_who_is_replaced_is_gone(scene: Scene) -> None:
    """CRON-32."""
    scene.create(concurrencyPolicy="Replace")
    scene.wait_until(lambda: scene.cron_job().status.active and scene.jobs())
    (first,) = scene.jobs()
    scene.settle()
    scene.clock.step(EVERY)
    scene.wait_until(lambda: [j for j in scene.jobs() if j.metadata.uid != first.metadata.uid])
    scene.wait_until(lambda: len(scene.jobs()) == 1)


def test_a_settled_operator_writes_nothing(scene: Scene) -> None:
    """CRON-15: however often it looks."""
    scene.create()
    scene.wait_until(lambda: scene.condition("Progressing") == "JobsActive")
    scene.settle()
    before = scene.writes()
    for _ in range(3):
        scene.controller.trigger(ObjectName("default", "cronjob-sample"))
        scene.settle()
    assert scene.writes() == before


def test_what_is_gone_is_no_error(scene: Scene, caplog: pytest.LogCaptureFixture) -> None:
    """CRON-08."""
    scene.create()
    scene.wait_until(lambda: scene.cron_job().status.active)
    scene.settle()
    scene.client.resource(CronJob).namespace("default").delete("cronjob-sample")
    scene.wait_until(lambda: not scene.seen.lister(CronJob).list())
    scene.controller.trigger(ObjectName("default", "cronjob-sample"))
    scene.clock.wait_for(lambda: scene.controller.queue.statistics().waiting == 0)
    assert not [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]


def test_rules_hold_without_webhooks(scene: Scene) -> None:
    """CRON-27, CRON-45: and the object says why nothing happens."""
    scene.create(schedule="now and then")
    scene.wait_until(lambda: scene.condition("Degraded") == "InvalidSchedule")
    assert scene.jobs() == []
    cron_jobs = scene.client.resource(CronJob).namespace("default")
    cron_jobs.patch("cronjob-sample", {"spec": {"schedule": "@every 20s"}})
    scene.wait_until(lambda: scene.condition("Degraded") == "AsExpected")
    scene.wait_until(scene.jobs)


def test_what_fails_is_told_and_tried_again(scene: Scene) -> None:
    """CRON-35, CRON-49: here because somebody else's Job is in the way."""
    cron_jobs = scene.client.resource(CronJob).namespace("default")
    jobs = scene.client.resource(Job).namespace("default")
    scene.create(suspend=True)
    scene.wait_until(lambda: scene.condition("Available") == "Suspended")
    created = parse_time(scene.cron_job().metadata.creation_timestamp or "")
    name = f"cronjob-sample-{int(created + EVERY)}"
    jobs.create({"metadata": {"name": name}, "spec": sample()["spec"]["jobTemplate"]["spec"]})
    cron_jobs.patch("cronjob-sample", {"spec": {"suspend": False}})
    scene.wait_until(lambda: scene.condition("Degraded") == "JobCreationFailed")
    jobs.delete(name, propagation_policy="Background")
    scene.wait_until(lambda: not scene.jobs())
    scene.settle()
    scene.clock.step(5)
    scene.wait_until(lambda: scene.condition("Degraded") == "AsExpected")
    assert [job.metadata.name for job in scene.jobs()] == [name]


def test_the_demonstration_shows_it_all() -> None:
    """CRON-48: with webhooks over TLS."""
    refusal, *lines = printed_by("cronjob", "--demo")
    assert 'spec.schedule: Invalid value: "now and then"' in refusal
    assert lines == [
        "created; failed Jobs that will be kept: 1",
        "a Job is started",
        "it runs",
        "the next one has run, and the first is forgotten",
        "suspended: the last Job runs to its end, and no other is started",
        "without the CronJob its Jobs are gone",
    ]
