"""Jobs: the generated selector."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testcluster.server.kinds.jobs import JobStrategy

JOBS = JobStrategy("batch/v1", "Job")
RESOURCE = next(item for item in builtin_resources() if item.plural == "jobs")


def job(labels: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    """Return a new job, with fields of its spec and labels of its template."""
    pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": labels or {}}, "spec": pod}
    obj = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "uid": "u"},
        "spec": {"template": template, **spec},
    }
    new = JOBS.decode(RESOURCE, obj).obj
    JOBS.prepare_for_create(new)
    return new


def causes(obj: dict[str, Any]) -> list[tuple[str, str]]:
    """Return field and reason of the causes of a new job."""
    return sorted((e.field, e.reason.value.removeprefix("FieldValue")) for e in JOBS.validate(obj))


def test_the_pods_of_a_job_are_selected_by_its_uid() -> None:
    obj = job({"a": "b"})
    generated = {
        "batch.kubernetes.io/controller-uid": "u",
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": "u",
        "job-name": "j",
    }
    assert obj["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}}
    assert obj["spec"]["template"]["metadata"]["labels"] == {"a": "b", **generated}
    assert obj["metadata"]["labels"] == {"a": "b", **generated}
    assert causes(obj) == []


def test_a_manual_selector_is_left_alone_and_must_match() -> None:
    selector = {"matchLabels": {"a": "b"}}
    assert causes(job({"a": "b"}, manualSelector=True, selector=selector)) == []
    assert causes(job({"a": "c"}, manualSelector=True, selector=selector)) == [
        ("spec.template.metadata.labels", "Invalid")
    ]
    assert causes(job({"a": "c"}, manualSelector=True)) == [
        ("spec.selector", "Required"),
        ("spec.template.metadata.labels", "Invalid"),
    ]


@pytest.mark.parametrize("key", ["controller-uid", "batch.kubernetes.io/controller-uid"])
def test_a_label_that_would_be_generated_may_not_have_another_value(key: str) -> None:
    expected = [(f"spec.template.metadata.labels[{key}]", "Invalid")]
    if "/" in key:
        expected.insert(0, ("spec.template.metadata.labels", "Invalid"))
    assert causes(job({key: "other"})) == expected


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"parallelism": 3}, []),
        ({"completions": 3}, [("spec.completions", "Invalid")]),
        ({"completionMode": "Indexed"}, [("spec.completionMode", "Invalid")]),
        ({"activeDeadlineSeconds": -1}, [("spec.activeDeadlineSeconds", "Invalid")] * 2),
    ],
)
def test_an_update_checks_the_spec_twice_and_keeps_what_is_immutable(
    change: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    old = job(completions=1, parallelism=1)
    new = {**old, "spec": {**old["spec"], **change}}
    errors = JOBS.validate_update(new, old)
    found = sorted((e.field, e.reason.value.removeprefix("FieldValue")) for e in errors)
    assert found == expected


def test_a_complete_job_says_when_it_started_and_ended() -> None:
    old = job()
    done = [
        {"type": "Complete", "status": "True"},
        {"type": "SuccessCriteriaMet", "status": "True"},
    ]
    new = {**old, "status": {"conditions": done}}
    errors = JOBS.validate_status_update(new, old)
    assert sorted((e.field, e.reason.value) for e in errors) == [
        ("status.completionTime", "FieldValueRequired"),
        ("status.startTime", "FieldValueRequired"),
    ]
    new["status"]["startTime"] = new["status"]["completionTime"] = "2024-01-02T03:04:05Z"
    assert JOBS.validate_status_update(new, old) == []


def test_a_failure_policy_names_containers_and_ordered_codes() -> None:
    codes = {"operator": "In", "values": [2, 0], "containerName": "other"}
    policy = {"rules": [{"action": "FailIndex", "onExitCodes": codes}]}
    path = "spec.podFailurePolicy.rules[0]"
    assert causes(job(podFailurePolicy=policy)) == [
        (f"{path}.action", "Invalid"),
        (f"{path}.onExitCodes.containerName", "Invalid"),
        (f"{path}.onExitCodes.values", "Invalid"),
        (f"{path}.onExitCodes.values[1]", "Invalid"),
    ]
