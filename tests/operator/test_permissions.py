"""Rules of roles are merged, sorted, and say what was asked for."""

from __future__ import annotations

import pytest

from clientgo.operator.errors import DeclarationError
from clientgo.operator.permissions import PolicyRule, rbac, rules_on
from clientgo.tools.scaffold.manifests.roles import merged


def _rule(resource: str, *verbs: str, group: str = "", names: tuple[str, ...] = ()) -> PolicyRule:
    return PolicyRule(groups=(group,), resources=(resource,), verbs=verbs, names=names)


def test_a_decorator_grants_what_it_says_above_a_class_or_function() -> None:
    """OP-GEN-14"""

    @rbac(groups=[""], resources=["nodes"], verbs=["get"])
    @rbac(urls=["/healthz"], verbs=["get"])
    class Reconciler: ...

    assert merged(rules_on(Reconciler)) == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {"nonResourceURLs": ["/healthz"], "verbs": ["get"]},
    ]


def test_what_is_said_twice_is_granted_once_and_in_order() -> None:
    """OP-GEN-14: merged, sorted, de-duplicated."""
    rules = [
        _rule("pods", "watch", "get"),
        _rule("nodes", "get"),
        _rule("pods", "get", "list"),
        _rule("configmaps", "get", "list", "watch"),
    ]

    assert merged(rules) == [
        {"apiGroups": [""], "resources": ["configmaps", "pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    ]
    assert merged(reversed(rules)) == merged(rules)


def test_names_restrict_a_rule_unless_another_grants_the_same_for_all() -> None:
    """OP-GEN-14"""
    named = _rule("secrets", "get", "update", names=("tls",))

    assert merged([named]) == [
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "verbs": ["get", "update"],
            "resourceNames": ["tls"],
        }
    ]
    assert merged([named, _rule("secrets", "get")]) == [
        {"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]},
        {
            "apiGroups": [""],
            "resources": ["secrets"],
            "verbs": ["update"],
            "resourceNames": ["tls"],
        },
    ]


def test_a_rule_that_grants_nothing_is_refused() -> None:
    """OP-GEN-14"""
    with pytest.raises(DeclarationError, match="verbs"):
        rbac(groups=[""], resources=["pods"], verbs=[])
    with pytest.raises(DeclarationError, match="groups and resources, or"):
        rbac(resources=["pods"], verbs=["get"])
    with pytest.raises(DeclarationError, match="urls belong to no namespace"):
        rbac(urls=["/metrics"], verbs=["get"], namespace="a")
