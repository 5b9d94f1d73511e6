"""A kind of your own: classes declare it, and an API server validates its objects.

Prints its definition for kubectl apply; with --demo, creates valid and invalid objects.
"""

from __future__ import annotations

import sys
from typing import Annotated, Literal

from msgspec import Meta

from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import AGE, CustomResource, ListMap, PrinterColumn, Rule, marked


class Listener(Model):
    name: str
    port: Annotated[int, Meta(ge=1, le=65535)]
    protocol: Literal["HTTP", "HTTPS"] = "HTTP"


@marked(Rule("self.minReplicas <= self.maxReplicas", "minReplicas must not exceed maxReplicas"))
class GatewaySpec(Model):
    """How traffic gets in."""

    listeners: Annotated[list[Listener], ListMap("name"), Meta(max_length=16)]
    """Where it listens; each has a name of its own."""
    min_replicas: int = 1
    max_replicas: int = 3


@CustomResource(columns=(PrinterColumn("Max", ".spec.maxReplicas"), AGE), categories=("all",))
@resource(group="example.com", version="v1", plural="gateways", short_names=("gw",))
class Gateway(Resource):
    """Lets traffic into the cluster."""

    spec: GatewaySpec


def demo() -> None:
    from clientgo.api.apiextensions_v1 import CustomResourceDefinition
    from clientgo.client import Client
    from clientgo.codegen.crd import custom_resource_definition
    from clientgo.meta import InvalidError, ObjectMeta
    from clientgo.testcluster.server import EmbeddedAPIServer

    with EmbeddedAPIServer() as server, Client(server.kubeconfig) as client:
        client.resource(CustomResourceDefinition).create(custom_resource_definition(Gateway))
        gateways = client.resource(Gateway).namespace("default")
        web = Listener(name="web", port=80)

        def create(name: str, spec: GatewaySpec) -> None:
            try:
                created = gateways.create(Gateway(metadata=ObjectMeta(name=name), spec=spec))
            except InvalidError as error:
                print(f"{name}: {error.message}")
            else:
                print(f"{name}: created with up to {created.spec.max_replicas} replicas")

        create("good", GatewaySpec(listeners=[web]))
        create("turned-around", GatewaySpec(listeners=[web], min_replicas=9))
        create("twice", GatewaySpec(listeners=[web, web]))


if __name__ == "__main__":
    if "--demo" in sys.argv:
        demo()
    else:
        from clientgo.codegen.crd import custom_resource_definition
        from clientgo.codegen.manifests import manifest_text

        print(manifest_text([custom_resource_definition(Gateway)]), end="")
