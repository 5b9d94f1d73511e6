"""What the API server is told about CronJobs before it stores them, over TLS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from clientgo.client import Client, ResourceClient
from clientgo.meta import InvalidError, NotFoundError
from examples.cronjob.api import ConcurrencyPolicy, CronJob
from examples.cronjob.demo import sample, serving_webhooks
from examples.cronjob.validation import mistakes_in
from examples.cronjob.webhooks import fill_in
from examples.embedded import embedded
from tests.examples.cronjob.workbench import at, cron_job

NOW = at("10:00")


@dataclass
class Scene:
    client: Client
    cron_jobs: ResourceClient[CronJob]


@pytest.fixture
def scene() -> Iterator[Scene]:
    """A cluster that asks the operator's webhooks."""
    with embedded(CronJob) as client:
        cron_jobs = client.resource(CronJob).namespace("default")
        cron_jobs.create(named("from-before", schedule="now and then"))
        with serving_webhooks(client):
            yield Scene(client, cron_jobs)


def named(name: str, **spec: Any) -> dict[str, Any]:
    manifest = sample(**spec)
    manifest["metadata"]["name"] = name
    return manifest


# Filling in


def test_what_was_left_unsaid_is_said(scene: Scene) -> None:
    """CRON-37, CRON-38, CRON-39: in a creation and in an update."""
    manifest = named("unsaid")
    del manifest["spec"]["concurrencyPolicy"]
    spec = scene.cron_jobs.create(manifest).spec
    assert spec.concurrency_policy is ConcurrencyPolicy.ALLOW
    assert spec.suspend is False
    assert (spec.successful_jobs_history_limit, spec.failed_jobs_history_limit) == (3, 1)
    patched = scene.cron_jobs.patch("unsaid", {"spec": {"failedJobsHistoryLimit": None}})
    assert patched.spec.failed_jobs_history_limit == 1


def test_what_was_said_stays() -> None:
    """CRON-03, CRON-38: a limit of 0 above all."""
    said: dict[str, Any] = {
        "concurrency_policy": ConcurrencyPolicy.FORBID,
        "suspend": True,
        "successful_jobs_history_limit": 0,
        "failed_jobs_history_limit": 0,
    }
    obj = cron_job(**said)
    fill_in(obj, None)  # type: ignore[arg-type]
    assert {name: getattr(obj.spec, name) for name in said} == said


def test_filling_in_a_second_time_changes_nothing() -> None:
    """CRON-37: it may be asked again after other webhooks."""
    obj = cron_job()
    fill_in(obj, None)  # type: ignore[arg-type]
    once = obj.to_dict()
    fill_in(obj, None)  # type: ignore[arg-type]
    assert obj.to_dict() == once


# Judging


@pytest.mark.parametrize(("length", "is_refused"), [(52, False), (53, True)])
def test_a_name_leaves_room_for_those_of_its_jobs(length: int, is_refused: bool) -> None:
    """CRON-40."""
    obj = cron_job()
    obj.metadata.name = "n" * length
    found = [str(mistake) for mistake in mistakes_in(obj, NOW)]
    assert bool(found) == is_refused
    if is_refused:
        assert found[0].startswith("metadata.name: Invalid value")
        assert "at most 52 characters" in found[0]


@pytest.mark.parametrize(
    ("schedule", "why"),
    [("now and then", "expected 5 fields"), ("0 0 30 2 *", "not due within 5 years")],
)
def test_a_schedule_has_to_be_one(schedule: str, why: str) -> None:
    """CRON-41, CRON-55: with the value, and what the parser says."""
    (mistake,) = mistakes_in(cron_job(schedule), NOW)
    assert mistake.field == "spec.schedule"
    assert f'Invalid value: "{schedule}"' in str(mistake)
    assert why in str(mistake)


def test_who_is_refused_is_told_of_all_mistakes(scene: Scene) -> None:
    """CRON-42, CRON-43: as the API server tells of its own, in the kind's group; in a creation and
    in an update. What was there before can be deleted still."""
    with pytest.raises(InvalidError) as caught:
        scene.cron_jobs.create(named("n" * 53, schedule="never"))
    status = caught.value.status
    assert status.code == 422
    assert (status.details.group, status.details.kind) == ("batch.example.com", "CronJob")
    assert [cause.field_ for cause in status.details.causes] == ["metadata.name", "spec.schedule"]
    scene.cron_jobs.create(named("judged"))
    with pytest.raises(InvalidError, match=r"spec\.schedule"):
        scene.cron_jobs.patch("judged", {"spec": {"schedule": "61 * * * *"}})
    scene.cron_jobs.delete("from-before")
    with pytest.raises(NotFoundError):
        scene.cron_jobs.get("from-before")
