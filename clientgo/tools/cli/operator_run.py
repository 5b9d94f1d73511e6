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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clientgo.api.apps_v1 import DaemonSet, Deployment, StatefulSet
from clientgo.api.batch_v1 import Job
from clientgo.api.core_v1 import Pod
from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import APIResource, ObjectName, StatusError, Unstructured
from clientgo.observe.logs import setup_logging
from clientgo.operator.errors import ConfigError, OperatorError
from clientgo.operator.manager import Manager
from clientgo.operator.status_report import FAILURE
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import load_config
from clientgo.tools.cli.inputs import manifests_of
from clientgo.tools.cli.operator_webhooks import LocalWebhooks
from clientgo.tools.scaffold.installing import (
    ClusterView,
    apply,
    install_definitions,
    resource_of_manifest,
)
from clientgo.tools.scaffold.project import Project, read_project
from clientgo.tools.scaffold.project_code import (
    manager_function,
    project_kinds,
    require_converters,
    require_equal_versions,
)
from clientgo.util.text.escapes import escaped
from clientgo.util.text.yaml_writer import yaml_text

_OFF = "0"


def configure(parts: Any, project_part: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``run``."""
    part = project_part(parts, "run", "run the operator here", _run)
    where = part.add_mutually_exclusive_group()
    where.add_argument("--embedded", action="store_true", help="use an API server in memory")
    where.add_argument("--kubeconfig", metavar="PATH", help="of the cluster (default: as kubectl)")
    part.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    part.add_argument(
        "--workloads",
        action="store_true",
        help="with --embedded: simulate controllers, scheduler and kubelets, so that pods start",
    )
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
    if args.workloads and not args.embedded:
        raise ConfigError("--workloads needs --embedded: a cluster has controllers of its own")
    project = read_project(args.project)
    setup_logging(logging.DEBUG if args.verbose else logging.INFO)
    new_manager = manager_function(project)
    with contextlib.ExitStack() as stack:
        if args.embedded:
            from clientgo.testcluster.server import EmbeddedAPIServer

            server = stack.enter_context(EmbeddedAPIServer(secure=True))
            config = load_config(server.kubeconfig)
            if args.workloads:
                from clientgo.testcluster.workloads import simulate

                stack.enter_context(simulate(server))
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
        require_converters(manager, project_kinds(project))
        if args.embedded:
            require_equal_versions(manager, project_kinds(project))
        if local is not None:
            local.attach(manager)
        elif not (manager.webhooks.is_empty() or webhook.enabled):
            print("The webhooks are not served: pass --certs DIR, or run --embedded")
        if args.once:
            exit_code = _reconcile_samples(project, client, manager, args.timeout, local)
            if exit_code and args.embedded and not args.workloads and _has_pods_to_start(client):
                print("no pod starts here: --workloads simulates them", file=sys.stderr)
            return exit_code
        manager.run()
    return 0


class SampleError(OperatorError):
    """A sample cannot be applied."""


@dataclass(frozen=True, slots=True)
class _Sample:
    """A manifest of config/samples, and the object that it is about."""

    file: Path
    manifest: Mapping[str, Any]
    resource: APIResource
    name: ObjectName

    def __str__(self) -> str:
        return f"{self.resource.kind} {self.name}"

    def apply(self, client: Client) -> None:
        try:
            apply(client, self.manifest)
        except StatusError as error:
            raise SampleError(
                f"{self.file}: {error}; correct it, or write it again: clientgo operator gen sample"
            ) from error

    def in_cluster(self, view: ClusterView) -> Unstructured | None:
        objects = view.objects(self.resource)
        return next((obj for obj in objects if ObjectName.of(obj) == self.name), None)


def _read_samples(project: Project, client: Client) -> list[_Sample]:
    """Raises ``ConfigError`` if there are none."""
    found = [
        _Sample(
            file,
            manifest,
            resource_of_manifest(client, manifest),
            ObjectName.of(Unstructured.from_dict(manifest)),
        )
        for file in sorted((project.config / "samples").glob("*.yaml"))
        for manifest in manifests_of(file)
    ]
    if not found:
        raise ConfigError(f"{project.config}/samples is empty; run clientgo operator gen sample")
    return found


def _reconcile_samples(
    project: Project, client: Client, manager: Manager, timeout: float, local: LocalWebhooks | None
) -> int:
    """Run until the samples are reconciled; return the exit code."""
    samples = _read_samples(project, client)
    with manager, ClusterView(client, *{sample.resource for sample in samples}) as view:
        if local is not None:
            local.settled.wait(timeout)
        for sample in samples:
            sample.apply(client)

        def unreconciled() -> list[tuple[_Sample, str]]:
            reasons = [(sample, why_not_reconciled(sample.in_cluster(view))) for sample in samples]
            return [(sample, why) for sample, why in reasons if why]

        done = view.wait_until(lambda: not unreconciled(), timeout)
        problems = unreconciled()
        for sample in samples:
            obj = sample.in_cluster(view)
            status = None if obj is None else obj.get("status")
            print(f"{sample}:\n{yaml_text({'status': status})}", end="")
    if not done:
        for sample, why in problems:
            failure = last_warning(client, sample.resource, sample.name)
            told = f"not reconciled after {timeout:g} s: {sample}: {why}{failure}"
            print(escaped(told), file=sys.stderr)
        print("the log above says what the operator did", file=sys.stderr)
        return 1
    print("reconciled.")
    return 0


def _has_pods_to_start(client: Client) -> bool:
    kinds = (DaemonSet, Deployment, Job, Pod, StatefulSet)
    return any(client.resource(kind).list().items for kind in kinds)


def last_warning(client: Client, resource: APIResource, name: ObjectName) -> str:
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

    Its status must be of this generation, tell of no failure, and be ``Ready`` if it has that
    condition; a status without any of these must at least be there.
    """
    if obj is None:
        return "it is not there any more"
    status = obj.get("status") or {}
    if not status:
        return "no status was written"
    generation = obj.metadata.generation
    if status.get("status") == FAILURE:
        return f"its last run failed: {status.get('reason', '')}"
    observed = status.get("observedGeneration", generation)
    if observed != generation:
        return f"the status is of generation {observed}, the object of generation {generation}"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Ready" and condition.get("status") != "True":
            reason, message = condition.get("reason", ""), condition.get("message", "")
            return f"Ready is {condition.get('status')}: {reason}: {message}"
    return ""
