"""Years go by in seconds: the controller under a clock that only the test moves."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from clientgo.api.batch_v1 import JobSpec, JobTemplateSpec
from clientgo.api.core_v1 import PodTemplateSpec
from clientgo.meta.timestamps import format_time
from clientgo.util.text.cron_schedule import Cron
from examples.cronjob.jobs import scheduled_at
from tests.examples.cronjob.workbench import Workbench, at

NEW_YORK = ZoneInfo("America/New_York")
BARE = JobTemplateSpec(spec=JobSpec(template=PodTemplateSpec()))
"""The least that is a template, for it is copied thousands of times."""

NEW_YEAR = "2026-01-01T05:00:00+00:00"
"""In New York."""


def started_during_a_year(bench: Workbench) -> list[datetime]:
    """What is started from one New Year's Eve in New York to the next, by the time it was due.

    Each Job ends before the next run. Time goes from one run that was asked for to the next.
    """
    bench.cron_job.metadata.creation_timestamp = format_time(at(NEW_YEAR).timestamp())
    end = at(NEW_YEAR) + timedelta(days=365)
    starts = []
    while True:
        known = set(bench.jobs)
        delay = bench.reconcile().delay
        for name in set(bench.jobs) - known:
            due = scheduled_at(bench.jobs[name])
            assert due is not None
            starts.append(due)
            bench.end(bench.jobs[name])
        assert delay is not None
        now = datetime.fromtimestamp(bench.clock.time(), UTC) + timedelta(seconds=delay)
        if now >= end:
            return starts
        bench.set_time(now)


def test_a_job_an_hour_all_year() -> None:
    """CRON-50: no hour is left out and none is twice, whatever clocks on walls do."""
    bench = Workbench(
        "0 * * * *",
        now=NEW_YEAR,
        zone=NEW_YORK,
        successful_jobs_history_limit=3,
        job_template=BARE,
    )

    starts = started_during_a_year(bench)

    assert len(starts) == 365 * 24 - 1
    assert starts == [at(NEW_YEAR) + timedelta(hours=n) for n in range(1, 365 * 24)]
    assert len(bench.jobs) <= 4
    assert len(bench.deleted()) >= len(starts) - 4


def test_a_job_a_night_all_year() -> None:
    """CRON-50, CRON-54: one night has no half past two, and no night has two of them."""
    bench = Workbench("30 2 * * *", now=NEW_YEAR, zone=NEW_YORK, successful_jobs_history_limit=1)

    starts = [due.astimezone(NEW_YORK) for due in started_during_a_year(bench)]

    assert {(due.hour, due.minute) for due in starts} == {(2, 30)}
    nights = [due.date() for due in starts]
    assert len(nights) == len(set(nights)) == 364
    assert datetime(2026, 3, 8).date() not in nights


def test_an_operator_that_comes_and_goes_starts_nothing_twice() -> None:
    """CRON-25, CRON-50: it catches up with the latest start, and with that alone."""
    dice = random.Random(6)
    bench = Workbench("*/10 * * * *", successful_jobs_history_limit=0)
    cron = Cron.parse("*/10 * * * *")
    now, made = at("10:02"), []
    for _ in range(1500):
        now += timedelta(seconds=dice.choice([30, 600, 3600, 7200]))
        bench.set_time(now)
        bench.reconciler = type(bench.reconciler)()
        known = set(bench.jobs)
        bench.reconcile()
        for name in set(bench.jobs) - known:
            due = scheduled_at(bench.jobs[name])
            assert due is not None
            following = cron.next(due)
            assert following is not None
            assert due <= now < following
            made.append(due)
            bench.end(bench.jobs[name])
    assert made == sorted(set(made))
    assert len(made) > 1000
