"""The program: the reconcilers and webhooks of the operator, and its flags."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from datetime import UTC, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from clientgo.observe.logs import setup_logging
from clientgo.operator import LeaderElection, Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import load_config
from examples.cronjob.reconciler import CronJobReconciler
from examples.cronjob.webhooks import check, fill_in

NAME = "cronjob"


def new_manager(cluster: Any = None, *, zone: tzinfo = UTC, **settings: Any) -> Manager:
    """Return the operator's manager; ``clientgo operator`` and the tests call it too."""
    manager = Manager(cluster, name=NAME, **settings)
    manager.register(CronJobReconciler(zone))
    manager.webhook(fill_in, check)
    return manager


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGINT or SIGTERM. ``ENABLE_WEBHOOKS=false`` in the environment switches the
    webhooks off, which then need no certificate."""
    options = _options(arguments)
    if options.demo:
        from examples.cronjob.demo import demo

        setup_logging(logging.DEBUG if options.verbose else logging.WARNING)
        demo()
        return
    setup_logging(logging.DEBUG if options.verbose else logging.INFO)
    election = LeaderElection(id=f"{NAME}.example.com", namespace=options.leader_election_namespace)
    new_manager(
        load_config(kubeconfig=options.kubeconfig),
        zone=options.timezone,
        workers=options.workers,
        metrics=options.metrics,
        health=options.health,
        webhook=WebhookOptions(port=options.webhook_port, cert_dir=options.webhook_certificates),
        leader_election=election if options.leader_elect else None,
    ).run()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.cronjob", description=__doc__)
    parser.add_argument(
        "--demo", action="store_true", help="run a demonstration with an embedded API server"
    )
    parser.add_argument("--kubeconfig", metavar="PATH", help="the cluster; default: as kubectl")
    parser.add_argument(
        "--timezone", type=_zone, default=UTC, metavar="NAME", help="time zone of schedules (UTC)"
    )
    parser.add_argument(
        "--workers", type=int, default=2, help="CronJobs reconciled in parallel (2)"
    )
    parser.add_argument("--metrics", default=":8080", metavar=":PORT", help="0 for none (:8080)")
    parser.add_argument("--health", default=":8081", metavar=":PORT", help="0 for none (:8081)")
    parser.add_argument("--webhook-port", type=int, default=9443, metavar="PORT", help="(9443)")
    parser.add_argument("--webhook-certificates", metavar="DIR", help="with tls.crt and tls.key")
    parser.add_argument("--leader-elect", action="store_true", help="reconcile only as the leader")
    parser.add_argument("--leader-election-namespace", default="", metavar="NAME")
    parser.add_argument("-v", "--verbose", action="store_true", help="log every run")
    return parser.parse_args(arguments)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise argparse.ArgumentTypeError(f"{name!r} is no time zone, as Europe/Berlin") from error
