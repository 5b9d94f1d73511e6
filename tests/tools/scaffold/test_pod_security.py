"""The pods of controllers run in a namespace that enforces the restricted level."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from clientgo.__main__ import main
from clientgo.codegen.manifests import Manifest
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.scaffold.manifests.deployment import deployment, namespace_manifest
from tests.testcluster.server.http_api import Answer, Api
from tests.tools.scaffold.declared import project

ROOT = Path(__file__).parents[3]
ENFORCE = "pod-security.kubernetes.io/enforce"


@pytest.fixture
def api() -> Iterator[Api]:
    with EmbeddedAPIServer() as server:
        yield Api(server.url)


def manifests(folder: Path) -> list[Manifest]:
    return [
        yaml.safe_load((folder / f"{kind}.yaml").read_text())
        for kind in ("namespace", "deployment")
    ]


def problems(api: Api, namespace: Manifest, deployment: Manifest) -> list[Any]:
    """Return what a server says against them, and against a pod of the Deployment."""
    assert namespace["metadata"]["labels"][ENFORCE] == "restricted"
    name = namespace["metadata"]["name"]
    template = deployment["spec"]["template"]
    pod = {"metadata": {"name": "p", **template["metadata"]}, "spec": template["spec"]}
    answers = [
        api.call("POST", "/api/v1/namespaces", namespace),
        api.call("POST", f"/apis/apps/v1/namespaces/{name}/deployments", deployment),
        api.call("POST", f"/api/v1/namespaces/{name}/pods", pod),
    ]
    return [(answer.body, answer.warnings) for answer in answers if said_against(answer)]


def said_against(answer: Answer) -> bool:
    return answer.status != 201 or bool(answer.warnings)


@pytest.mark.parametrize(
    "folder", ["examples/production_controller/deploy", "examples/cronjob/config/deploy"]
)
def test_the_manifests_of_this_repository_are_restricted(api: Api, folder: str) -> None:
    assert problems(api, *manifests(ROOT / folder)) == []


def test_a_new_project_is_restricted(api: Api, demo: Path) -> None:
    assert main(["operator", "gen", "all"]) == 0

    assert problems(api, *manifests(demo / "config/deploy")) == []


@pytest.mark.parametrize("certificates", ["self", "cert-manager"])
def test_an_operator_with_webhooks_is_restricted(api: Api, certificates: str) -> None:
    shop = project(certificates=certificates)
    manifest = deployment(shop, grace=30.0, has_webhooks=True)

    assert problems(api, namespace_manifest(shop), manifest) == []
