"""A kind in two versions: a conversion webhook lets old and new clients work on the same objects.

``python -m examples.two_versions --demo`` runs on an API server of its own. In a cluster, webhooks
are called through a Service: ``clientgo operator gen all`` writes what that needs.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import Model, ObjectMeta, Resource, deep_copy, resource
from clientgo.meta.markers import AGE, CustomResource, PrinterColumn
from clientgo.operator import Context, Manager, Result, controller
from clientgo.operator.status import ObservedGeneration
from clientgo.operator.webhooks import WebhookOptions, Webhooks, WebhookServer, conversion
from clientgo.testing.observer import Observer
from clientgo.tools.scaffold import ClientConfig, add_conversions, by_url
from clientgo.tools.scaffold.installing import install_definitions
from clientgo.util.certificates import make_throw_away_pair, write_pair
from examples.embedded import embedded, manager_of, see

_HERE = "127.0.0.1"


class DiskStatus(ObservedGeneration):
    """What the operator has done; it is the same in both versions."""

    phase: str = ""


class OldDiskSpec(Model):
    """How large the disk is: ``10Gi``."""

    size: Annotated[str, Meta(pattern=r"^(0|[1-9][0-9]{0,5})Gi$")]


@CustomResource(columns=(PrinterColumn("Size", ".spec.size"), AGE))
@resource(group="example.com", version="v1alpha1", plural="disks", kind="Disk")
class OldDisk(Resource):
    """A disk, as the first release declared it."""

    spec: OldDiskSpec
    status: DiskStatus | None = None


class DiskSpec(Model):
    """How large the disk is, as a number that can be compared; and how fast."""

    gigabytes: Annotated[int, Meta(ge=0, le=999_999)]
    tier: str = "standard"


@CustomResource(columns=(PrinterColumn("Gigabytes", ".spec.gigabytes"), AGE), storage=True)
@resource(group="example.com", version="v1", plural="disks")
class Disk(Resource):
    """A disk. Objects are stored in this version, and the operator knows no other."""

    spec: DiskSpec
    status: DiskStatus | None = None


TIER = "example.com/tier"
"""The annotation that keeps the tier while a Disk is v1alpha1, which has no field for it."""


@conversion(OldDisk, hub=Disk)
class DiskConverter:
    """Converts both ways; what one version cannot say, an annotation keeps."""

    def to_hub(self, spoke: OldDisk) -> Disk:
        metadata = deep_copy(spoke.metadata)
        annotations = dict(metadata.annotations)
        spec = DiskSpec(
            gigabytes=int(spoke.spec.size.removesuffix("Gi")),
            tier=annotations.pop(TIER, "standard"),
        )
        metadata.annotations = annotations
        return Disk(metadata=metadata, spec=spec, status=spoke.status)

    def from_hub(self, hub: Disk) -> OldDisk:
        metadata = deep_copy(hub.metadata)
        annotations = dict(metadata.annotations)
        if hub.spec.tier != "standard":
            annotations[TIER] = hub.spec.tier
        metadata.annotations = annotations
        spec = OldDiskSpec(size=f"{hub.spec.gigabytes}Gi")
        return OldDisk(metadata=metadata, spec=spec, status=hub.status)


@controller(Disk)
class DiskReconciler:
    """Works on v1 alone; a Disk of an old client arrives converted."""

    def reconcile(self, ctx: Context[Disk], disk: Disk) -> Result:
        disk.status = DiskStatus(phase=f"{disk.spec.gigabytes} GB of {disk.spec.tier}")
        return Result.status(disk)


def new_manager(client: Client, **settings: Any) -> Manager:
    manager = manager_of(client, "disks", **settings)
    manager.register(DiskReconciler())
    manager.webhook(DiskConverter())
    return manager


@contextmanager
def serving(webhooks: Webhooks) -> Iterator[ClientConfig]:
    """Serve webhooks with a certificate of their own; give the way to call them."""
    authority, pair = make_throw_away_pair([_HERE], now=time.time())
    with tempfile.TemporaryDirectory() as directory:
        write_pair(Path(directory), pair)
        options = WebhookOptions(host=_HERE, port=0, cert_dir=directory)
        server = WebhookServer(options, webhooks)
        server.start()
        try:
            yield by_url(server.url, authority)
        finally:
            server.stop()


def install(client: Client, webhooks: Webhooks, reach: ClientConfig) -> None:
    """Install the kind with both versions and its converter."""
    definitions = definitions_of([Disk, OldDisk])
    converted = [kind.resource.group_resource for kind in webhooks.conversions()]
    add_conversions(definitions, converted, reach)
    install_definitions(client, definitions)


def demo() -> None:
    with embedded() as client:
        # The webhooks answer before the definition is installed, and the controller watches after.
        manager = new_manager(client, webhook=WebhookOptions(enabled=False))
        with serving(manager.webhooks) as reach:
            install(client, manager.webhooks, reach)
            with manager, Observer(client, OldDisk) as seen:
                tell(client, seen)


def tell(client: Client, seen: Observer) -> None:
    old = client.resource(OldDisk).namespace("default")
    new = client.resource(Disk).namespace("default")
    watched = seen.lister(OldDisk).namespace("default")

    spec = OldDiskSpec(size="10Gi")
    created = old.create(OldDisk(metadata=ObjectMeta(name="data"), spec=spec))
    print(f"an old client creates a disk of {created.spec.size}")
    print(f"a new client reads {new.get('data').spec.gigabytes} gigabytes")
    see(
        seen,
        "the operator, which knows v1 alone, has reported to the old client",
        lambda: (status := watched.get("data").status) and status.phase == "10 GB of standard",
    )
    new.patch("data", {"spec": {"gigabytes": 20, "tier": "fast"}})
    see(
        seen,
        "a change in v1 reaches the watch of v1alpha1",
        lambda: watched.get("data").spec.size == "20Gi",
    )
    old.patch("data", {"spec": {"size": "30Gi"}})
    spec_now = new.get("data").spec
    print(f"the old client grows it, and the tier stays: {spec_now.gigabytes}, {spec_now.tier}")
    definitions = client.resource(CustomResourceDefinition)
    stored = definitions.get("disks.example.com").status.stored_versions or []
    print(f"stored in {', '.join(stored)}")


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        sys.exit("usage: python -m examples.two_versions --demo")
