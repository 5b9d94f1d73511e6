"""lightkube: typed models over httpx."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.objects import GROUP, VERSION, config_map, deployment, widget, widget_crd

pytest.importorskip("lightkube", reason="lightkube is not installed")

from lightkube import ApiError, Client, KubeConfig
from lightkube.core.resource import NamespacedResource
from lightkube.generic_resource import create_namespaced_resource
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.core_v1 import ConfigMap
from lightkube.types import PatchType

Widget = create_namespaced_resource(GROUP, VERSION, "Widget", "widgets")


@pytest.fixture(scope="module")
def client(server: EmbeddedAPIServer) -> Iterator[Client]:
    configuration = KubeConfig.from_file(server.kubeconfig)
    with Client(config=configuration, field_manager="lightkube") as client:
        yield client


@pytest.fixture(scope="module")
def widgets(client: Client) -> type[NamespacedResource]:
    client.create(CustomResourceDefinition.from_dict(widget_crd()))
    client.wait(CustomResourceDefinition, f"widgets.{GROUP}", for_conditions=["Established"])
    return Widget


def test_deployments_are_created_patched_scaled_and_deleted(client: Client) -> None:
    created = client.create(Deployment.from_dict(deployment("light")))
    containers = [{"name": "main", "image": "example/main:2"}]

    client.patch(Deployment, "light", {"spec": {"template": {"spec": {"containers": containers}}}})
    scale = client.get(Deployment.Scale, "light")
    scale.spec.replicas = 4
    client.replace(scale, "light")

    changed = client.get(Deployment, "light")
    assert changed.spec.template.spec.containers[0].image == "example/main:2"
    assert (changed.spec.replicas, changed.metadata.generation) == (4, 3)
    with pytest.raises(ApiError, match="the object has been modified"):
        client.replace(created)
    client.delete(Deployment, "light")
    with pytest.raises(ApiError) as raised:
        client.get(Deployment, "light")
    assert (raised.value.status.code, raised.value.status.reason) == (404, "NotFound")


def test_lists_are_paged_and_watched_by_label(client: Client) -> None:
    for index in range(5):
        item = ConfigMap.from_dict(config_map(f"light-{index}"))
        item.metadata.labels = {"set": "light"}
        client.create(item)

    listed = client.list(ConfigMap, labels={"set": "light"}, chunk_size=2)
    names = [item.metadata.name for item in listed]
    changes = client.watch(
        ConfigMap,
        labels={"set": "light"},
        resource_version=listed.resourceVersion,
        server_timeout=10,
    )
    client.patch(ConfigMap, "light-3", {"metadata": {"labels": {"set": None}}})

    assert names == [f"light-{index}" for index in range(5)]
    change, item = next(changes)
    assert (change, item.metadata.name) == ("DELETED", "light-3")


def test_server_side_apply_reports_conflicts(client: Client) -> None:
    client.apply(ConfigMap.from_dict(config_map("applied", a="1")))
    client.patch(
        ConfigMap, "applied", {"data": {"a": "2"}}, patch_type=PatchType.MERGE, field_manager="you"
    )

    with pytest.raises(ApiError) as raised:
        client.apply(ConfigMap.from_dict(config_map("applied", a="3")))
    forced = client.apply(ConfigMap.from_dict(config_map("applied", a="3")), force=True)

    assert raised.value.status.code == 409
    assert [cause.field for cause in raised.value.status.details.causes] == [".data.a"]
    assert forced.data == {"a": "3"}


def test_custom_resources_have_a_status_of_their_own(
    client: Client, widgets: type[NamespacedResource]
) -> None:
    created = client.create(widgets.from_dict(widget("light", 2)))
    created["status"] = {"phase": "Ready"}

    client.replace(created)
    assert "status" not in client.get(widgets, "light").to_dict()
    patch = {"status": {"phase": "Ready"}}
    client.patch(Widget.Status, "light", patch, patch_type=PatchType.MERGE)

    assert client.get(widgets, "light").status == {"phase": "Ready"}
    client.deletecollection(widgets)
    assert list(client.list(widgets)) == []
