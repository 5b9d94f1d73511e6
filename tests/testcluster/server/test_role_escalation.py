"""No user grants more than it may do itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import MERGE_PATCH
from tests.testcluster.server.users import CLUSTER_ROLES, ROLE_BINDINGS, ROLES, Users, rule

GROUP = "rbac.authorization.k8s.io"
WRITES = "create update patch"


@pytest.fixture
def jane(users: Users) -> Users:
    """Jane may list pods, and write roles and bindings."""
    writes = rule(WRITES, "roles rolebindings clusterroles", GROUP)
    users.grant_everywhere("writers", writes, user="jane")
    users.grant("readers", rule("list", "pods"), user="jane")
    return users


def role(name: str, *rules: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "rules": list(rules)}


def binding(name: str, to: str, kind: str = "Role") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": kind, "name": to},
        "subjects": [{"kind": "User", "name": "joe"}],
    }


def test_a_role_grants_what_its_writer_holds_and_no_more(jane: Users) -> None:
    assert jane.call("POST", ROLES, role("a", rule("list", "pods")), user="jane").status == 201

    wanted = role("b", rule("list watch", "pods"), rule("get", "secrets"))
    answer = jane.call("POST", ROLES, wanted, user="jane")

    assert answer.status == 403
    assert answer.body["message"] == (
        f'roles.{GROUP} "b" is forbidden: user "jane" (groups=["system:authenticated"]) is '
        "attempting to grant RBAC permissions not currently held:\n"
        '{APIGroups:[""], Resources:["pods"], Verbs:["watch"]}\n'
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'
    )


def test_what_holds_in_a_namespace_is_not_granted_everywhere(jane: Users) -> None:
    answer = jane.call("POST", CLUSTER_ROLES, role("a", rule("list", "pods")), user="jane")

    assert answer.status == 403


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"metadata": {"finalizers": ["a.example.com/b"]}}, 200),
        ({"metadata": {"labels": {"a": "b"}}}, 403),
        ({"rules": [rule("get list", "secrets")]}, 403),
        ({"rules": [rule("list", "pods")]}, 200),
    ],
)
def test_a_role_is_written_by_who_holds_what_it_grants(
    jane: Users, change: dict[str, Any], status: int
) -> None:
    """All of it, also if the rules stay; only the garbage collector's fields are free."""
    jane.role("old", rule("get", "secrets"))

    answer = jane.call("PATCH", f"{ROLES}/old", change, user="jane", content_type=MERGE_PATCH)

    assert answer.status == status


def test_the_verb_escalate_allows_it(jane: Users) -> None:
    jane.grant_everywhere("escalators", rule("escalate", "roles", GROUP), user="jane")

    assert jane.call("POST", ROLES, role("b", rule("get", "secrets")), user="jane").status == 201


def test_escalating_roles_by_name_does_not_allow_to_create_them(jane: Users) -> None:
    escalate = rule("escalate", "roles", GROUP, names=["old"])
    jane.grant_everywhere("escalators", escalate, user="jane")
    more = {"rules": [rule("get list", "secrets")]}

    assert jane.call("POST", ROLES, role("old", rule("get", "secrets")), user="jane").status == 403
    jane.role("old", rule("get", "secrets"))
    changed = jane.call("PATCH", f"{ROLES}/old", more, user="jane", content_type=MERGE_PATCH)
    assert changed.status == 200


def test_aggregation_needs_everything(jane: Users) -> None:
    wanted = {
        "metadata": {"name": "sum"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"to": "sum"}}]},
    }

    answer = jane.call("POST", CLUSTER_ROLES, wanted, user="jane")

    assert answer.status == 403
    assert answer.body["message"].endswith(
        "must have cluster-admin privileges to use an aggregationRule"
    )


def test_a_binding_grants_what_its_writer_holds_and_no_more(jane: Users) -> None:
    assert jane.call("POST", ROLE_BINDINGS, binding("a", "readers"), user="jane").status == 201

    answer = jane.call("POST", ROLE_BINDINGS, binding("b", "view", "ClusterRole"), user="jane")

    assert answer.status == 403
    assert "attempting to grant RBAC permissions not currently held" in answer.body["message"]


def test_the_verb_bind_of_one_role_allows_to_bind_it(jane: Users) -> None:
    jane.grant("binders", rule("bind", "clusterroles", GROUP, names=["view"]), user="jane")
    view, edit = binding("a", "view", "ClusterRole"), binding("b", "edit", "ClusterRole")

    assert jane.call("POST", ROLE_BINDINGS, view, user="jane").status == 201
    assert jane.call("POST", ROLE_BINDINGS, edit, user="jane").status == 403


def test_a_role_that_does_not_exist_is_bound_by_the_administrator_alone(jane: Users) -> None:
    answer = jane.call("POST", ROLE_BINDINGS, binding("a", "ghost"), user="jane")

    assert answer.status == 404
    assert answer.body["message"] == f'role.{GROUP} "ghost" not found'
    assert jane.call("POST", ROLE_BINDINGS, binding("a", "ghost")).status == 201


@pytest.mark.parametrize(
    ("metadata", "status"),
    [
        ({"finalizers": ["a.example.com/b"]}, 200),
        ({"labels": {}}, 200),
        ({"labels": {"a": "b"}}, 403),
    ],
)
def test_a_binding_is_written_by_who_holds_what_it_grants(
    jane: Users, metadata: dict[str, Any], status: int
) -> None:
    jane.bind("view", {"kind": "User", "name": "joe"}, kind="ClusterRole")
    path = f"{ROLE_BINDINGS}/view"

    change = {"metadata": metadata}
    answer = jane.call("PATCH", path, change, user="jane", content_type=MERGE_PATCH)

    assert answer.status == status
