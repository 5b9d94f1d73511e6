"""What roles and role bindings may have."""

from __future__ import annotations

import pytest

from tests.testcluster.server.http_api import Api
from tests.testcluster.server.kinds.causes import Causes, Object, causes

RBAC = "/apis/rbac.authorization.k8s.io/v1"
RULE = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}


@pytest.mark.parametrize(
    ("plural", "rule_of_role", "expected"),
    [
        ("clusterroles", RULE, []),
        ("clusterroles", {"verbs": ["get"], "nonResourceURLs": ["/x"]}, []),
        ("clusterroles", {**RULE, "verbs": []}, [("rules[0].verbs", "Required")]),
        ("clusterroles", {**RULE, "apiGroups": []}, [("rules[0].apiGroups", "Required")]),
        (
            "clusterroles",
            {**RULE, "nonResourceURLs": ["/x"]},
            [("rules[0].nonResourceURLs", "Invalid")],
        ),
        (
            "namespaces/default/roles",
            {"verbs": ["get"], "nonResourceURLs": ["/x"]},
            [("rules[0].nonResourceURLs", "Invalid")],
        ),
        (
            "namespaces/default/roles",
            {**RULE, "nonResourceURLs": ["/x"]},
            [("rules[0].nonResourceURLs", "Invalid")] * 2,
        ),
    ],
)
def test_roles(shared: Api, plural: str, rule_of_role: Object, expected: Causes) -> None:
    assert causes(shared, f"{RBAC}/{plural}", {"rules": [rule_of_role]}) == expected


ROLE = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}


@pytest.mark.parametrize(
    ("plural", "role", "subject", "expected"),
    [
        ("namespaces/default/rolebindings", ROLE, {"kind": "User", "name": "u"}, []),
        (
            "namespaces/default/rolebindings",
            {**ROLE, "kind": "X"},
            {"kind": "User", "name": "u"},
            [("roleRef.kind", "NotSupported")],
        ),
        (
            "clusterrolebindings",
            {**ROLE, "kind": "Role"},
            {"kind": "User", "name": "u"},
            [("roleRef.kind", "NotSupported")],
        ),
        (
            "clusterrolebindings",
            ROLE,
            {"kind": "ServiceAccount", "name": "u"},
            [("subjects[0].namespace", "Required")],
        ),
        (
            "namespaces/default/rolebindings",
            ROLE,
            {"kind": "X", "name": "u"},
            [("subjects[0].kind", "NotSupported")],
        ),
        (
            "namespaces/default/rolebindings",
            ROLE,
            {"kind": "User"},
            [("subjects[0].name", "Required")],
        ),
    ],
)
def test_bindings(
    shared: Api, plural: str, role: Object, subject: Object, expected: Causes
) -> None:
    body = {"roleRef": role, "subjects": [subject]}

    assert causes(shared, f"{RBAC}/{plural}", body) == expected


@pytest.mark.parametrize(("prefix", "status"), [(".", 201), ("..", 201), ("a/b", 422), ("%", 422)])
def test_a_prefix_of_a_path_segment_may_be_dots(shared: Api, prefix: str, status: int) -> None:
    role = {"metadata": {"generateName": prefix}, "rules": [RULE]}
    assert shared.call("POST", f"{RBAC}/clusterroles", role, dryRun="All").status == status
