"""Each example as a service account with its generated roles: nothing is refused."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import pytest

from clientgo.api.batch_v1 import Job
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import ObjectMeta, Resource
from clientgo.operator import LeaderElection, Manager
from clientgo.testcluster.workloads import WorkloadSimulator
from clientgo.testing.observer import Observer
from clientgo.testing.rbac_server import RBACServer
from clientgo.tools.scaffold.inferred_rules import controller_rules
from clientgo.tools.scaffold.manifests.roles import operator_roles
from examples.cronjob.api import CronJob
from examples.cronjob.demo import JobSimulator, sample
from examples.cronjob.main import new_manager as new_cronjob_manager
from examples.embedded import manager_of
from examples.foo_operator.reconciler import FooReconciler
from sample_controller.types import Foo, FooSpec
from tests.examples.running import ROOT

NAMESPACE, ACCOUNT = "example-system", "example"


class Account:
    """The service account as which an example runs, and the cluster that it runs on."""

    def __init__(self, server: RBACServer) -> None:
        self.server = server

    @contextmanager
    def embedded(self, *kinds: type[Resource]) -> Iterator[Client]:
        """Take the place of the server that an example makes for itself."""
        self.server.apply(*definitions_of(kinds))
        yield self.server.client

    def manager_of(self, _client: Client, name: str, **settings: Any) -> Manager:
        """Take the place of the function that makes the manager of an example."""
        account = self

        class Restricted(Manager):
            def start(self) -> None:
                rules = [rule for item in self.controllers() for rule in controller_rules(item)]
                account.server.apply(*operator_roles(ACCOUNT, NAMESPACE, rules))
                super().start()

        client = self.server.client_of(NAMESPACE, ACCOUNT)
        return Restricted(client, name=name, metrics="0", close_client_on_stop=False, **settings)


@pytest.fixture
def account(rbac_server: RBACServer) -> Account:
    return Account(rbac_server)


@pytest.mark.parametrize(
    ("example", "home", "reconciler"),
    [
        ("webpage", "webpage", "WebPageReconciler"),
        ("webpage_dependents", "webpage", "DescribedPageReconciler"),
        ("secret_routes", "secret_routes", ""),
        ("namespaces", "namespaces", ""),
        ("schema_poller", "schema_poller", ""),
        ("drain_node", "drain_node", ""),
    ],
)
def test_an_example_needs_no_more_than_the_roles_that_follow_from_its_code(
    account: Account, monkeypatch: pytest.MonkeyPatch, example: str, home: str, reconciler: str
) -> None:
    module = import_module(f"examples.{home}")
    monkeypatch.setattr(module, "embedded", account.embedded)
    monkeypatch.setattr(module, "manager_of", account.manager_of)
    arguments = [getattr(import_module(f"examples.{example}"), reconciler)()] if reconciler else []

    module.demo(*arguments)


def test_the_foo_operator_needs_no_more_than_the_roles_that_follow_from_its_code(
    account: Account,
) -> None:
    foo = Foo(
        metadata=ObjectMeta(name="a", namespace="default"),
        spec=FooSpec(deployment_name="a", replicas=2),
    )
    with account.embedded(Foo) as client:
        manager = account.manager_of(client, "foo-operator")
        manager.register(FooReconciler())
        simulator = manager_of(client, "workloads")
        simulator.add_runnable(WorkloadSimulator(client))
        with simulator, manager, Observer(client, Foo) as seen:
            client.resource(Foo).namespace("default").create(foo)
            foos = seen.lister(Foo).namespace("default")
            assert seen.wait_until(lambda: foos.get("a").status.available_replicas == 2)


def test_the_cronjob_operator_needs_no_more_than_its_manifests(
    rbac_server: RBACServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENABLE_WEBHOOKS", "false")
    config = ROOT / "examples/cronjob/config"
    rbac_server.apply_files(config / "crd", config / "rbac/operator.yaml")
    jobs_run = manager_of(rbac_server.client, "kubelet")
    jobs_run.register(JobSimulator())
    manager = new_cronjob_manager(
        rbac_server.client_of("cronjob-system", "cronjob"),
        metrics="0",
        leader_election=LeaderElection(id="cronjob.example.com", namespace="cronjob-system"),
    )
    cron_jobs = rbac_server.client.resource(CronJob).namespace("default")

    with jobs_run, manager, Observer(rbac_server.client, CronJob, Job) as seen:
        cron_jobs.create(sample(schedule="@every 1s", successfulJobsHistoryLimit=1))
        jobs = seen.lister(Job).namespace("default")
        assert seen.wait_until(jobs.list)
        first = jobs.list()[0].metadata.name
        assert seen.wait_until(
            lambda: (names := {job.metadata.name for job in jobs.list()}) and first not in names
        )
