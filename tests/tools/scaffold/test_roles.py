"""The permissions of an operator are told from its controllers."""

from __future__ import annotations

from typing import Any

from clientgo.codegen.rbac import user_roles
from clientgo.operator import controller
from clientgo.operator.permissions import PolicyRule, rbac
from clientgo.tools.scaffold.inferred_rules import (
    certificate_rules,
    controller_rules,
    lease_rule,
)
from clientgo.tools.scaffold.manifests.roles import operator_roles
from tests.tools.scaffold.declared import (
    CleaningReconciler,
    Note,
    Shop,
    ShopReconciler,
    manager,
    of_kind,
)


def _granted(rules: list[PolicyRule]) -> dict[tuple[str, str], set[str]]:
    """The verbs by namespace and resource."""
    granted: dict[tuple[str, str], set[str]] = {}
    for rule in rules:
        for resource in rule.resources:
            granted.setdefault((rule.namespace, resource), set()).update(rule.verbs)
    return granted


def _rules(reconciler: object, **settings: Any) -> dict[tuple[str, str], set[str]]:
    (built,) = manager(reconciler, **settings).controllers()
    return _granted(controller_rules(built))


def test_a_controller_is_granted_what_the_framework_does_in_its_name() -> None:
    """OP-GEN-13, OP-OWN-07: owners of what must go first may say so, by their finalizers."""
    read = {"get", "list", "watch"}

    assert _rules(ShopReconciler()) == {
        ("", "shops"): read,
        ("", "shops/finalizers"): {"update"},
        ("", "shops/status"): {"get", "patch", "update"},
        ("", "events"): {"create", "patch"},
        ("", "deployments"): {*read, "create", "update", "patch", "delete"},
        ("", "nodes"): read,
        ("", "configmaps"): read,
    }


def test_a_finalizer_means_writes_to_the_primary_and_no_status_none_to_that() -> None:
    """OP-GEN-13"""
    rules = _rules(CleaningReconciler())

    assert rules["", "notes"] == {"get", "list", "watch", "patch", "update"}
    assert ("", "notes/status") not in rules


def test_the_lease_is_held_in_the_operators_own_namespace() -> None:
    """OP-GEN-13"""
    roles = operator_roles("shopkeeper", "shops", [lease_rule("shops")])

    (role,) = of_kind(roles, "Role")
    assert role["metadata"] == {"name": "shopkeeper", "namespace": "shops"}
    assert role["rules"][0]["resources"] == ["leases"]
    assert {"get", "create", "update"} <= set(role["rules"][0]["verbs"])
    assert of_kind(roles, "ClusterRole") == []


def test_what_the_decorator_says_is_granted_as_well_where_it_says() -> None:
    """OP-GEN-14: a namespace makes it a Role there."""

    @rbac(groups=[""], resources=["secrets"], verbs=["get"], namespace="vault")
    @controller(Shop)
    class Reconciler:
        def reconcile(self, ctx: Any, obj: Any) -> None: ...

    (built,) = manager(Reconciler()).controllers()
    roles = operator_roles("shopkeeper", "shops", controller_rules(built))

    (role,) = of_kind(roles, "Role")
    assert role["metadata"]["namespace"] == "vault"
    assert role["rules"] == [{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get"]}]
    (binding,) = of_kind(roles, "RoleBinding")
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "shopkeeper", "namespace": "shops"}
    ]


def test_a_controller_of_some_namespaces_gets_a_role_in_each_and_nothing_beyond() -> None:
    """OP-GEN-15"""
    (built,) = manager(CleaningReconciler(), namespaces=["a", "b"]).controllers()
    roles = operator_roles("shopkeeper", "shops", controller_rules(built))

    assert [role["metadata"]["namespace"] for role in of_kind(roles, "Role")] == ["a", "b"]
    assert [b["metadata"]["namespace"] for b in of_kind(roles, "RoleBinding")] == ["a", "b"]
    assert of_kind(roles, "ClusterRole") == []


def test_owned_objects_follow_the_namespaces_and_kinds_without_one_do_not() -> None:
    """OP-GEN-15"""
    rules = _rules(ShopReconciler(), namespaces=["a"])

    assert ("a", "deployments") in rules
    assert ("", "deployments") not in rules
    assert ("", "nodes") in rules


def test_users_who_view_or_edit_a_namespace_may_do_so_with_the_kinds() -> None:
    """OP-GEN-15: aggregated into view, edit and admin."""
    into = {
        label.rpartition("-to-")[2]
        for role in user_roles(Shop, Note)
        for label in role["metadata"]["labels"]
    }

    assert into == {"view", "edit", "admin"}


def test_an_operator_that_keeps_its_own_certificate_may_write_that_and_what_trusts_it() -> None:
    """OP-GEN-13"""
    granted = [
        (resource, rule.names, rule.verbs)
        for rule in certificate_rules("shopkeeper", "shops", ["shops.example.com"])
        for resource in rule.resources
    ]

    assert granted == [
        ("secrets", (), ("create",)),
        ("secrets", ("shopkeeper-webhook-cert",), ("get", "update")),
        (
            "mutatingwebhookconfigurations",
            ("shopkeeper-mutating-webhook-configuration",),
            ("get", "update"),
        ),
        (
            "validatingwebhookconfigurations",
            ("shopkeeper-validating-webhook-configuration",),
            ("get", "update"),
        ),
        ("customresourcedefinitions", ("shops.example.com",), ("get", "update")),
    ]
