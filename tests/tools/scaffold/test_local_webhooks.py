"""``clientgo operator run --embedded``: the API server asks the webhooks of the operator."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clientgo.__main__ import main
from clientgo.api.admissionregistration_v1 import (
    MutatingWebhookConfiguration,
    ValidatingWebhookConfiguration,
)
from clientgo.client import Client
from clientgo.codegen.crd import definitions_of
from clientgo.meta import APIResource, InvalidError
from clientgo.operator import Manager
from clientgo.rest import RestConfig
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.cli.operator_webhooks import LocalWebhooks
from clientgo.tools.scaffold.installing import install_definitions
from clientgo.tools.scaffold.project import read_project
from clientgo.tools.scaffold.project_code import manager_function, project_kinds
from tests.tools.scaffold.conftest import forget_modules

DEMOS = APIResource(group="demo.example.com", version="v1alpha1", plural="demos", kind="Demo")


@pytest.fixture
def with_webhooks(demo: Path) -> Path:
    """A project whose kind has a defaulter and a validator, which refuses the name reserved."""
    assert main(["operator", "create-webhook", "Demo"]) == 0
    forget_modules(demo)
    return demo


def demo_called(name: str) -> dict[str, object]:
    return {
        "apiVersion": "demo.example.com/v1alpha1",
        "kind": "Demo",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"text": "hello"},
    }


@contextmanager
def running(folder: Path, server: EmbeddedAPIServer, client: Client) -> Iterator[Manager]:
    """The project's manager with its webhooks, as ``run --embedded`` starts it."""
    project = read_project(folder)
    install_definitions(client, definitions_of(project_kinds(project)))
    with LocalWebhooks(project, client) as local:
        manager = manager_function(project)(
            RestConfig(server=server.url), metrics="0", webhook=local.options
        )
        local.attach(manager)
        with manager:
            assert local.settled.wait(30)
            yield manager


def test_a_forbidden_object_is_refused_and_others_are_completed(
    with_webhooks: Path, kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    """OP-GEN-21, OP-WHK-01"""
    demos = kube_client.resource(DEMOS).namespace("default")
    with running(with_webhooks, kube_api_server, kube_client):
        with pytest.raises(InvalidError, match="is reserved"):
            demos.create(demo_called("reserved"))
        stored = demos.create(demo_called("a"))

    assert stored.metadata.labels == {"app.kubernetes.io/managed-by": "demo"}


def test_the_webhooks_are_unregistered_at_the_end(
    with_webhooks: Path, kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    """OP-GEN-21: nothing calls a server that is gone."""
    kinds = (MutatingWebhookConfiguration, ValidatingWebhookConfiguration)
    with running(with_webhooks, kube_api_server, kube_client):
        assert [len(kube_client.resource(kind).list().items) for kind in kinds] == [1, 1]

    assert [len(kube_client.resource(kind).list().items) for kind in kinds] == [0, 0]
    kube_client.resource(DEMOS).namespace("default").create(demo_called("reserved"))


def test_run_embedded_registers_them_before_the_samples_are_applied(
    with_webhooks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21"""
    sample = with_webhooks / "config/samples/v1alpha1_demo.yaml"
    sample.write_text(sample.read_text().replace("name: demo-sample", "name: reserved"))

    assert main(["operator", "run", "--embedded", "--once"]) == 1

    said = capsys.readouterr()
    assert "Webhooks are registered: /mutate-demo-example-com-v1alpha1-demo" in said.out
    assert "reserved" in said.err
    assert "Invalid value" in said.err


def test_without_the_package_for_certificates_the_message_says_what_to_install(
    with_webhooks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """OP-GEN-21"""
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "cryptography" else found(name)
    )

    assert main(["operator", "run", "--embedded", "--once"]) == 1

    assert "pip install 'clientgo[operator]'" in capsys.readouterr().err


def test_webhooks_can_be_switched_off(
    with_webhooks: Path,
    kube_api_server: EmbeddedAPIServer,
    kube_client: Client,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """OP-GEN-21"""
    monkeypatch.setenv("ENABLE_WEBHOOKS", "false")
    with running(with_webhooks, kube_api_server, kube_client) as manager:
        assert manager.bound.webhooks == ""
    kube_client.resource(DEMOS).namespace("default").create(demo_called("reserved"))


def test_without_webhooks_nothing_is_registered(
    demo: Path, kube_api_server: EmbeddedAPIServer, kube_client: Client
) -> None:
    """OP-GEN-21"""
    with running(demo, kube_api_server, kube_client) as manager:
        assert manager.bound.webhooks == ""


def test_a_run_that_does_not_serve_its_webhooks_says_so(
    with_webhooks: Path,
    kube_api_server: EmbeddedAPIServer,
    kube_client: Client,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """OP-GEN-21"""
    kubeconfig = str(kube_api_server.kubeconfig)
    assert main(["operator", "install", "--kubeconfig", kubeconfig]) == 0

    assert main(["operator", "run", "--once", "--kubeconfig", kubeconfig]) == 0

    assert "The webhooks are not served: pass --certs DIR" in capsys.readouterr().out
