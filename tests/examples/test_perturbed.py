"""Every controller that this project ships, disturbed at each of its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.operator import Context, LeaderElection, Manager, Result, controller
from clientgo.rest import RestConfig
from clientgo.testing.perturb import PERTURBATIONS, Report, perturb
from examples.cronjob.api import CronJob
from examples.cronjob.demo import sample
from examples.cronjob.reconciler import CronJobReconciler
from examples.field_changes import Database as UpgradedDatabase
from examples.foo_operator.reconciler import FooReconciler
from examples.schema_poller import Database, Schema, new_manager
from examples.site_checks import Site, SiteReconciler
from examples.webpage import WebPage, WebPageReconciler
from examples.webpage_dependents import DescribedPageReconciler
from sample_controller import demo
from sample_controller.demo import artifact, scale
from tests.available import deployments_available

FOO = artifact("crd-status-subresource.yaml"), artifact("example-foo.yaml")


def disturbed(controller: Any, manifests: Any, **options: Any) -> Report:
    report = perturb(
        controller, manifests=list(manifests), beside=pods, jobs=8, quiet=0.3, **options
    )
    report.check()
    return report


def reached(report: Report) -> set[str]:
    return {outcome.perturbation for outcome in report.outcomes if outcome.verdict == "ok"}


@contextmanager
def pods(config: RestConfig) -> Iterator[None]:
    """Deployments become available."""
    with Client(config) as client, deployments_available(client):
        yield


def operator(
    *reconcilers: object, **settings: Any
) -> Callable[[RestConfig], AbstractContextManager[Manager]]:
    def run(config: RestConfig) -> Manager:
        manager = Manager(Client(config), metrics="0", **settings)
        for reconciler in reconcilers:
            manager.register(reconciler)
        return manager

    return run


def test_the_sample_controller() -> None:
    report = disturbed(demo.controller, FOO, changes=[lambda client: scale(client, 3)])

    assert len(report.writes) >= 4
    assert reached(report) == set(PERTURBATIONS) - {"lost-leadership"}


def test_the_same_controller_as_an_operator() -> None:
    report = disturbed(operator(FooReconciler()), FOO)

    assert [str(write) for write in report.writes] == [
        "create deployments default/example-foo",
        "patch foos/status default/example-foo",
        "patch foos/status default/example-foo #2",  # none is available at first, then one
    ]


def test_the_same_controller_with_an_election() -> None:
    """No run waits for the end of the Lease that a crashed process holds."""
    election = LeaderElection(
        id="foo.example.com", namespace="default", lease=60.0, renew=40.0, retry=0.2
    )
    controller = operator(FooReconciler(), leader_election=election)

    report = disturbed(controller, FOO, perturbations=["lost-leadership", "crash-after"])

    assert reached(report) == {"lost-leadership", "crash-after"}


@pytest.mark.parametrize("reconciler", [WebPageReconciler, DescribedPageReconciler])
def test_the_web_page(reconciler: Any) -> None:
    page = {
        "apiVersion": "example.com/v1",
        "kind": "WebPage",
        "metadata": {"name": "hello", "namespace": "default"},
        "spec": {"replicas": 2},
    }

    disturbed(
        operator(reconciler()),
        [*definitions_of([WebPage]), page],
        perturbations=["crash-after", "stale-restart", "unobserved"],
    )


def test_the_cronjob_starts_a_missed_job_once() -> None:
    """The schedule is one minute of the year, so that a run of this test does not meet it."""
    cron_job = sample(schedule="0 0 1 1 *", startingDeadlineSeconds=None)

    def miss_a_start(client: Client) -> None:
        jobs = client.resource(CronJob).namespace("default")
        jobs.patch(
            "cronjob-sample",
            {"status": {"lastScheduleTime": "2025-06-01T00:00:00Z"}},
            subresource="status",
        )
        jobs.patch("cronjob-sample", {"spec": {"successfulJobsHistoryLimit": 2}})

    report = disturbed(
        operator(CronJobReconciler()),
        [*definitions_of([CronJob]), cron_job],
        changes=[miss_a_start],
        # A new CronJob of the same name has missed nothing, so the end is another one.
        perturbations=["crash-before", "crash-after", "stale-restart"],
    )

    assert any(write.resource == "jobs" for write in report.writes)


def test_the_site_checks() -> None:
    """A reconciler that is a coroutine is cancelled by a crash, and begins again."""

    async def check(url: str) -> str:
        return f"{url} is there"

    site = {
        "apiVersion": "example.com/v1",
        "kind": "Site",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {"url": "http://shop"},
    }

    report = disturbed(
        operator(SiteReconciler(check)),
        [*definitions_of([Site]), site],
        perturbations=["crash-before", "crash-after", "lost-answer"],
    )

    assert [str(write) for write in report.writes] == ["patch sites/status default/shop"]


def test_the_schema_poller_keeps_the_database_in_step(tmp_path: Path) -> None:
    schema = {
        "apiVersion": "example.com/v1",
        "kind": "Schema",
        "metadata": {"name": "shop", "namespace": "default"},
        "spec": {},
    }

    def controller(config: RestConfig) -> Manager:
        # Each run has an API server of its own, and a database beside it.
        database = Database(tmp_path / config.server.rpartition(":")[2])
        return new_manager(Client(config), database, period=0.2)

    disturbed(
        controller,
        [*definitions_of([Schema]), schema],
        changes=[lambda client: client.resource(Schema).namespace("default").delete("shop")],
        perturbations=["crash-before", "crash-after"],
    )


def test_no_restart_loses_or_repeats_an_upgrade() -> None:
    """The reaction to a changed field and the note of it are one write: both happen, or none."""

    @controller(UpgradedDatabase, changes=["spec.version"], name="database")
    class Upgrades:
        def reconcile(self, ctx: Context[UpgradedDatabase], database: UpgradedDatabase) -> Result:
            if ctx.changes.changed("spec.version"):
                upgrade = f"{ctx.changes.old('spec.version')} to {database.spec.version}"
                database.status.upgrades = [*database.status.upgrades, upgrade]
            return Result.status(database)

    database = {
        "apiVersion": "example.com/v1",
        "kind": "Database",
        "metadata": {"name": "orders", "namespace": "default"},
        "spec": {"version": 1},
    }

    def ask_for_another(client: Client) -> None:
        databases = client.resource(UpgradedDatabase).namespace("default")
        databases.patch("orders", {"spec": {"version": 2}})

    report = disturbed(
        operator(Upgrades()),
        [*definitions_of([UpgradedDatabase]), database],
        changes=[ask_for_another],
        # An object that was deleted and created again is new, and needs no upgrade.
        perturbations=["crash-before", "crash-after", "lost-answer"],
    )

    assert len(report.writes) == 2
    assert reached(report) == {"crash-before", "crash-after", "lost-answer"}
