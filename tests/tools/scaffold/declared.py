"""Kinds, reconcilers and managers from which tests generate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, Node
from clientgo.meta import Model, Resource, resource
from clientgo.meta.markers import CustomResource
from clientgo.operator import Manager, controller, watch
from clientgo.operator.permissions import PolicyRule
from clientgo.rest import RestConfig
from clientgo.tools.scaffold.project import Deploy, Project
from clientgo.tools.scaffold.project_code import DeclaredOperator

NOWHERE = RestConfig(server="https://nowhere.invalid")


class ShopSpec(Model):
    size: int = 1


class ShopStatus(Model):
    ready: int = 0


@CustomResource(storage=True)
@resource(group="example.com", version="v1", plural="shops")
class Shop(Resource):
    spec: ShopSpec = ShopSpec()
    status: ShopStatus = ShopStatus()


@resource(group="example.com", version="v1beta1", plural="shops", kind="Shop")
class OldShop(Resource):
    spec: ShopSpec = ShopSpec()


@resource(group="example.com", version="v1", plural="notes")
class Note(Resource):
    """Written by people."""

    spec: ShopSpec = ShopSpec()


@controller(Shop, owns=[Deployment], sources=[watch(Node)], reads=[ConfigMap])
class ShopReconciler:
    def reconcile(self, ctx: Any, obj: Any) -> None: ...


@controller(Note, name="cleaner")
class CleaningReconciler:
    def reconcile(self, ctx: Any, obj: Any) -> None: ...

    def cleanup(self, ctx: Any, obj: Any) -> None: ...


def manager(*reconcilers: object, **settings: Any) -> Manager:
    """A manager that is never started."""
    made = Manager(NOWHERE, metrics="0", **settings)
    for reconciler in reconcilers:
        made.register(reconciler)
    return made


def project(root: Path = Path("/nowhere"), **deploy: Any) -> Project:
    return Project(
        root=root,
        name="shopkeeper",
        package="shopkeeper",
        manager="shopkeeper.main:new_manager",
        api="shopkeeper.api",
        domain="example.com",
        namespace="shops",
        deploy=Deploy(**deploy),
    )


def operator(
    made: Manager, *kinds: type[Resource], granted: tuple[PolicyRule, ...] = (), **deploy: Any
) -> DeclaredOperator:
    return DeclaredOperator(project(**deploy), kinds or (Shop,), made, granted)


def of_kind(manifests: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in manifests if manifest["kind"] == kind]
