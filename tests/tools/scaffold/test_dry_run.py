"""A server accepts every manifest that is generated, by strict validation and without a warning."""

from __future__ import annotations

import shutil
import subprocess
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.__main__ import main
from clientgo.api.core_v1 import Namespace
from clientgo.client import Client, NoMatchError
from clientgo.meta import ObjectMeta
from clientgo.tools.scaffold.installing import install_definitions, resource_of_manifest
from tests.tools.scaffold.conftest import forget_modules

_OF_OTHERS = {"Certificate", "Issuer", "ServiceMonitor"}
"""Kinds of cert-manager and of the Prometheus operator."""


@pytest.fixture
def complete(demo: Path) -> Path:
    """A project with all that can be generated: two versions, webhooks, another kind."""
    for command in (
        ("create-webhook", "Demo"),
        ("create-api", "Demo", "--version", "v1", "--stored", "v1"),
        ("create-api", "Backup"),
    ):
        assert main(["operator", *command]) == 0
    forget_modules(demo)
    return demo


def _manifests(config: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(config.rglob("*.yaml")):
        if file.name != "kustomization.yaml":
            yield from yaml.safe_load_all(file.read_text(encoding="utf-8"))


def _refused(client: Client, manifest: dict[str, Any]) -> bool:
    """Apply a manifest in a dry run; return True if the server does not know its kind."""
    try:
        resource = resource_of_manifest(client, manifest)
    except NoMatchError:
        return True
    objects = client.resource(resource).namespace(manifest["metadata"].get("namespace", ""))
    objects.apply(manifest, field_manager="test", field_validation="Strict", dry_run=True)
    return False


@pytest.mark.parametrize("certificates", ["self", "cert-manager"])
def test_a_server_accepts_all_of_them(
    complete: Path, kube_client: Client, certificates: str
) -> None:
    """OP-GEN-17, OP-GEN-18"""
    assert main(["operator", "gen", "all", "--monitoring", "--certs", certificates]) == 0
    manifests = list(_manifests(complete / "config"))
    # What others are in, or objects of, has to be there before a dry run.
    kube_client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name="demo-system")))
    definitions = [m for m in manifests if m["kind"] == "CustomResourceDefinition"]
    install_definitions(kube_client, definitions)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unknown = {m["kind"] for m in manifests if _refused(kube_client, m)}

    assert unknown <= _OF_OTHERS
    assert {"NetworkPolicy", "PodDisruptionBudget", "Deployment", "Backup"} <= {
        manifest["kind"] for manifest in manifests
    }


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="there is no kubectl")
def test_kustomize_builds_all_but_the_samples(complete: Path) -> None:
    """OP-GEN-24"""
    assert main(["operator", "gen", "all", "--monitoring"]) == 0

    built = subprocess.run(
        ["kubectl", "kustomize", "config"], capture_output=True, text=True, check=True
    )

    names = [(m["kind"], m["metadata"]["name"]) for m in yaml.safe_load_all(built.stdout)]
    written = [
        (m["kind"], m["metadata"]["name"])
        for m in _manifests(complete / "config")
        if m["kind"] not in ("Demo", "Backup")
    ]
    assert sorted(names) == sorted(written)
