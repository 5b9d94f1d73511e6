"""A client that is a service account: what it is refused, and what it would need."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import ConfigMap, Pod
from clientgo.api.rbac_v1 import PolicyRule, Role, RoleBinding, RoleRef
from clientgo.client import Client
from clientgo.meta import ForbiddenError, ObjectMeta
from clientgo.rest import Impersonation, load_config
from clientgo.testing.rbac_server import MissingPermissionsError, MissingRule, RBACServer

ROBOT = "system:serviceaccount:demo:robot"


def roles(*rules: dict[str, Any]) -> list[dict[str, Any]]:
    """A Role of the account ``demo/robot``."""
    group = "rbac.authorization.k8s.io"
    metadata = {"name": "robot", "namespace": "demo"}
    return [
        {
            "apiVersion": f"{group}/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": list(rules),
        },
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "robot"},
            "subjects": [{"kind": "ServiceAccount", "name": "robot", "namespace": "demo"}],
        },
    ]


READ_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}


@pytest.fixture
def rbac() -> Iterator[RBACServer]:
    with RBACServer() as server:
        yield server


def test_what_the_roles_allow_is_not_reported(rbac: RBACServer) -> None:
    rbac.apply(*roles(READ_PODS))

    assert rbac.client_of("demo", "robot").resource(Pod).namespace("demo").list().items == []

    assert rbac.missing() == []
    rbac.check()


def test_what_is_refused_is_reported_with_the_fewest_rules(rbac: RBACServer) -> None:
    rbac.apply(*roles(READ_PODS))
    client = rbac.client_of("demo", "robot")
    deployments = client.resource(Deployment)

    for _ in range(2):
        with pytest.raises(ForbiddenError):
            deployments.namespace("demo").patch("web", {"spec": {"replicas": 2}})
    with pytest.raises(ForbiddenError):
        deployments.namespace("demo").get("web")
    with pytest.raises(ForbiddenError):
        deployments.namespace("demo").patch("web", {"status": {}}, subresource="status")
    with pytest.raises(ForbiddenError):
        client.resource(ConfigMap).list()

    assert rbac.missing() == [
        MissingRule(ROBOT, ("patch", "get"), "apps", "deployments", "demo"),
        MissingRule(ROBOT, ("patch",), "apps", "deployments/status", "demo"),
        MissingRule(ROBOT, ("list",), "", "configmaps"),
    ]
    with pytest.raises(MissingPermissionsError) as raised:
        rbac.check()
    assert str(raised.value).splitlines() == [
        f"{ROBOT} would need: patch, get deployments in apps, namespace demo",
        f"{ROBOT} would need: patch deployments/status in apps, namespace demo",
        f"{ROBOT} would need: list configmaps in the core group",
        "in a ClusterRole:",
        '- {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}',
        "in a Role of demo:",
        '- {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["patch", "get"]}',
        '- {"apiGroups": ["apps"], "resources": ["deployments/status"], "verbs": ["patch"]}',
    ]


def test_the_reported_rules_are_enough(rbac: RBACServer) -> None:
    client = rbac.client_of("demo", "robot")
    with pytest.raises(ForbiddenError):
        client.resource(ConfigMap).namespace("demo").create(
            ConfigMap(metadata=ObjectMeta(name="a"))
        )

    rbac.apply(*roles(*(rule.policy_rule() for rule in rbac.missing())))

    client.resource(ConfigMap).namespace("demo").create(ConfigMap(metadata=ObjectMeta(name="a")))


def test_an_apply_that_creates_needs_two_verbs(rbac: RBACServer) -> None:
    client = rbac.client_of("demo", "robot")
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    patch = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}
    rbac.apply(*roles(patch))

    with pytest.raises(ForbiddenError):
        client.resource(ConfigMap).namespace("demo").apply(wanted, field_manager="robot")

    assert rbac.missing() == [MissingRule(ROBOT, ("create",), "", "configmaps", "demo")]


def test_who_grants_more_than_it_holds_needs_a_verb_of_the_role(rbac: RBACServer) -> None:
    group = "rbac.authorization.k8s.io"
    write = {"apiGroups": [group], "resources": ["roles", "rolebindings"], "verbs": ["create"]}
    rbac.apply(*roles(write))
    client = rbac.client_of("demo", "robot")
    secrets = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["get"])
    role = Role(metadata=ObjectMeta(name="a"), rules=[secrets])
    ref = RoleRef(api_group=group, kind="ClusterRole", name="view")
    binding = RoleBinding(metadata=ObjectMeta(name="a"), role_ref=ref)

    with pytest.raises(ForbiddenError):
        client.resource(Role).namespace("demo").create(role)
    with pytest.raises(ForbiddenError):
        client.resource(RoleBinding).namespace("demo").create(binding)

    assert rbac.missing() == [
        MissingRule(ROBOT, ("escalate",), group, "roles", "demo"),
        MissingRule(ROBOT, ("bind",), group, "clusterroles", "demo"),
    ]


def test_an_impersonating_client_of_ours_acts_as_the_user(rbac: RBACServer) -> None:
    jane = Impersonation(user="jane", groups=("devs", "testers"), extra={"a/b": ("c",)})
    config = replace(load_config(str(rbac.server.kubeconfig)), impersonate=jane)

    with Client(config) as client, pytest.raises(ForbiddenError, match='User "jane" cannot list'):
        client.resource(ConfigMap).list()

    (refused,) = rbac.server.refused()
    assert refused.user.groups == ("devs", "testers", "system:authenticated")
    assert refused.user.extra == {"a/b": ("c",)}


TEST = """
from clientgo.api.apps_v1 import Deployment

def test_it(rbac_server):
    deployments = rbac_server.client_of("demo", "robot").resource(Deployment).namespace("demo")
    try:
        deployments.patch("web", {"spec": {"replicas": 2}})
    except Exception:
        pass  # as a controller does, which tries again
"""


def test_the_fixture_fails_a_test_with_the_missing_rule(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        env=dict(os.environ),
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert run.returncode == 1, run.stdout + run.stderr
    assert f"{ROBOT} would need: patch deployments in apps, namespace demo" in run.stdout
