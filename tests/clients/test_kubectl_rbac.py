"""kubectl against a server with RBAC: who one is, what one may do, and tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.kubectl import Kubectl, KubectlError, version

VERSION = version()

pytestmark = [
    pytest.mark.skipif(VERSION is None, reason="there is no kubectl on PATH"),
    pytest.mark.skipif(
        VERSION is not None and VERSION < (1, 28),
        reason=f"kubectl {VERSION} has no auth whoami or create token",
    ),
]

ROBOT = "system:serviceaccount:default:robot"


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedAPIServer]:
    with EmbeddedAPIServer(authorization="RBAC") as server:
        yield server


@pytest.fixture(scope="module")
def kubectl(server: EmbeddedAPIServer, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl as the administrator; ``robot`` may list pods."""
    kubectl = Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))
    kubectl("create", "serviceaccount", "robot")
    kubectl("create", "role", "readers", "--verb=list", "--resource=pods")
    kubectl("create", "rolebinding", "r", "--role=readers", "--serviceaccount=default:robot")
    return kubectl


def test_a_token_acts_as_its_account(kubectl: Kubectl) -> None:
    token = kubectl("create", "token", "robot", "--duration=20m").strip()
    shown = f"--token={token}"

    assert ROBOT in kubectl(shown, "auth", "whoami")
    assert kubectl(shown, "get", "pods") == ""
    assert kubectl(shown, "auth", "can-i", "list", "pods") == "yes\n"
    with pytest.raises(KubectlError, match=f'User "{ROBOT}" cannot list resource "secrets"'):
        kubectl(shown, "get", "secrets")


def test_a_kubeconfig_with_a_certificate_acts_as_its_user(
    server: EmbeddedAPIServer, tmp_path: Path
) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(server.kubeconfig_of("jane", ["devs"])))

    shown = Kubectl(path, tmp_path)("auth", "whoami", "-o", "yaml")

    assert "username: jane" in shown
    assert "- devs" in shown


def test_the_rules_of_a_user_are_listed(kubectl: Kubectl) -> None:
    rules = [
        line.split() for line in kubectl("--as", ROBOT, "auth", "can-i", "--list").splitlines()
    ]

    assert ["pods", "[]", "[]", "[list]"] in rules
    assert ["[/version]", "[]", "[get]"] in rules


def test_the_administrator_acts_as_another_user(kubectl: Kubectl) -> None:
    shown = kubectl("--as", "jane", "--as-group", "devs", "auth", "whoami", "-o", "yaml")

    assert "username: jane" in shown
    assert "- devs" in shown
    assert kubectl("auth", "can-i", "*", "*", "--all-namespaces") == "yes\n"


def test_roles_are_reconciled(kubectl: Kubectl) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "reconciled"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    }

    listed = {"apiVersion": "v1", "kind": "List", "items": [role]}
    kubectl("auth", "reconcile", "-f", "-", stdin=listed)

    assert kubectl.json("get", "clusterrole", "reconciled")["rules"] == role["rules"]
