"""A new project's operator as its service account: the generated roles allow all that it does."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.meta import APIResource, NotFoundError
from clientgo.operator import LeaderElection
from clientgo.operator.webhooks import WebhookOptions
from clientgo.testing.rbac_server import RBACServer
from clientgo.tools.scaffold.installing import ClusterView
from clientgo.tools.scaffold.project import read_project
from clientgo.tools.scaffold.project_code import manager_function
from tests.operator.pages import ask
from tests.tools.scaffold.conftest import forget_modules

DEMOS = APIResource(group="demo.example.com", version="v1alpha1", kind="Demo", plural="demos")
NAMESPACE = "demo-system"
"""That of the operator, in which its webhooks are not called: no pod would answer."""


def demo_object() -> dict[str, object]:
    return {
        "apiVersion": "demo.example.com/v1alpha1",
        "kind": "Demo",
        "metadata": {"name": "a", "namespace": NAMESPACE},
        "spec": {"text": "hello"},
    }


def generate(folder: Path, server: RBACServer, *, parts: tuple[str, ...]) -> None:
    """Generate the manifests of a project, and apply some."""
    assert main(["operator", "gen", "all"]) == 0
    server.apply_files(*(folder / "config" / part for part in parts))


def work(folder: Path, server: RBACServer, **settings: object) -> None:
    """Run the operator, elected as in a cluster, until it has reconciled an object."""
    client = server.client_of(NAMESPACE, "demo")
    election = LeaderElection(id="demo.example.com", namespace=NAMESPACE)
    new_manager = manager_function(read_project(folder))
    demos = server.client.resource(DEMOS).namespace(NAMESPACE)
    with (
        new_manager(client, metrics="0", leader_election=election, **settings),
        ClusterView(server.client, DEMOS) as view,
    ):
        demos.create(demo_object())

        def is_ready() -> bool:
            return any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for obj in view.objects(DEMOS)
                for condition in (obj.get("status") or {}).get("conditions", ())
            )

        assert view.wait_until(is_ready, 30.0)
        demos.delete("a")
        with pytest.raises(NotFoundError):
            demos.get("a")


def test_a_new_operator_needs_no_more_than_its_manifests(
    demo: Path, rbac_server: RBACServer
) -> None:
    """OP-GEN-13"""
    generate(demo, rbac_server, parts=("crd", "rbac"))

    work(demo, rbac_server)


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_secure_metrics_need_no_more(demo: Path, rbac_server: RBACServer) -> None:
    """OP-GEN-13: to ask who reads them, and whether they may."""
    main_file = demo / "demo/main.py"
    made = "Manager(cluster, "
    text = main_file.read_text()
    assert made in text
    main_file.write_text(text.replace(made, f"{made}secure_metrics=True, "))
    forget_modules(demo)
    generate(demo, rbac_server, parts=("crd", "rbac"))
    anyone = ssl.create_default_context()
    anyone.check_hostname, anyone.verify_mode = False, ssl.CERT_NONE
    token = rbac_server.server.kubeconfig_data["users"][0]["user"]["token"]
    manager = manager_function(read_project(demo))(
        rbac_server.client_of(NAMESPACE, "demo"), metrics="127.0.0.1:0"
    )
    with manager:
        url = f"{manager.bound.metrics}/metrics"
        assert ask(url, {"authorization": f"Bearer {token}"}, anyone)[0] == 200
        assert ask(url, {"authorization": "Bearer wrong"}, anyone)[0] == 401


def test_webhooks_with_a_certificate_of_their_own_need_no_more(
    demo: Path, rbac_server: RBACServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-GEN-13: it is kept in a Secret, and trusted by the configurations."""
    monkeypatch.setenv("POD_NAMESPACE", NAMESPACE)
    assert main(["operator", "create-webhook", "Demo"]) == 0
    forget_modules(demo)
    generate(demo, rbac_server, parts=("crd", "rbac", "webhooks"))

    work(demo, rbac_server, webhook=WebhookOptions(certs="self", host="127.0.0.1", port=0))
