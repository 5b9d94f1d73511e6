"""RBAC manifests hold what was named, and nothing else."""

from __future__ import annotations

from typing import Any

from clientgo.api.apps_v1 import Deployment
from clientgo.api.coordination_v1 import Lease
from clientgo.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from clientgo.codegen.rbac import Permission, controller_roles, user_roles
from clientgo.testing.fake_client import FakeClient
from examples.production_controller import permissions
from sample_controller.types import Foo


def test_kinds_with_the_same_verbs_share_a_rule() -> None:
    roles = controller_roles(
        "c",
        "ns",
        [
            Permission(Foo, "update", subresource="status"),
            Permission(Deployment, "list"),
            Permission(Foo, "update", subresource="finalizers"),
        ],
    )

    assert roles[1]["rules"] == [
        {
            "apiGroups": ["samplecontroller.k8s.io"],
            "resources": ["foos/status", "foos/finalizers"],
            "verbs": ["update"],
        },
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
    ]


def test_an_account_is_bound_to_its_roles() -> None:
    own = [Permission(Lease, "get", names=("c",))]

    account, _role, binding, own_role, own_binding = controller_roles(
        "c", "ns", [], in_own_namespace=own
    )

    assert (account["kind"], account["metadata"]) == (
        "ServiceAccount",
        {"name": "c", "namespace": "ns"},
    )
    assert binding["roleRef"]["kind"] == "ClusterRole"
    assert own_binding["roleRef"]["kind"] == "Role"
    assert own_role["metadata"]["namespace"] == "ns"
    assert own_role["rules"][0]["resourceNames"] == ["c"]
    for bound in (binding, own_binding):
        assert bound["subjects"] == [{"kind": "ServiceAccount", "name": "c", "namespace": "ns"}]


def test_without_permissions_in_its_namespace_a_controller_has_no_role_there() -> None:
    assert [item["kind"] for item in controller_roles("c", "ns", [])] == [
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
    ]


def test_viewers_may_read_and_editors_may_write() -> None:
    view, edit = user_roles(Foo)

    assert view["metadata"]["name"] == "samplecontroller.k8s.io-view"
    assert view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert view["rules"][0]["verbs"] == ["get", "list", "watch"]
    assert "rbac.authorization.k8s.io/aggregate-to-view" not in edit["metadata"]["labels"]
    assert "create" in edit["rules"][0]["verbs"]


def test_the_manifests_are_objects_that_the_api_knows() -> None:
    client = FakeClient()
    roles = {item["kind"]: item for item in controller_roles("c", "ns", permissions.IN_CLUSTER)}

    role = client.resource(ClusterRole).create(roles["ClusterRole"])
    binding = client.resource(ClusterRoleBinding).create(roles["ClusterRoleBinding"])

    assert role.rules is not None
    assert role.rules[0].resources == ["foos"]
    assert binding.role_ref.name == "c"


def test_nothing_is_granted_by_wildcard() -> None:
    def texts(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [text for item in value.values() for text in texts(item)]
        return (
            [text for item in value for text in texts(item)] if isinstance(value, list) else [value]
        )

    manifests = [
        *controller_roles(
            "c", "ns", permissions.IN_CLUSTER, in_own_namespace=permissions.IN_OWN_NAMESPACE
        ),
        *user_roles(Foo),
    ]

    assert "*" not in texts(manifests)
