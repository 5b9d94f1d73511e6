"""A controller as its service account: what its roles do not allow is refused, and reported.

::

    def test_the_operator_is_allowed_what_it_does(rbac_server):
        rbac_server.apply_files("config/crd", "config/rbac/operator.yaml")
        with new_manager(rbac_server.client_of("demo-system", "demo")):
            ...

    system:serviceaccount:demo-system:demo would need: patch deployments in apps

Promises: the requests are authorized by the roles and bindings that were applied, by the rules of a
real API server; every refusal is reported, with the fewest rules that would have allowed it.

Does not promise that the roles grant nothing that is not needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.core_v1 import Namespace
from clientgo.client import Client
from clientgo.meta import AlreadyExistsError, APIResource, GroupVersion, ObjectMeta
from clientgo.rest import load_config
from clientgo.testcluster.server import Attributes, EmbeddedAPIServer
from clientgo.testing.definitions import is_established
from clientgo.testing.observer import Observer
from clientgo.util.certificates import write_private
from clientgo.util.copies import CopyableError
from clientgo.util.text.yaml_reader import read_yaml_documents

_FIELD_MANAGER: Final = "clientgo-testing"

_ACCOUNTS: Final = APIResource(
    group="", version="v1", kind="ServiceAccount", plural="serviceaccounts"
)
_TOKEN_REQUEST: Final = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}

_DEFINITION: Final = "CustomResourceDefinition"
_FIRST: Final = ("Namespace", _DEFINITION)
"""Kinds that others need."""


class MissingPermissionsError(CopyableError, AssertionError):
    """Requests were refused that a test expects to be allowed."""


@dataclass(frozen=True, slots=True)
class MissingRule:
    """A rule that a user would need: verbs of a resource, or of a path."""

    user: str
    verbs: tuple[str, ...]
    group: str = ""
    resource: str = ""
    namespace: str = ""
    path: str = ""

    def __str__(self) -> str:
        verbs = ", ".join(self.verbs)
        if self.path:
            return f"{verbs} {self.path}"
        group = self.group or "the core group"
        where = f", namespace {self.namespace}" if self.namespace else ""
        return f"{verbs} {self.resource} in {group}{where}"

    def policy_rule(self) -> dict[str, list[str]]:
        """Return it as a role has it: a Role in its namespace, a ClusterRole without one."""
        if self.path:
            return {"nonResourceURLs": [self.path], "verbs": list(self.verbs)}
        return {
            "apiGroups": [self.group],
            "resources": [self.resource],
            "verbs": list(self.verbs),
        }


class RBACServer:
    """An API server with RBAC, and clients that are service accounts. Thread-safe.

    A context manager; ``client`` is the administrator's.
    """

    def __init__(self) -> None:
        self.server = EmbeddedAPIServer(authorization="RBAC").start()
        self.client = self._client(self.server.kubeconfig)
        self._clients = [self.client]

    def close(self) -> None:
        """Close the clients and stop the server."""
        for client in self._clients:
            client.close()
        self.server.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # -- what is in the cluster

    def apply(self, *manifests: Mapping[str, Any]) -> None:
        """Apply objects as the administrator; make the namespaces that they need.

        Definitions are served when this returns.
        """
        first = [manifest for manifest in manifests if manifest["kind"] in _FIRST]
        for manifest in first:
            self._apply(manifest)
        self._wait_until_served(
            {item["metadata"]["name"] for item in first if item["kind"] == _DEFINITION}
        )
        for manifest in manifests:
            if manifest["kind"] not in _FIRST:
                self._apply(manifest)

    def apply_files(self, *paths: Path | str) -> None:
        """Apply the objects in files, and in the ``*.yaml`` files of folders."""
        self.apply(*(manifest for path in paths for manifest in _read(Path(path))))

    def _apply(self, manifest: Mapping[str, Any]) -> None:
        version = GroupVersion.parse(manifest["apiVersion"])
        resource = self.client.mapper.for_kind(version.group, manifest["kind"], version.version)
        namespace = manifest["metadata"].get("namespace", "")
        if namespace:
            self._create_namespace(namespace)
        objects = self.client.resource(resource).namespace(namespace)
        objects.apply(manifest, field_manager=_FIELD_MANAGER, force=True)

    def _create_namespace(self, name: str) -> None:
        with suppress(AlreadyExistsError):
            self.client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=name)))

    def _wait_until_served(self, definitions: set[str]) -> None:
        if not definitions:
            return
        with Observer(self.client, CustomResourceDefinition) as seen:
            lister = seen.lister(CustomResourceDefinition)

            def are_served() -> bool:
                served = {item.metadata.name for item in lister.list() if is_established(item)}
                return definitions <= served

            if not seen.wait_until(are_served):
                raise TimeoutError(f"not served: {', '.join(sorted(definitions))}")
        self.client.mapper.reset()

    # -- service accounts

    def client_of(self, namespace: str, name: str) -> Client:
        """Return a client that is a service account."""
        client = self._client(self.kubeconfig_of(namespace, name))
        self._clients.append(client)
        return client

    def kubeconfig_of(self, namespace: str, name: str) -> Path:
        """Return the kubeconfig of a service account, which is created if it is missing."""
        self._create_namespace(namespace)
        accounts = self.client.resource(_ACCOUNTS).namespace(namespace)
        with suppress(AlreadyExistsError):
            accounts.create({"metadata": {"name": name}})
        made = accounts.create(_TOKEN_REQUEST, name=name, subresource="token")
        config = self.server.kubeconfig_data
        config["users"][0]["user"] = {"token": made["status"]["token"]}
        config["contexts"][0]["context"]["namespace"] = namespace
        path = self.server.kubeconfig.with_name(f"{namespace}-{name}.kubeconfig")
        write_private(path, json.dumps(config).encode())
        return path

    @staticmethod
    def _client(kubeconfig: Path) -> Client:
        return Client(load_config(kubeconfig))

    # -- refusals

    def missing(self) -> list[MissingRule]:
        """Return the rules that would have allowed what was refused, verbs of a resource in one."""
        return list(_missing_rules(self.server.refused()))

    def check(self) -> None:
        """Raise :class:`MissingPermissionsError` if anything was refused."""
        missing = self.missing()
        if missing:
            raise MissingPermissionsError(_report(missing))


def _missing_rules(refused: Iterable[Attributes]) -> Iterator[MissingRule]:
    verbs: dict[tuple[str, str, str, str, str], dict[str, None]] = {}
    for item in refused:
        resource = f"{item.resource}/{item.subresource}" if item.subresource else item.resource
        key = (item.user.name, item.group, resource, item.namespace, item.path)
        verbs.setdefault(key, {})[item.verb] = None
    for (user, group, resource, namespace, path), found in verbs.items():
        yield MissingRule(user, tuple(found), group, resource, namespace, path)


def _report(missing: list[MissingRule]) -> str:
    lines = [f"{rule.user} would need: {rule}" for rule in missing]
    for place in sorted({rule.namespace for rule in missing}):
        lines.append(f"in a Role of {place}:" if place else "in a ClusterRole:")
        lines += [
            f"- {json.dumps(rule.policy_rule())}" for rule in missing if rule.namespace == place
        ]
    return "\n".join(lines)


def _read(path: Path) -> Iterator[dict[str, Any]]:
    files = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    for file in files:
        yield from read_yaml_documents(file.read_bytes())
