"""The RBAC manifests of an operator: its ServiceAccount, roles and bindings.

Promises: a ClusterRole for permissions that are needed everywhere, a Role for those that are needed
in one namespace; no wildcards; the same permissions make the same text.

Source: kubebuilder's ``config/rbac``, controller-tools ``pkg/rbac``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from clientgo.codegen.manifests import Manifest
from clientgo.operator.permissions import PolicyRule

_GROUP: Final = "rbac.authorization.k8s.io"


def operator_roles(name: str, namespace: str, rules: Iterable[PolicyRule]) -> list[Manifest]:
    """Return the ServiceAccount ``name`` in ``namespace``, with roles that have these rules."""
    by_namespace: dict[str, list[PolicyRule]] = defaultdict(list)
    for rule in rules:
        by_namespace[rule.namespace].append(rule)
    account = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    manifests: list[Manifest] = [
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }
    ]
    for where in sorted(by_namespace):
        kind = "Role" if where else "ClusterRole"
        metadata = {"name": name} | ({"namespace": where} if where else {})
        manifests += [
            role(kind, metadata, by_namespace[where]),
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": f"{kind}Binding",
                "metadata": dict(metadata),
                "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": name},
                "subjects": [dict(account)],
            },
        ]
    return manifests


def role(kind: str, metadata: Manifest, rules: Iterable[PolicyRule]) -> Manifest:
    """Return a Role or ClusterRole."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": merged(rules),
    }


def merged(rules: Iterable[PolicyRule]) -> list[Manifest]:
    """Return the ``rules`` of one role, sorted; resources with the same verbs share a rule."""
    rules = list(rules)
    verbs_of: dict[tuple[str, str, tuple[str, ...]], set[str]] = defaultdict(set)
    verbs_on: dict[str, set[str]] = defaultdict(set)
    for rule in rules:
        for group in rule.groups:
            for resource in rule.resources:
                verbs_of[group, resource, tuple(sorted(rule.names))] |= set(rule.verbs)
        for url in rule.urls:
            verbs_on[url] |= set(rule.verbs)
    for (group, resource, names), verbs in verbs_of.items():
        if names:
            verbs -= verbs_of.get((group, resource, ()), set())
    together: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = defaultdict(list)
    for (group, resource, names), verbs in sorted(verbs_of.items()):
        if verbs:
            together[group, names, _in_order(verbs)].append(resource)
    manifests: list[Manifest] = [
        {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}
        | ({"resourceNames": list(names)} if names else {})
        for (group, names, verbs), resources in together.items()
    ]
    urls_together: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for url, verbs in sorted(verbs_on.items()):
        urls_together[_in_order(verbs)].append(url)
    return manifests + [
        {"nonResourceURLs": urls, "verbs": list(verbs)} for verbs, urls in urls_together.items()
    ]


_USUAL_ORDER: Final = ("get", "list", "watch", "create", "update", "patch", "delete")


def _in_order(verbs: Iterable[str]) -> tuple[str, ...]:
    """Return the verbs with reading before writing."""
    found = set(verbs)
    usual = [verb for verb in _USUAL_ORDER if verb in found]
    return (*usual, *sorted(found.difference(_USUAL_ORDER)))
