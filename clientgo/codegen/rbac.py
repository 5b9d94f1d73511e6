"""RBAC manifests: what a controller may do, and what people may do with its kinds.

Promises exactly the permissions that were named, nothing by wildcard; what has the same verbs
shares a rule. Does not find out what a program does: the program declares it::

    PERMISSIONS = (
        Permission(Foo, "list", "watch"),
        Permission(Foo, "update", subresource="status"),
    )

Upstream (controller-tools) reads them from comments beside the reconcilers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from clientgo.meta import Resource, resource_of

Manifest: TypeAlias = dict[str, Any]

_GROUP = "rbac.authorization.k8s.io"
_READ = ("get", "list", "watch")
_WRITE = ("create", "update", "patch", "delete", "deletecollection")


class Permission:
    """Some verbs on one kind, or on a ``subresource`` of it; on some ``names`` only, if given.

    Names cannot restrict ``create``, and restrict ``list`` and ``watch`` only for
    requests that select by name.
    """

    __slots__ = ("group", "names", "resource", "verbs")

    def __init__(
        self,
        kind: type[Resource],
        *verbs: str,
        subresource: str = "",
        names: tuple[str, ...] = (),
    ) -> None:
        declared = resource_of(kind)
        self.group = declared.group
        self.resource = f"{declared.plural}/{subresource}" if subresource else declared.plural
        self.verbs = verbs
        self.names = names


def controller_roles(
    name: str,
    namespace: str,
    permissions: Iterable[Permission],
    *,
    in_own_namespace: Iterable[Permission] = (),
) -> list[Manifest]:
    """A service account ``name`` with these permissions in the whole cluster.

    ``in_own_namespace`` is what it may do in its own ``namespace`` only, such as to hold a lease.
    """
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    manifests = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        },
        _role("ClusterRole", {"name": name}, permissions),
        _binding("ClusterRoleBinding", {"name": name}, account),
    ]
    own = tuple(in_own_namespace)
    if own:
        metadata = {"name": name, "namespace": namespace}
        manifests += [_role("Role", metadata, own), _binding("RoleBinding", metadata, account)]
    return manifests


def user_roles(*kinds: type[Resource]) -> list[Manifest]:
    """Return roles that extend the cluster roles view, edit and admin to these kinds.

    Kubernetes' own roles ``view``, ``edit`` and ``admin`` take them in.
    """
    by_group: dict[str, dict[str, type[Resource]]] = {}
    for kind in kinds:
        declared = resource_of(kind)
        by_group.setdefault(declared.group, {})[declared.plural] = kind
    manifests = []
    for group, served in by_group.items():
        for suffix, verbs, into in (
            ("view", _READ, ("view", "edit", "admin")),
            ("edit", _WRITE, ("edit", "admin")),
        ):
            labels = {f"{_GROUP}/aggregate-to-{role}": "true" for role in into}
            permissions = [Permission(kind, *verbs) for kind in served.values()]
            metadata = {"name": f"{group}-{suffix}", "labels": labels}
            manifests.append(_role("ClusterRole", metadata, permissions))
    return manifests


def _role(kind: str, metadata: Manifest, permissions: Iterable[Permission]) -> Manifest:
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": _rules(list(permissions)),
    }


def _binding(kind: str, metadata: Manifest, account: Manifest) -> Manifest:
    role = {"apiGroup": _GROUP, "kind": kind.removesuffix("Binding"), "name": metadata["name"]}
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "roleRef": role,
        "subjects": [account],
    }


def _rules(permissions: Sequence[Permission]) -> list[Manifest]:
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for permission in permissions:
        key = (permission.group, permission.verbs, permission.names)
        together.setdefault(key, []).append(permission.resource)
    rules = []
    for (group, verbs, names), resources in together.items():
        rule: Manifest = {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        if names:
            rule["resourceNames"] = list(names)
        rules.append(rule)
    return rules
