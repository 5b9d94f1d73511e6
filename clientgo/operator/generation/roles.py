"""The RBAC manifests of an operator: an account, its roles, and roles for the users of its kinds.

Promises a ClusterRole for what is needed everywhere, and a Role with its binding in each namespace
for what is needed there alone; nothing by wildcard.

Source: kubebuilder's ``config/rbac``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from clientgo.operator.generation.policy_rules import Manifest, PolicyRule, merged

_GROUP: Final = "rbac.authorization.k8s.io"


def operator_roles(name: str, namespace: str, rules: Iterable[PolicyRule]) -> list[Manifest]:
    """The ServiceAccount ``name`` in ``namespace``, and roles with these rules bound to it."""
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
    """A Role or ClusterRole."""
    return {
        "apiVersion": f"{_GROUP}/v1",
        "kind": kind,
        "metadata": metadata,
        "rules": merged(rules),
    }
