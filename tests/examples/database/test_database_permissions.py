"""The operator as its service account, with the roles that follow from its code."""

from __future__ import annotations

from clientgo.api.batch_v1 import CronJob
from clientgo.codegen.crd import definitions_of
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testing.observer import Observer
from clientgo.testing.rbac_server import RBACServer
from clientgo.tools.scaffold.inferred_rules import controller_rules
from clientgo.tools.scaffold.manifests.roles import operator_roles
from examples.database.accounts import Accounts, AccountService
from examples.database.api import Database
from examples.database.main import new_manager
from tests.examples.database.scene import database, servers_ready

NAMESPACE, ACCOUNT = "database-system", "database"


def test_it_needs_no_more_than_the_roles_that_follow_from_its_code(
    rbac_server: RBACServer, service: AccountService
) -> None:
    rbac_server.apply(*definitions_of([Database]))
    manager = new_manager(
        rbac_server.client_of(NAMESPACE, ACCOUNT),
        Accounts(service.url),
        metrics="0",
        webhook=WebhookOptions(enabled=False),
    )
    rules = [rule for item in manager.controllers() for rule in controller_rules(item)]
    rbac_server.apply(*operator_roles(ACCOUNT, NAMESPACE, rules))
    client = rbac_server.client
    databases = client.resource(Database).namespace("default")

    with servers_ready(client), manager, Observer(client, Database, CronJob) as seen:
        databases.create(database())
        watched = seen.lister(Database).namespace("default")
        backups = seen.lister(CronJob).namespace("default")
        assert seen.wait_until(
            lambda: watched.get("orders").status.ready_replicas == 2 and backups.list()
        )
        databases.patch("orders", {"spec": {"backup": None}})
        assert seen.wait_until(lambda: not backups.list())
        databases.delete("orders")
        assert seen.wait_until(lambda: not watched.list())
    assert service.accounts == {}
