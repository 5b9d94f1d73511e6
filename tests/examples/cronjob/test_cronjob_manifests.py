"""The manifests beside the example: they are what the code says, and a cluster takes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from clientgo.client import ResourceClient
from clientgo.meta import InvalidError
from clientgo.tools.scaffold.manifests.generated_files import State, states
from clientgo.tools.scaffold.manifests.project_manifests import FOLDERS, generate
from clientgo.tools.scaffold.project import read_project
from clientgo.tools.scaffold.project_code import declared_operator
from examples.cronjob.api import CronJob
from examples.cronjob.demo import sample
from examples.embedded import embedded
from tests.examples.running import ROOT

PROJECT = ROOT / "examples" / "cronjob"
EVERYTHING = {"get", "list", "watch", "create", "update", "patch", "delete"}


def documents(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((PROJECT / "config" / name).read_text()))


def test_they_are_what_the_code_says() -> None:
    """CRON-48: the sample alone was written by hand."""
    project = read_project(PROJECT)
    wanted = generate(declared_operator(project)).files
    found = states(project.config, wanted, FOLDERS.values())
    own = [name for name, state in found.items() if state is State.OWN]
    assert own == ["samples/v1_cronjob.yaml"]
    assert {state for name, state in found.items() if name not in own} == {State.SAME}


def test_the_operator_may_do_what_it_needs() -> None:
    """CRON-46: in the groups where things are."""
    (role,) = (doc for doc in documents("rbac/operator.yaml") if doc["kind"] == "ClusterRole")
    granted: dict[tuple[str, str], set[str]] = {}
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                granted.setdefault((group, resource), set()).update(rule["verbs"])
    assert granted == {
        ("batch.example.com", "cronjobs"): EVERYTHING,
        ("batch.example.com", "cronjobs/status"): {"get", "update", "patch"},
        ("batch.example.com", "cronjobs/finalizers"): {"update"},
        ("batch", "jobs"): EVERYTHING,
        ("batch", "jobs/status"): {"get"},
        ("", "events"): {"create", "patch"},
        ("events.k8s.io", "events"): {"create", "patch"},
    }


@pytest.mark.parametrize(
    ("kind", "name", "path"),
    [
        ("Mutating", "mcronjob.kb.io", "/mutate-batch-example-com-v1-cronjob"),
        ("Validating", "vcronjob.kb.io", "/validate-batch-example-com-v1-cronjob"),
    ],
)
def test_webhooks_are_asked_before_each_write(kind: str, name: str, path: str) -> None:
    """CRON-39, CRON-44."""
    (webhook,) = (
        webhook
        for doc in documents("webhooks/configurations.yaml")
        if doc["kind"] == f"{kind}WebhookConfiguration"
        for webhook in doc["webhooks"]
    )
    assert (webhook["name"], webhook["clientConfig"]["service"]["path"]) == (name, path)
    assert webhook["rules"][0]["operations"] == ["CREATE", "UPDATE"]
    assert webhook["rules"][0]["resources"] == ["cronjobs"]
    assert (webhook["failurePolicy"], webhook["sideEffects"]) == ("Fail", "None")
    assert webhook["admissionReviewVersions"] == ["v1"]


@pytest.fixture(scope="module")
def cron_jobs() -> Iterator[ResourceClient[CronJob]]:
    """In a cluster that has the definition, and no webhooks."""
    with embedded(CronJob) as client:
        yield client.resource(CronJob).namespace("default")


def test_the_sample_is_taken_as_it_is(cron_jobs: ResourceClient[CronJob]) -> None:
    """CRON-01, CRON-47: with nothing in it that the definition does not know."""
    created = cron_jobs.create(sample(), field_validation="Strict")
    spec = created.to_dict()["spec"]
    assert spec == sample()["spec"]
    (container,) = spec["jobTemplate"]["spec"]["template"]["spec"]["containers"]
    assert (spec["schedule"], spec["startingDeadlineSeconds"]) == ("*/1 * * * *", 60)
    assert (spec["concurrencyPolicy"], container["image"]) == ("Allow", "busybox")


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"schedule": ""}, "spec.schedule"),
        ({"schedule": None}, "spec.schedule"),
        ({"jobTemplate": None}, "spec.jobTemplate"),
        ({"concurrencyPolicy": "Perhaps"}, "spec.concurrencyPolicy"),
        ({"startingDeadlineSeconds": -1}, "spec.startingDeadlineSeconds"),
        ({"successfulJobsHistoryLimit": -1}, "spec.successfulJobsHistoryLimit"),
        ({"failedJobsHistoryLimit": -1}, "spec.failedJobsHistoryLimit"),
        ({"suspend": "yes"}, "spec.suspend"),
    ],
)
def test_the_schema_refuses_what_it_can(
    cron_jobs: ResourceClient[CronJob], spec: dict[str, Any], field: str
) -> None:
    """CRON-01, CRON-02: before any webhook is asked."""
    with pytest.raises(InvalidError) as caught:
        cron_jobs.create(sample(**spec))
    assert field in [cause.field_ for cause in caught.value.status.details.causes]


def test_zero_and_nothing_are_stored_as_they_are_said(cron_jobs: ResourceClient[CronJob]) -> None:
    """CRON-03."""
    manifest = sample(startingDeadlineSeconds=0, successfulJobsHistoryLimit=0)
    manifest["metadata"]["name"] = "zero"
    spec = cron_jobs.create(manifest).spec
    assert (spec.starting_deadline_seconds, spec.successful_jobs_history_limit) == (0, 0)
    assert spec.failed_jobs_history_limit is None


def test_labels_and_annotations_of_the_template_are_kept(
    cron_jobs: ResourceClient[CronJob],
) -> None:
    """CRON-01, CRON-33: the definition says that they are there."""
    manifest = sample()
    manifest["metadata"]["name"] = "labelled"
    manifest["spec"]["jobTemplate"]["metadata"] = {"labels": {"a": "1"}, "annotations": {"b": "2"}}
    metadata = cron_jobs.create(manifest).spec.job_template.metadata
    assert (metadata.labels, metadata.annotations) == ({"a": "1"}, {"b": "2"})


def test_more_jobs_may_run_than_anybody_thought(cron_jobs: ResourceClient[CronJob]) -> None:
    """CRON-04: the status has its own subresource, and its list no bound."""
    manifest = sample()
    manifest["metadata"]["name"] = "busy"
    cron_jobs.create(manifest)
    active = [{"kind": "Job", "name": f"job-{number}"} for number in range(50)]
    status = {"active": active, "lastScheduleTime": "2026-03-01T10:00:00Z"}
    assert len(cron_jobs.patch("busy", {"status": status}).status.active) == 0
    patched = cron_jobs.patch("busy", {"status": status}, subresource="status")
    assert len(patched.status.active) == 50


def test_the_page_goes_from_types_to_a_cluster() -> None:
    """CRON-48."""
    page = (PROJECT / "README.md").read_text()
    steps = [
        "python -m clientgo operator gen all",
        "python -m clientgo operator install",
        "ENABLE_WEBHOOKS=false",
        "kubectl apply -f",
        "kubectl get cronjobs.batch.example.com",
        "kubectl get jobs",
        "docker build",
        "docker push",
        "python -m clientgo operator deploy",
    ]
    places = [page.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)
