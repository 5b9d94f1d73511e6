"""``clientgo operator run``: the project's operator in this process.

Promises to run the very manager that the program has, against an API server in memory or the
cluster of a kubeconfig, without leader election and, unless there are certificates for them,
without webhooks.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import sys
from collections.abc import Callable, Mapping
from typing import Any

import yaml

from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.logs import setup_logging
from clientgo.meta import ObjectName, Unstructured
from clientgo.operator.generation.declared_operator import manager_function, project_kinds
from clientgo.operator.generation.installing import (
    ClusterView,
    apply,
    install_definitions,
    resource_of_manifest,
)
from clientgo.operator.generation.project import Project, read_project
from clientgo.operator.manager import Manager
from clientgo.operator.webhooks import WebhookOptions
from clientgo.rest import load_config

_OFF = "0"


def configure(parts: Any, project_part: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``run``."""
    part = project_part(parts, "run", "run the operator here", _run)
    where = part.add_mutually_exclusive_group()
    where.add_argument("--embedded", action="store_true", help="on an API server in memory")
    where.add_argument("--kubeconfig", metavar="PATH", help="which cluster; else as kubectl")
    part.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")
    part.add_argument(
        "--once",
        action="store_true",
        help="apply config/samples, end when they are reconciled, or fail",
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
                f"An API server in memory; join in with:\n  export KUBECONFIG={server.kubeconfig}"
            )
        else:
            config = load_config(args.kubeconfig, args.context)
        client = stack.enter_context(Client(config))
        if args.embedded:
            install_definitions(client, definitions_of(project_kinds(project)))
        manager = new_manager(
            config, metrics=args.metrics, health=args.health, webhook=_webhooks(args.certs)
        )
        if args.once:
            return _reconcile_samples(project, client, manager, args.timeout)
        manager.run()
    return 0


def _webhooks(certificates: str | None) -> WebhookOptions:
    return WebhookOptions(cert_dir=certificates, enabled=certificates is not None)


def _reconcile_samples(project: Project, client: Client, manager: Manager, timeout: float) -> int:
    """Run until the samples are as they should be; returns the exit code."""
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
        for manifest in samples:
            apply(client, manifest)

        def seen() -> list[Unstructured]:
            return [
                obj
                for resource in {resource for resource, _ in places}
                for obj in view.objects(resource)
                if (resource, ObjectName.of(obj)) in places
            ]

        def all_reconciled() -> bool:
            found = seen()
            return len(found) == len(places) and all(map(is_reconciled, found))

        done = view.wait_until(all_reconciled, timeout)
        for obj in seen():
            print(f"{obj.kind} {ObjectName.of(obj)}:")
            print(yaml.safe_dump({"status": obj.get("status")}, sort_keys=False), end="")
    if not done:
        print(f"not reconciled after {timeout:g} s; see the log above", file=sys.stderr)
        return 1
    print("reconciled.")
    return 0


def _key(manifest: Mapping[str, Any]) -> ObjectName:
    return ObjectName.of(Unstructured.from_dict(manifest))


def is_reconciled(obj: Unstructured) -> bool:
    """Whether the status of an object says that this generation of it has been dealt with.

    It must be of this generation, and ``Ready`` where it speaks of that; what has neither must at
    least be there.
    """
    status = obj.get("status") or {}
    if status.get("observedGeneration", obj.metadata.generation) != obj.metadata.generation:
        return False
    ready = [c for c in status.get("conditions") or () if c.get("type") == "Ready"]
    return bool(status) and all(condition.get("status") == "True" for condition in ready)
