"""``clientgo operator`` and a cluster: install, deploy, run, undeploy, uninstall, finalizers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clientgo.__main__ import main
from clientgo.api.admissionregistration_v1 import MutatingWebhookConfiguration
from clientgo.api.apiextensions_v1 import CustomResourceDefinition
from clientgo.api.apps_v1 import Deployment
from clientgo.api.core_v1 import Namespace, ObjectReference, ServiceAccount
from clientgo.api.events_v1 import Event
from clientgo.api.rbac_v1 import ClusterRole
from clientgo.client import Client, ResourceClient
from clientgo.meta import APIResource, NotFoundError, ObjectMeta, ObjectName, Unstructured
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.cli.operator_run import last_warning, why_not_reconciled
from clientgo.tools.scaffold.installing import ClusterView
from tests.tools.scaffold.conftest import forget_modules

_DEMOS = APIResource(group="demo.example.com", version="v1alpha1", kind="Demo", plural="demos")
_FINALIZER = "demos.demo.example.com/finalizer"


class Cluster:
    """An API server, a client of it, and the command against it."""

    def __init__(self, server: EmbeddedAPIServer) -> None:
        self.kubeconfig = str(server.kubeconfig)
        self.client = Client(RestConfig(server=server.url, qps=-1))
        self.namespace = "default"
        """Of the demos."""

    def run(self, *arguments: str) -> int:
        return main(["operator", *arguments, "--kubeconfig", self.kubeconfig])

    def has(self, kind: Any, name: str, namespace: str = "") -> bool:
        try:
            self.client.resource(kind).namespace(namespace).get(name)
        except NotFoundError:
            return False
        return True

    @property
    def demos(self) -> ResourceClient[Unstructured]:
        return self.client.resource(_DEMOS).namespace(self.namespace)

    def create_demo(self, *finalizers: str) -> None:
        self.demos.create(
            Unstructured.from_dict(
                {
                    "apiVersion": "demo.example.com/v1alpha1",
                    "kind": "Demo",
                    "metadata": {"name": "a", "finalizers": list(finalizers)},
                    "spec": {"text": "hello"},
                }
            )
        )

    def has_demo(self) -> bool:
        return self.has(_DEMOS, "a", self.namespace)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with EmbeddedAPIServer() as server:
        yield Cluster(server)


@pytest.fixture
def deployed(demo: Path, cluster: Cluster) -> Cluster:
    """The demo with webhooks, deployed."""
    assert main(["operator", "create-webhook", "Demo"]) == 0
    forget_modules(demo)
    assert main(["operator", "gen", "all"]) == 0
    assert cluster.run("deploy", "--image", "example.com/demo:2") == 0
    # There is no pod that would answer the webhooks; its own namespace is left out.
    cluster.namespace = "demo-system"
    return cluster


def test_definitions_are_installed_and_served_at_once(demo: Path, cluster: Cluster) -> None:
    """OP-GEN-21"""
    assert cluster.run("install") == 0

    cluster.create_demo()
    assert cluster.has_demo()


def test_uninstalling_deletes_the_objects_then_the_definitions(
    demo: Path, cluster: Cluster
) -> None:
    """OP-GEN-21"""
    cluster.run("install")
    cluster.create_demo()

    assert cluster.run("uninstall") == 0

    assert not cluster.has(CustomResourceDefinition, "demos.demo.example.com")


def test_what_is_not_there_can_be_removed_again(demo: Path, cluster: Cluster) -> None:
    """OP-GEN-21"""
    assert cluster.run("undeploy", "--crds") == 0
    assert cluster.run("uninstall") == 0


def test_deploying_applies_everything_and_can_be_repeated(deployed: Cluster) -> None:
    """OP-GEN-21"""
    deployment = deployed.client.resource(Deployment).namespace("demo-system").get("demo")
    assert deployment.spec.template.spec.containers[0].image == "example.com/demo:2"
    assert deployed.has(ServiceAccount, "demo", "demo-system")
    assert deployed.has(MutatingWebhookConfiguration, "demo-mutating-webhook-configuration")

    assert deployed.run("deploy") == 0


def test_undeploying_goes_from_webhooks_over_objects_to_the_operator_and_its_roles(
    deployed: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-22: definitions stay."""
    deployed.create_demo()
    capsys.readouterr()

    assert deployed.run("undeploy") == 0

    kinds = [line.split()[1] for line in capsys.readouterr().out.splitlines()]
    assert kinds == [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "Demo",
        "Deployment",
        "PodDisruptionBudget",
        "NetworkPolicy",
        "Service",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
        "ClusterRole",
        "ClusterRole",
        "Namespace",
    ]
    assert deployed.has(CustomResourceDefinition, "demos.demo.example.com")


def test_definitions_go_too_if_one_says_so(deployed: Cluster) -> None:
    """OP-GEN-22"""
    assert deployed.run("undeploy", "--crds") == 0

    assert not deployed.has(CustomResourceDefinition, "demos.demo.example.com")


def test_the_operator_stays_until_it_has_cleaned_up(deployed: Cluster) -> None:
    """OP-FIN-13, OP-GEN-22: the objects are waited for."""
    deployed.create_demo(_FINALIZER)
    seen: list[bool] = []

    def clean_up() -> None:
        """What the operator does once it sees that the object is being deleted."""
        with ClusterView(deployed.client, _DEMOS) as view:
            view.wait_until(
                lambda: any(o.metadata.deletion_timestamp for o in view.objects(_DEMOS)), 5
            )
        seen.append(deployed.has(Deployment, "demo", "demo-system"))
        deployed.demos.patch("a", {"metadata": {"finalizers": None}})

    operator = threading.Thread(target=clean_up)
    operator.start()
    assert deployed.run("undeploy", "--timeout", "10") == 0
    operator.join(30)

    assert seen == [True]
    assert not deployed.has(Deployment, "demo", "demo-system")


def test_objects_that_are_not_cleaned_up_are_named_and_the_operator_is_left(
    deployed: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-FIN-13, OP-GEN-22"""
    deployed.create_demo(_FINALIZER)

    assert deployed.run("undeploy", "--timeout", "0.05") == 1

    said = capsys.readouterr().err
    assert f"Demo demo-system/a ({_FINALIZER})" in said
    assert "finalizers strip" in said
    assert deployed.has(Deployment, "demo", "demo-system")
    assert deployed.has(ClusterRole, "demo")
    assert deployed.has(Namespace, "demo-system")


def test_finalizers_are_stripped_of_what_is_being_deleted_if_one_is_sure(
    deployed: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-FIN-13"""
    deployed.create_demo(_FINALIZER)
    assert deployed.run("finalizers", "strip", "--yes") == 0
    nothing = "no object that is being deleted has such a finalizer"
    assert capsys.readouterr().out.splitlines()[-1] == nothing
    deployed.demos.delete("a")
    assert deployed.has_demo()  # it is being deleted only now, and was passed over before

    assert deployed.run("finalizers", "strip") == 0
    assert f"demo-system/a: {_FINALIZER}" in capsys.readouterr().out
    assert deployed.has_demo()

    assert deployed.run("finalizers", "strip", "--yes") == 0
    assert not deployed.has_demo()


def test_finalizers_of_others_are_left_unless_they_are_named(deployed: Cluster) -> None:
    """OP-FIN-13"""
    deployed.create_demo("others.example.org/hold")
    deployed.demos.delete("a")

    deployed.run("finalizers", "strip", "--yes")
    assert deployed.has_demo()

    deployed.run("finalizers", "strip", "--yes", "--finalizer", "others.example.org/hold")
    assert not deployed.has_demo()


def test_the_operator_runs_here_against_a_cluster(
    demo: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21"""
    cluster.run("install")

    assert cluster.run("run", "--once") == 0

    assert "configMap: demo-sample" in capsys.readouterr().out


def test_a_sample_that_is_not_reconciled_in_time_is_a_failure(
    demo: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21"""
    cluster.run("install")
    reconciler = demo / "demo/controllers/demo.py"
    reconciler.write_text(reconciler.read_text().replace('"Ready", True', '"Ready", False'))
    forget_modules(demo)

    assert cluster.run("run", "--once", "--timeout", "0.3") == 1

    said = capsys.readouterr().err
    assert "not reconciled after 0.3 s: Demo default/demo-sample: " in said


def test_a_sample_that_the_schema_refuses_is_named_with_its_file(
    demo: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21"""
    cluster.run("install")
    sample = demo / "config/samples/v1alpha1_demo.yaml"
    sample.write_text(sample.read_text().replace("text: ", "txt: "))

    assert cluster.run("run", "--once") == 1

    said = capsys.readouterr().err
    assert "config/samples/v1alpha1_demo.yaml: " in said
    assert ".spec.txt: field not declared in schema" in said


def test_the_last_warning_about_an_object_is_found(kube_client: Client) -> None:
    """OP-GEN-21: it is why a sample is not reconciled."""
    events = kube_client.resource(Event).namespace("default")
    for name, about, type_, note in (
        ("one", "a", "Warning", "first"),
        ("two", "a", "Warning", "name 'boom' is not defined"),
        ("three", "a", "Normal", "fine"),
        ("four", "b", "Warning", "of another object"),
    ):
        events.create(
            Event(
                metadata=ObjectMeta(name=name, namespace="default"),
                event_time="2026-01-01T00:00:00.000000Z",
                reporting_controller="demo",
                reporting_instance="demo-1",
                action="Reconcile",
                reason="Failed",
                type=type_,
                note=note,
                regarding=ObjectReference(kind="Demo", name=about, namespace="default"),
            )
        )

    demo = APIResource(group="demo.example.com", version="v1", plural="demos", kind="Demo")
    assert last_warning(kube_client, demo, ObjectName("default", "a")) == (
        " (Failed: name 'boom' is not defined)"
    )
    assert last_warning(kube_client, demo, ObjectName("default", "c")) == ""


@pytest.mark.parametrize(
    ("status", "why"),
    [
        (None, "no status was written"),
        ({"observedGeneration": 1}, "the status is of generation 1, the object of generation 2"),
        (
            {"conditions": [{"type": "Ready", "status": "False", "reason": "R", "message": "m"}]},
            "Ready is False: R: m",
        ),
        ({"status": "Failure", "reason": "no route"}, "its last run failed: no route"),
    ],
)
def test_the_reason_why_an_object_is_not_reconciled_is_said(
    status: dict[str, Any] | None, why: str
) -> None:
    """OP-GEN-21"""
    plain: dict[str, Any] = {"metadata": {"name": "a", "generation": 2}}
    obj = Unstructured.from_dict(plain | ({"status": status} if status else {}))

    assert why_not_reconciled(obj) == why


@pytest.mark.parametrize(
    ("status", "reconciled"),
    [
        (None, False),
        ({"observedGeneration": 1}, False),
        ({"observedGeneration": 2}, True),
        ({"anything": "else"}, True),
        ({"conditions": [{"type": "Ready", "status": "False"}]}, False),
        ({"conditions": [{"type": "Ready", "status": "True"}]}, True),
    ],
)
def test_an_object_is_reconciled_when_its_status_says_so(
    status: dict[str, Any] | None, reconciled: bool
) -> None:
    plain: dict[str, Any] = {"metadata": {"name": "a", "generation": 2}}
    obj = Unstructured.from_dict(plain | ({"status": status} if status else {}))

    assert (why_not_reconciled(obj) == "") is reconciled
