"""``clientgo operator run``: the project's operator in this process.

Promises: the manager of the program, without leader election, against a cluster or an API server in
memory, which calls its webhooks. For a cluster, webhooks are served only with ``--certs``, and the
user registers them.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from clientgo.api.events_v1 import Event
from clientgo.cli.operator_webhooks import LocalWebhooks
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.logs import setup_logging
from clientgo.meta import APIResource, ObjectName, Unstructured
from clientgo.operator.manager import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import load_config
from clientgo.scaffold.declared_operator import manager_function, project_kinds
from clientgo.scaffold.installing import (
    ClusterView,
    apply,
    install_definitions,
    resource_of_manifest,
)
from clientgo.scaffold.project import Project, read_project

_OFF = "0"


def configure(parts: Any, project_part: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``run``."""
    part = project_part(parts, "run", "run the operator here", _run)
    where = part.add_mutually_exclusive_group()
    where.add_argument("--embedded", action="store_true", help="use an API server in memory")
    where.add_argument("--kubeconfig", metavar="PATH", help="of the cluster (default: as kubectl)")
    part.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    part.add_argument(
        "--once",
        action="store_true",
        help="apply config/samples, exit when they are reconciled, or fail",
    )
    part.add_argument("--timeout", type=float, default=30.0, help="seconds for --once")
    part.add_argument("--certs", metavar="DIR", help="serve webhooks with the certificate in DIR")
    part.add_argument("--metrics", default=_OFF, metavar=":PORT", help="serve metrics")
    part.add_argument("--health", default=_OFF, metavar=":PORT", help="serve health")
    part.add_argument("-v", "--verbose", action="store_true", help="log every run")


def _run(args: argparse.Namespace) -> int:
    project = read_project(args.project)
    setup_logging(logging.DEBUG if args.verbose else logging.INFO)
    new_manager = manager_function(project)
    with contextlib.ExitStack() as stack:
        if args.embedded:
            from clientgo.apiserver import EmbeddedAPIServer

            server = stack.enter_context(EmbeddedAPIServer())
            config = load_config(str(server.kubeconfig))
            print(
                f"An API server in memory; to use it:\n  export KUBECONFIG={server.kubeconfig}",
                flush=True,
            )
        else:
            config = load_config(args.kubeconfig, args.context)
        client = stack.enter_context(Client(config))
        if args.embedded:
            install_definitions(client, definitions_of(project_kinds(project)))
        local = None
        webhook = WebhookOptions(cert_dir=args.certs, enabled=args.certs is not None)
        if args.embedded and args.certs is None:
            local = stack.enter_context(LocalWebhooks(project, client))
            webhook = local.options
        manager = new_manager(config, metrics=args.metrics, health=args.health, webhook=webhook)
        if local is not None:
            local.attach(manager)
        elif not (manager.webhooks.is_empty() or webhook.enabled):
            print("The webhooks are not served: pass --certs DIR, or run --embedded")
        if args.once:
            return _reconcile_samples(project, client, manager, args.timeout, local)
        manager.run()
    return 0


def _reconcile_samples(
    project: Project, client: Client, manager: Manager, timeout: float, local: LocalWebhooks | None
) -> int:
    """Run until the samples are reconciled; return the exit code."""
    samples = [
        document
        for file in sorted((project.config / "samples").glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text(encoding="utf-8"))
        if document
    ]
    if not samples:
        print(
            "there are no samples in config/samples; clientgo operator gen sample", file=sys.stderr
        )
        return 1
    places = {(resource_of_manifest(client, m), _key(m)) for m in samples}
    with manager, ClusterView(client, *{resource for resource, _ in places}) as view:
        if local is not None:
            local.settled.wait(timeout)
        for manifest in samples:
            apply(client, manifest)

        def seen() -> dict[tuple[APIResource, ObjectName], Unstructured]:
            return {
                (resource, ObjectName.of(obj)): obj
                for resource in {resource for resource, _ in places}
                for obj in view.objects(resource)
            }

        def unreconciled() -> dict[tuple[APIResource, ObjectName], str]:
            found = seen()
            reasons = {place: why_not_reconciled(found.get(place)) for place in places}
            return {place: why for place, why in reasons.items() if why}

        done = view.wait_until(lambda: not unreconciled(), timeout)
        found, problems = seen(), unreconciled()
        for resource, name in sorted(places & found.keys(), key=str):
            print(f"{resource.kind} {name}:")
            status = found[resource, name].get("status")
            print(yaml.safe_dump({"status": status}, sort_keys=False), end="")
    if not done:
        for (resource, name), why in sorted(problems.items(), key=str):
            failure = _last_warning(client, resource, name)
            print(
                f"not reconciled after {timeout:g} s: {resource.kind} {name}: {why}{failure}",
                file=sys.stderr,
            )
        print("the log above says what the operator did", file=sys.stderr)
        return 1
    print("reconciled.")
    return 0


def _key(manifest: Mapping[str, Any]) -> ObjectName:
    return ObjectName.of(Unstructured.from_dict(manifest))


def _last_warning(client: Client, resource: APIResource, name: ObjectName) -> str:
    """Return the operator's last warning Event about an object."""
    warnings = [
        event
        for event in client.resource(Event).namespace(name.namespace or "default").list().items
        if event.type == "Warning"
        and (event.regarding.kind, event.regarding.name) == (resource.kind, name.name)
    ]
    if not warnings:
        return ""
    last = max(warnings, key=lambda event: int(event.metadata.resource_version))
    return f" ({last.reason}: {last.note})"


def why_not_reconciled(obj: Unstructured | None) -> str:
    """Return why an object is not reconciled yet, empty if it is.

    Its status must be of this generation, and ``Ready`` if it has that condition; a status without
    either must at least be there.
    """
    if obj is None:
        return "it is not there any more"
    status = obj.get("status") or {}
    if not status:
        return "no status was written"
    generation = obj.metadata.generation
    observed = status.get("observedGeneration", generation)
    if observed != generation:
        return f"the status is of generation {observed}, the object of generation {generation}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            reason, message = condition.get("reason", ""), condition.get("message", "")
            return f"Ready is {condition.get('status')}: {reason}: {message}"
    return ""
