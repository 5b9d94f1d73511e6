"""The admission policies of the examples, applied as the file says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from clientgo.client import Client
from clientgo.meta import ForbiddenError
from clientgo.testcluster.server import EmbeddedAPIServer
from clientgo.tools.scaffold.installing import apply
from tests.examples.running import ROOT


@pytest.fixture
def client() -> Iterator[Client]:
    with EmbeddedAPIServer() as server, Client(server.url) as client:
        documents = (ROOT / "examples" / "policies.yaml").read_text(encoding="utf-8")
        for manifest in yaml.safe_load_all(documents):
            apply(client, manifest)
        yield client


def deployment(replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": spec,
    }


def test_the_policies_refuse_and_change_deployments(client: Client) -> None:
    with pytest.raises(ForbiddenError, match="denied request: at most 5 replicas"):
        apply(client, deployment(9))
    created = apply(client, deployment(3))
    assert created.metadata.labels == {"created-by": "clientgo"}
