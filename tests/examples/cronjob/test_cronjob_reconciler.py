"""The seven steps, one by one, under a clock that only the test moves."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.meta import ConflictError, InternalServerError, OwnerReference
from clientgo.operator import OperatorError
from clientgo.operator.errors import OwnershipError
from clientgo.record import NoReferenceError
from examples.cronjob import reconciler as module
from examples.cronjob.api import SCHEDULED_AT, ConcurrencyPolicy
from examples.cronjob.jobs import Jobs, new_job, owners_of, surplus
from tests.examples.cronjob.workbench import Workbench, at, template

ALLOW, FORBID, REPLACE = ConcurrencyPolicy


# Step 2: what is there


def test_jobs_are_found_by_the_cron_job_that_controls_them() -> None:
    """CRON-06, CRON-09: the owner's group and kind count, and that it is the controller."""
    bench = Workbench()
    job = bench.add_job()
    assert owners_of(job) == ["backup"]
    (ours,) = job.metadata.owner_references
    for changes in (
        {"api_version": "batch/v1"},
        {"kind": "Other"},
        {"controller": None},
    ):
        job.metadata.owner_references = (_changed(ours, **changes),)
        assert owners_of(job) == []
    job.metadata.owner_references = ()
    assert owners_of(job) == []


def _changed(reference: OwnerReference, **changes: Any) -> OwnerReference:
    fields = {name: getattr(reference, name) for name in reference.__struct_fields__}
    return OwnerReference(**(fields | changes))


def test_a_list_that_fails_fails_the_run() -> None:
    """CRON-09."""
    bench = Workbench(now="10:06")
    bench.failures["list"] = InternalServerError.of("no")
    with pytest.raises(InternalServerError):
        bench.reconcile()
    assert bench.requests == []


def test_a_job_has_ended_if_a_condition_says_so() -> None:
    """CRON-10: Complete or Failed, and True."""
    bench = Workbench()
    running, succeeded, failed, suspended, perhaps = (
        bench.add_job(ended=how) for how in ("", "Complete", "Failed", "Suspended", "Complete")
    )
    perhaps.status.conditions[0].status = "False"  # type: ignore[index]
    jobs = Jobs.sorted_out(bench.jobs.values())
    assert jobs.active == [running, suspended, perhaps]
    assert (jobs.successful, jobs.failed) == ([succeeded], [failed])


def test_the_status_is_told_from_the_jobs_anew() -> None:
    """CRON-11, CRON-14: what it said of active Jobs is of no account."""
    bench = Workbench()
    job = bench.add_job("10:00")
    job.metadata.resource_version = "5"
    bench.reconcile()
    (reference,) = bench.cron_job.status.active
    assert (reference.api_version, reference.kind) == ("batch/v1", "Job")
    assert (reference.namespace, reference.name) == ("default", job.metadata.name)
    assert reference.uid == job.metadata.uid
    written = len(bench.requests)
    job.metadata.resource_version = "77"
    bench.reconcile()
    assert len(bench.requests) == written, "the steps of a Job are no news"
    bench.end(job)
    bench.reconcile()
    assert bench.cron_job.status.active == []


@pytest.mark.parametrize("ended", ["", "Complete", "Failed"])
def test_the_mark_is_that_of_the_newest_job_of_any_kind(ended: str) -> None:
    """CRON-13."""
    bench = Workbench(now="10:12")
    bench.add_job("10:00", ended="Complete")
    bench.add_job("10:10", ended=ended)
    bench.add_job("10:05", ended="Failed")
    bench.reconcile()
    assert bench.cron_job.status.last_schedule_time == "2026-03-01T10:10:00Z"


def test_without_jobs_there_is_no_mark() -> None:
    """CRON-13."""
    bench = Workbench()
    bench.reconcile()
    assert bench.cron_job.status.last_schedule_time is None


@pytest.mark.parametrize(
    ("source_exact", "mark", "started"),
    [(False, "2026-03-01T10:05:00Z", []), (True, "2026-03-01T10:05:00Z", ["10:05"])],
)
def test_the_mark_does_not_go_back_when_its_job_is_gone(
    source_exact: bool, mark: str, started: list[str]
) -> None:
    """CRON-13: the same start is not made again, unless the source is to be followed."""
    bench = Workbench(now="10:07", source_exact=source_exact)
    bench.cron_job.status.last_schedule_time = "2026-03-01T10:05:00Z"
    bench.reconcile()
    assert bench.runs() == started
    assert bench.cron_job.status.last_schedule_time == mark


def test_a_job_that_does_not_say_when_it_was_due_is_a_job_still(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CRON-12, CRON-50: nonsense is logged, silence is not."""
    bench = Workbench()
    bench.add_job("next year", ended="")
    bench.add_job(None)
    with caplog.at_level(logging.INFO, logger="cronjob"):
        bench.reconcile()
    assert [r.message for r in caplog.records] == ["a Job does not say when it was due"]
    assert len(bench.cron_job.status.active) == 2
    assert bench.cron_job.status.last_schedule_time is None


def test_a_job_that_cannot_be_referred_to_is_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """CRON-14: one such Job does not hide the others."""
    bench = Workbench()
    bench.add_job(name="odd")
    bench.add_job(name="even")
    refer = module.get_reference  # type: ignore[attr-defined]

    def get_reference(job: Any) -> Any:
        if job.metadata.name == "odd":
            raise NoReferenceError("no")
        return refer(job)

    monkeypatch.setattr(module, "get_reference", get_reference)
    bench.reconcile()
    assert [reference.name for reference in bench.cron_job.status.active] == ["even"]
    assert "a Job cannot be referred to" in caplog.text


def test_what_the_jobs_tell_is_stored_before_any_is_deleted() -> None:
    """CRON-15: by a request for the status alone."""
    bench = Workbench(successful_jobs_history_limit=0)
    bench.add_job("10:00", ended="Complete")
    bench.reconcile()
    assert bench.requests[:2] == ["status", "delete job-0"]


def test_nothing_is_sent_when_nothing_has_changed() -> None:
    """CRON-15."""
    bench = Workbench()
    bench.add_job("10:00")
    bench.reconcile()
    sent = len(bench.requests)
    bench.reconcile()
    assert len(bench.requests) == sent


def test_a_status_that_cannot_be_written_fails_the_run() -> None:
    """CRON-15: and nothing more is done in it."""
    bench = Workbench(now="10:06", failed_jobs_history_limit=0)
    bench.add_job("10:00", ended="Failed")
    bench.failures["status"] = ConflictError.of("changed")
    with pytest.raises(ConflictError):
        bench.reconcile()
    assert bench.requests == []


def test_the_jobs_are_counted_before_the_status_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """CRON-16."""
    bench = Workbench()
    for ended in ("", "", "Complete", "Failed", "Failed", "Failed"):
        bench.add_job(ended=ended)
    seen: list[int] = []
    bench.before_write = lambda verb: seen.append(len(caplog.records)) if verb == "status" else None
    with caplog.at_level(logging.DEBUG, logger="cronjob"):
        bench.reconcile()
    record: Any = caplog.records[0]
    assert (record.active, record.successful, record.failed) == (2, 1, 3)
    assert seen[0] >= 1


# Step 3: history


@pytest.mark.parametrize(
    ("limit", "left"),
    [(None, 3), (0, 0), (1, 1), (3, 3), (5, 3)],
)
@pytest.mark.parametrize("ended", ["Complete", "Failed"])
def test_history_is_cut_to_its_limit(limit: int | None, left: int, ended: str) -> None:
    """CRON-03, CRON-17, CRON-19, CRON-50: no limit keeps all, a limit of 0 none."""
    option = "successful_jobs_history_limit" if ended == "Complete" else "failed_jobs_history_limit"
    options: dict[str, Any] = {option: limit}
    bench = Workbench(**options)
    for number in range(3):
        bench.add_job("10:00", ended=ended, started=f"10:0{number}")
    bench.reconcile()
    assert list(bench.jobs) == ["job-0", "job-1", "job-2"][3 - left :]


def test_those_that_failed_go_first() -> None:
    """CRON-17."""
    bench = Workbench(successful_jobs_history_limit=0, failed_jobs_history_limit=0)
    bench.add_job(ended="Complete", name="good")
    bench.add_job(ended="Failed", name="bad")
    bench.reconcile()
    assert bench.deleted() == ["bad", "good"]


def test_the_oldest_go_first_and_those_that_never_began_before_them() -> None:
    """CRON-18."""
    bench = Workbench()
    late, early, never = (bench.add_job(started=t) for t in ("10:03", "10:01", None))
    assert surplus([late, early, never], 0) == [never, early, late]
    assert surplus([late, early, never], 2) == [never]


def test_a_job_that_cannot_be_deleted_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """CRON-20."""
    bench = Workbench(now="10:06", failed_jobs_history_limit=0, successful_jobs_history_limit=0)
    for ended in ("Failed", "Complete"):
        bench.add_job("10:00", ended=ended)
    bench.failures["delete"] = InternalServerError.of("not now")
    bench.reconcile()
    assert caplog.text.count("an old Job stays for now") == 2
    assert bench.runs() == ["10:05"]


# Step 4: suspended


def test_who_is_suspended_starts_nothing_and_waits_for_nothing() -> None:
    """CRON-21, CRON-50: but status and history are looked after, and Jobs go on."""
    bench = Workbench(now="10:06", suspend=True, successful_jobs_history_limit=0)
    bench.add_job("10:00")
    bench.add_job("09:55", ended="Complete")
    result = bench.reconcile()
    assert (result.delay, bench.runs()) == (None, [])
    assert bench.deleted() == ["job-1"]
    assert len(bench.cron_job.status.active) == 1
    assert bench.condition("Available") == ("False", "Suspended")
    bench.cron_job.spec.suspend = False
    assert bench.next_run(bench.reconcile()) == "10:10"
    assert bench.runs() == ["10:05"]
    assert bench.condition("Available") == ("True", "JobsActive")


# Step 5: what is due


def test_a_new_cron_job_waits_for_its_first_start() -> None:
    """CRON-23, CRON-24, CRON-28, CRON-29, CRON-50: it counts from its creation."""
    bench = Workbench(now="10:02")
    assert bench.next_run(bench.reconcile()) == "10:05"
    assert bench.runs() == []


def test_a_mark_in_the_future_means_that_nothing_was_missed() -> None:
    """CRON-24: as after a clock was set back."""
    bench = Workbench(now="10:02")
    bench.cron_job.status.last_schedule_time = "2026-03-01T10:20:00Z"
    assert bench.next_run(bench.reconcile()) == "10:05"
    assert bench.runs() == []


def test_one_missed_start_is_made() -> None:
    """CRON-25, CRON-36, CRON-50."""
    bench = Workbench(now="10:06")
    assert bench.next_run(bench.reconcile()) == "10:10"
    assert bench.runs() == ["10:05"]


def test_of_several_missed_starts_the_latest_is_made() -> None:
    """CRON-25: as after the operator was away for half an hour."""
    bench = Workbench(now="10:33")
    assert bench.next_run(bench.reconcile()) == "10:35"
    assert bench.runs() == ["10:30"]


def test_a_hundred_missed_starts_are_fine() -> None:
    """CRON-26, CRON-50."""
    bench = Workbench("* * * * *", now="11:40")
    bench.reconcile()
    assert bench.runs() == ["11:40"]


def test_one_more_is_too_much(caplog: pytest.LogCaptureFixture) -> None:
    """CRON-26, CRON-27, CRON-49, CRON-50: told everywhere, and only an edit helps."""
    bench = Workbench("* * * * *", now="11:41")
    result = bench.reconcile()
    assert (result.delay, bench.runs()) == (None, [])
    assert bench.condition("Degraded") == ("True", "TooManyMissedStarts")
    assert "startingDeadlineSeconds" in bench.warnings[0]
    assert "nothing is started any more" in caplog.text
    bench.cron_job.spec.starting_deadline_seconds = 200
    bench.reconcile()
    assert bench.runs() == ["11:41"]
    assert bench.condition("Degraded") == ("False", "AsExpected")


def test_a_schedule_that_is_none_waits_for_an_edit() -> None:
    """CRON-22, CRON-27, CRON-45, CRON-49: the run is done, not failed; nothing is requeued."""
    bench = Workbench("every now and then", now="10:06")
    bench.add_job("10:00", ended="Complete")
    result = bench.reconcile()
    assert (result.delay, bench.runs()) == (None, [])
    assert bench.condition("Degraded") == ("True", "InvalidSchedule")
    assert bench.cron_job.status.last_schedule_time == "2026-03-01T10:00:00Z"
    assert "spec.schedule" in bench.warnings[0]
    bench.cron_job.spec.schedule = "*/5 * * * *"
    bench.reconcile()
    assert bench.condition("Degraded") == ("False", "AsExpected")


def test_a_name_that_is_too_long_is_not_worked_with_either() -> None:
    """CRON-40, CRON-45: the rules of the webhook hold without it."""
    bench = Workbench(now="10:06")
    bench.cron_job.metadata.name = "n" * 53
    assert bench.reconcile().delay is None
    assert bench.runs() == []
    assert "metadata.name" in bench.warnings[0]


def test_what_is_due_once_in_four_years_is_not_forgotten() -> None:
    """CRON-50: 29 February."""
    bench = Workbench("0 0 29 2 *", now="2028-02-29T00:00:30+00:00")
    bench.cron_job.metadata.creation_timestamp = "2027-12-31T00:00:00Z"
    result = bench.reconcile()
    assert bench.runs() == ["00:00"]
    assert (
        result.delay
        == (at("2032-02-29T00:00:00+00:00") - at("2028-02-29T00:00:30+00:00")).total_seconds()
    )


def test_what_is_never_due_again_is_waited_for_by_nobody() -> None:
    """CRON-55: the rules for the object refuse it, with the reason."""
    bench = Workbench("0 0 30 2 *", now="10:06")
    assert bench.reconcile().delay is None
    assert "5 years" in bench.warnings[0]


# Step 6: start it


@pytest.mark.parametrize(
    ("deadline", "now", "started"),
    [
        (120, "10:06", ["10:05"]),  # in time
        (59, "10:06", []),  # a second too late
        (60, "10:06", []),  # the deadline itself is no start that lies after it
        (61, "10:06", ["10:05"]),
        (None, "10:06", ["10:05"]),
        (0, "10:06", []),
        (10**15, "10:06", ["10:05"]),
    ],
)
def test_a_start_that_is_too_long_ago_is_given_up(
    deadline: int | None, now: str, started: list[str]
) -> None:
    """CRON-03, CRON-23, CRON-50: and the next one is waited for."""
    bench = Workbench(now=now, starting_deadline_seconds=deadline)
    assert bench.next_run(bench.reconcile()) == "10:10"
    assert bench.runs() == started
    expected = ("False", "AsExpected") if started else ("True", "MissedSchedule")
    assert bench.condition("Degraded") == expected


@pytest.mark.parametrize(("seconds", "started"), [(60, ["10:05"]), (61, [])])
def test_a_deadline_that_passes_during_the_run_counts(seconds: float, started: list[str]) -> None:
    """CRON-30, CRON-50: to start at the deadline itself is in time."""
    bench = Workbench(now="10:05", starting_deadline_seconds=60)
    bench.set_time(at("10:05"))
    ctx = bench._context()
    bench.obj = bench.cron_job
    starts = bench.reconciler._starts(bench.cron_job, ctx.now())
    bench.clock.step(seconds)
    trouble = bench.reconciler._start_what_is_due(ctx, bench.cron_job, Jobs(), starts)
    assert bench.runs() == started
    assert (trouble is None) == bool(started)


@pytest.mark.parametrize(
    ("policy", "active", "started", "deleted"),
    [
        (ALLOW, 0, ["10:05"], 0),
        (ALLOW, 1, ["10:05"], 0),
        (ALLOW, 2, ["10:05"], 0),
        (None, 2, ["10:05"], 0),
        (FORBID, 0, ["10:05"], 0),
        (FORBID, 1, [], 0),
        (FORBID, 2, [], 0),
        (REPLACE, 0, ["10:05"], 0),
        (REPLACE, 1, ["10:05"], 1),
        (REPLACE, 2, ["10:05"], 2),
    ],
)
def test_the_policy_decides_beside_jobs_that_run(
    policy: ConcurrencyPolicy | None, active: int, started: list[str], deleted: int
) -> None:
    """CRON-31, CRON-32, CRON-50."""
    bench = Workbench(now="10:06", concurrency_policy=policy)
    for _ in range(active):
        bench.add_job("10:00")
    result = bench.reconcile()
    assert bench.next_run(result) == "10:10"
    assert bench.runs() == started
    assert len(bench.deleted()) == deleted
    assert len(bench.cron_job.status.active) == active - deleted + len(started)


def test_what_cannot_be_replaced_is_not_started_beside_it() -> None:
    """CRON-32, CRON-49: the run fails."""
    bench = Workbench(now="10:06", concurrency_policy=REPLACE)
    bench.add_job("10:00")
    bench.failures["delete"] = InternalServerError.of("not now")
    with pytest.raises(InternalServerError):
        bench.reconcile()
    assert bench.runs() == []


def test_the_job_is_what_the_template_says() -> None:
    """CRON-05, CRON-33: its name and an annotation tell when it was due."""
    bench = Workbench(
        job_template=template(labels={"app": "backup"}, annotations={"team": "storage"})
    )
    job = new_job(bench.cron_job, at("10:05"))
    assert job.metadata.name == f"backup-{int(at('10:05').timestamp())}"
    assert job.metadata.namespace == "default"
    assert job.metadata.labels == {"app": "backup"}
    assert job.metadata.annotations == {
        "team": "storage",
        SCHEDULED_AT: "2026-03-01T10:05:00Z",
    }
    assert job.spec == bench.cron_job.spec.job_template.spec
    job.metadata.labels["more"] = "1"
    job.spec.template.spec.containers[0].image = "other"
    assert bench.cron_job.spec.job_template == template(
        labels={"app": "backup"}, annotations={"team": "storage"}
    )


def test_the_job_belongs_to_the_cron_job() -> None:
    """CRON-34."""
    bench = Workbench(now="10:06")
    bench.reconcile()
    (job,) = bench.jobs.values()
    (owner,) = job.metadata.owner_references
    assert (owner.kind, owner.name, owner.uid, owner.controller) == (
        "CronJob", "backup", "u-1", True,
    )  # fmt: skip


def test_a_job_that_cannot_be_owned_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """CRON-34: until the template changes."""
    bench = Workbench(now="10:06")

    def refuse(*_: Any) -> None:
        raise OwnershipError("never")

    monkeypatch.setattr("tests.examples.cronjob.workbench.set_controller_reference", refuse)
    assert bench.next_run(bench.reconcile()) == "10:10"
    assert bench.runs() == []
    assert bench.condition("Degraded") == ("True", "JobCreationFailed")
    assert "no Job can be made" in caplog.text


def test_a_job_that_cannot_be_created_fails_the_run() -> None:
    """CRON-35, CRON-49: the condition is written by what follows a failure."""
    bench = Workbench(now="10:06")
    bench.failures["create"] = InternalServerError.of("not now")
    with pytest.raises(InternalServerError) as caught:
        bench.reconcile()
    answer = bench.reconciler.on_error(bench._context(), bench.obj, caught.value)
    assert answer.retries
    degraded = next(c for c in answer.obj.status.conditions if c.type == "Degraded")
    assert (degraded.status, degraded.reason) == ("True", "JobCreationFailed")
    bench.failures.clear()
    bench.reconcile()
    assert bench.condition("Degraded") == ("False", "AsExpected")


def test_a_job_that_the_cache_does_not_know_yet_is_taken_for_made() -> None:
    """CRON-35, CRON-50: as after a restart, or with a cache that lags behind."""
    bench = Workbench(now="10:06")
    bench.add_job("10:05", name=f"backup-{int(at('10:05').timestamp())}")
    bench.stale = True
    assert bench.next_run(bench.reconcile()) == "10:10"
    assert bench.runs() == []
    assert bench.cron_job.status.last_schedule_time == "2026-03-01T10:05:00Z"
    assert len(bench.cron_job.status.active) == 1


def test_a_job_that_has_ended_before_the_cache_knows_it_is_not_active() -> None:
    """CRON-10, CRON-35."""
    bench = Workbench(now="10:06")
    bench.add_job("10:05", name=f"backup-{int(at('10:05').timestamp())}", ended="Complete")
    bench.stale = True
    bench.reconcile()
    assert bench.cron_job.status.active == []
    assert bench.cron_job.status.last_schedule_time == "2026-03-01T10:05:00Z"


def test_somebody_elses_job_of_that_name_is_a_failure() -> None:
    """CRON-35: told in an Event."""
    bench = Workbench(now="10:06")
    bench.add_job(name=f"backup-{int(at('10:05').timestamp())}", uid="another")
    bench.stale = True
    with pytest.raises(OperatorError):
        bench.reconcile()
    assert "has another owner" in bench.warnings[0]


def test_a_restarted_operator_goes_on_where_the_last_one_was() -> None:
    """CRON-50: nothing is kept in the process."""
    bench = Workbench(now="10:06")
    bench.reconcile()
    bench.reconciler = type(bench.reconciler)()
    bench.reconcile()
    assert bench.runs() == ["10:05"]
    bench.set_time(at("10:10"))
    bench.reconcile()
    assert bench.runs() == ["10:05", "10:10"]


def test_a_history_of_nothing_does_not_start_the_same_job_again() -> None:
    """CRON-13, CRON-50."""
    bench = Workbench(now="10:06", successful_jobs_history_limit=0)
    bench.reconcile()
    (job,) = bench.jobs.values()
    bench.end(job)
    bench.reconcile()
    assert bench.jobs == {}
    bench.reconcile()
    assert bench.runs() == ["10:05"]


def test_the_log_says_what_is_due_and_what_comes_next(caplog: pytest.LogCaptureFixture) -> None:
    """CRON-28."""
    bench = Workbench(now="10:06")
    with caplog.at_level(logging.INFO, logger="cronjob"):
        bench.reconcile()
    record: Any = caplog.records[-1]
    assert record.message == "started"
    assert (record.now, record.due, record.next_run) == (at("10:06"), at("10:05"), at("10:10"))


# Conditions


def test_conditions_follow_the_jobs() -> None:
    """CRON-49."""
    bench = Workbench(now="10:02")
    bench.reconcile()
    assert bench.condition("Available") == ("True", "AllJobsCompleted")
    assert bench.condition("Progressing") == ("False", "NoJobsActive")
    assert bench.condition("Degraded") == ("False", "AsExpected")
    bench.set_time(at("10:05"))
    bench.reconcile()
    assert bench.condition("Available") == ("True", "JobsActive")
    assert bench.condition("Progressing") == ("True", "JobsActive")
    (job,) = bench.jobs.values()
    bench.end(job)
    bench.reconcile()
    assert bench.condition("Progressing") == ("False", "NoJobsActive")
    times = {c.type: c.last_transition_time for c in bench.cron_job.status.conditions}
    assert times["Available"] == "2026-03-01T10:02:00Z"
    assert times["Progressing"] == "2026-03-01T10:05:00Z"
