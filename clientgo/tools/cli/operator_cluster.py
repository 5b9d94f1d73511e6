"""``clientgo operator install | uninstall | deploy | undeploy | finalizers``.

Promises an order that cannot deadlock. Definitions and permissions are installed before the
operator, and webhooks last, because requests wait for them. They are removed first; then the
objects, while the operator can clean up after them, and then the operator.

Source: kubebuilder's ``make install`` and ``make deploy``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.client import Client
from clientgo.meta import APIResource, NotFoundError, ObjectName, Unstructured
from clientgo.operator.errors import ConfigError
from clientgo.rest import load_config
from clientgo.tools.cli.inputs import manifests_of
from clientgo.tools.scaffold.installing import (
    ClusterView,
    NotInTimeError,
    apply,
    delete,
    install_definitions,
)
from clientgo.tools.scaffold.project import Project, read_project
from clientgo.util.wait import retry_on_conflict

Manifest = Mapping[str, Any]

_DEFINITION: Final = "CustomResourceDefinition"
_WEBHOOKS: Final = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
_PERMISSIONS: Final = (
    "ServiceAccount",
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
)
_FOLDERS: Final = ("deploy", "crd", "rbac", "webhooks")


def configure(parts: Any, project_part: Callable[..., argparse.ArgumentParser]) -> None:
    """Add the subcommands."""
    install = project_part(parts, "install", "install the definitions of the kinds", _install)
    uninstall = project_part(
        parts, "uninstall", "delete the objects, then the definitions of the kinds", _uninstall
    )
    deploy = project_part(parts, "deploy", "run the operator in the cluster", _deploy)
    deploy.add_argument("--image", help="(default: see config/deploy)")
    undeploy = project_part(parts, "undeploy", "delete the objects, then the operator", _undeploy)
    undeploy.add_argument(
        "--crds", action="store_true", help="delete the definitions of the kinds too"
    )
    finalizers = parts.add_parser(
        "finalizers", help="for emergencies: objects that wait for an operator that is gone"
    ).add_subparsers(required=True, metavar="PART")
    strip = project_part(
        finalizers, "strip", "let objects that are being deleted go without clean-up", _strip
    )
    strip.add_argument("--finalizer", metavar="NAME", help="(default: those of the kinds' groups)")
    strip.add_argument("--yes", action="store_true", help="remove them; without it, only list them")
    for part in (uninstall, undeploy):
        part.add_argument(
            "--timeout", type=float, default=120.0, help="seconds to wait for objects to be deleted"
        )
    for part in (install, uninstall, deploy, undeploy, strip):
        part.add_argument(
            "--kubeconfig", metavar="PATH", help="of the cluster (default: as kubectl)"
        )
        part.add_argument("--context", metavar="NAME", help="a context of the kubeconfig")


def _client(args: argparse.Namespace) -> Client:
    return Client(load_config(args.kubeconfig, args.context))


def _install(args: argparse.Namespace) -> int:
    definitions = _definitions(_manifests(read_project(args.project)))
    with _client(args) as client:
        install_definitions(client, definitions)
    for definition in definitions:
        print(f"installed {definition['metadata']['name']}")
    return 0


def _uninstall(args: argparse.Namespace) -> int:
    definitions = _definitions(_manifests(read_project(args.project)))
    with _client(args) as client:
        _delete_objects(client, definitions, args.timeout)
        _delete(client, definitions)
    return 0


def _deploy(args: argparse.Namespace) -> int:
    manifests = _manifests(read_project(args.project))
    if args.image:
        _set_image(manifests, args.image)
    definitions = _definitions(manifests)
    first = _of(manifests, ("Namespace",))
    permissions = _of(manifests, _PERMISSIONS)
    webhooks = _of(manifests, _WEBHOOKS)
    rest = _others(manifests, definitions, first, permissions, webhooks)
    with _client(args) as client:
        _apply(client, first)
        install_definitions(client, definitions)
        _apply(client, [*permissions, *rest, *webhooks])
    return 0


def _undeploy(args: argparse.Namespace) -> int:
    manifests = _manifests(read_project(args.project))
    definitions = _definitions(manifests)
    last = _of(manifests, ("Namespace",))
    permissions = _of(manifests, _PERMISSIONS)
    webhooks = _of(manifests, _WEBHOOKS)
    with _client(args) as client:
        _delete(client, webhooks)
        _delete_objects(client, definitions, args.timeout)
        _delete(client, _others(manifests, definitions, last, permissions, webhooks))
        _delete(client, permissions)
        _delete(client, last)
        if args.crds:
            _delete(client, definitions)
    return 0


def _strip(args: argparse.Namespace) -> int:
    """Remove finalizers, only of objects that are being deleted."""
    definitions = _definitions(_manifests(read_project(args.project)))
    found = False
    with _client(args) as client:
        for resource in _served(client, definitions):
            for obj in client.resource(resource).list().items:
                stuck = _own_finalizers(obj, resource, args.finalizer)
                if obj.metadata.deletion_timestamp and stuck:
                    found, name = True, ObjectName.of(obj)
                    print(f"{resource.group_resource} {name}: {', '.join(stuck)}")
                    if args.yes:
                        _remove_finalizers(client, resource, name, stuck)
    if not found:
        print("no object that is being deleted has such a finalizer")
    elif not args.yes:
        print("nothing was changed; --yes removes these finalizers, without their clean-up")
    return 0


# What is in the project


def _manifests(project: Project) -> list[dict[str, Any]]:
    """Return the manifests in ``config``, without the samples."""
    found = [
        document
        for folder in _FOLDERS
        for file in sorted((project.config / folder).glob("*.yaml"))
        for document in manifests_of(file)
    ]
    if not found:
        raise ConfigError(f"{project.config} holds no manifests; run clientgo operator gen all")
    return found


def _definitions(manifests: Iterable[Manifest]) -> list[Manifest]:
    return _of(manifests, (_DEFINITION,))


def _of(manifests: Iterable[Manifest], kinds: Sequence[str]) -> list[Manifest]:
    return [manifest for manifest in manifests if manifest["kind"] in kinds]


def _others(manifests: Iterable[Manifest], *groups: Sequence[Manifest]) -> list[Manifest]:
    return [m for m in manifests if not any(m is known for group in groups for known in group)]


def _set_image(manifests: Iterable[dict[str, Any]], image: str) -> None:
    for manifest in manifests:
        if manifest["kind"] == "Deployment":
            for container in manifest["spec"]["template"]["spec"]["containers"]:
                container["image"] = image


# What is in the cluster


def _apply(client: Client, manifests: Iterable[Manifest]) -> None:
    for manifest in manifests:
        apply(client, manifest)
        print(f"applied {_name(manifest)}")


def _delete(client: Client, manifests: Iterable[Manifest]) -> None:
    for manifest in manifests:
        if delete(client, manifest):
            print(f"deleted {_name(manifest)}")


def _name(manifest: Manifest) -> str:
    return f"{manifest['kind']} {ObjectName.of(Unstructured.from_dict(manifest))}"


def _served(client: Client, definitions: Iterable[Manifest]) -> list[APIResource]:
    """Return the kinds of definitions that the cluster has, in their stored version."""
    found: list[APIResource] = []
    for definition in definitions:
        name = definition["metadata"]["name"]
        try:
            client.resource(CustomResourceDefinition).get(name)
        except NotFoundError:
            continue
        spec = definition["spec"]
        version = next(version["name"] for version in spec["versions"] if version["storage"])
        found.append(client.mapper.for_kind(spec["group"], spec["names"]["kind"], version))
    return found


def _delete_objects(client: Client, definitions: Iterable[Manifest], timeout: float) -> None:
    """Delete all objects of the kinds; block until the operator has cleaned up.

    Raises :class:`NotInTimeError` with those that are left.
    """
    resources = _served(client, definitions)
    with ClusterView(client, *resources) as view:
        for resource in resources:
            for obj in view.objects(resource):
                name = ObjectName.of(obj)
                try:
                    client.resource(resource).namespace(name.namespace).delete(name.name)
                except NotFoundError:
                    continue
                print(f"deleted {obj.kind} {name}")

        def left() -> list[str]:
            return [
                f"{obj.kind} {ObjectName.of(obj)} ({', '.join(obj.metadata.finalizers)})"
                for resource in resources
                for obj in view.objects(resource)
            ]

        if not view.wait_until(lambda: not left(), timeout):
            raise NotInTimeError(
                f"still there after {timeout:g} s, waiting for their finalizers: "
                f"{', '.join(left())}. The operator still runs; see its log. If it "
                "cannot clean up any more: clientgo operator finalizers strip"
            )


def _own_finalizers(obj: Unstructured, resource: APIResource, wanted: str | None) -> list[str]:
    if wanted:
        return [name for name in obj.metadata.finalizers if name == wanted]
    return [
        name for name in obj.metadata.finalizers if name.partition("/")[0].endswith(resource.group)
    ]


def _remove_finalizers(
    client: Client, resource: APIResource, name: ObjectName, finalizers: Sequence[str]
) -> None:
    objects = client.resource(resource).namespace(name.namespace)

    def remove() -> None:
        try:
            metadata = objects.get(name.name).metadata
        except NotFoundError:
            return
        left = [finalizer for finalizer in metadata.finalizers if finalizer not in finalizers]
        version = {"resourceVersion": metadata.resource_version}
        objects.patch(name.name, {"metadata": version | {"finalizers": left}})

    retry_on_conflict(remove)
    print(f"stripped {name}", file=sys.stderr)
