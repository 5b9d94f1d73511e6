"""The program: the reconciler and webhooks of the operator, and its flags."""

from __future__ import annotations

import argparse
import logging
import os
from collections.abc import Sequence
from typing import Any

from clientgo.observe.logs import setup_logging
from clientgo.operator import LeaderElection, Manager
from clientgo.operator.webhooks import WebhookOptions, defaulting, validating
from clientgo.rest import load_config
from examples.database.accounts import Accounts
from examples.database.api import Database
from examples.database.conversion import DatabaseConverter
from examples.database.reconciler import DatabaseReconciler

NAME = "databases"


def new_manager(
    cluster: Any = None,
    accounts: Accounts | None = None,
    *,
    period: float = 30.0,
    reconciler: type[DatabaseReconciler] = DatabaseReconciler,
    **settings: Any,
) -> Manager:
    """Return the operator's manager; ``clientgo operator`` and the tests call it too.

    ``ACCOUNTS_URL`` in the environment is the service of ``accounts`` that are not given.
    ``reconciler`` is that of another release, for tests.
    """
    manager = Manager(cluster, name=NAME, **settings)
    databases = reconciler(
        accounts or Accounts(os.environ.get("ACCOUNTS_URL", "http://accounts")), period=period
    )
    manager.register(databases)
    manager.webhook(
        defaulting(databases, Database), validating(databases, Database), DatabaseConverter()
    )
    return manager


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGINT or SIGTERM. ``ENABLE_WEBHOOKS=false`` switches the webhooks off."""
    options = _options(arguments)
    if options.demo:
        from examples.database.demo import demo

        setup_logging(logging.WARNING)
        demo()
        return
    setup_logging(logging.INFO)
    election = LeaderElection(id=f"{NAME}.example.com", namespace=options.leader_election_namespace)
    new_manager(
        load_config(kubeconfig=options.kubeconfig),
        webhook=WebhookOptions(cert_dir=options.webhook_certificates),
        leader_election=election if options.leader_elect else None,
    ).run()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.database", description=__doc__)
    parser.add_argument("--demo", action="store_true", help="run with an embedded API server")
    parser.add_argument("--kubeconfig", metavar="PATH", help="the cluster; default: as kubectl")
    parser.add_argument("--webhook-certificates", metavar="DIR", help="with tls.crt and tls.key")
    parser.add_argument("--leader-elect", action="store_true", help="reconcile only as the leader")
    parser.add_argument("--leader-election-namespace", default="", metavar="NAME")
    return parser.parse_args(arguments)
