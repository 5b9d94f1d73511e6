"""kr8s: objects that save themselves."""

from __future__ import annotations

import pytest

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.objects import API_VERSION, GROUP, config_map, deployment, widget, widget_crd

pytest.importorskip("kr8s", reason="kr8s is not installed")

import kr8s
from kr8s.objects import ConfigMap, CustomResourceDefinition, Deployment, new_class


@pytest.fixture(scope="module")
def api(server: EmbeddedAPIServer) -> kr8s.Api:
    return kr8s.api(kubeconfig=str(server.kubeconfig))


@pytest.fixture(scope="module")
def widgets(api: kr8s.Api) -> type[kr8s.objects.APIObject]:
    definition = CustomResourceDefinition(widget_crd(), api=api)
    definition.create()
    definition.wait("condition=Established", timeout=30)
    return new_class("Widget", API_VERSION, namespaced=True)


def test_a_deployment_is_created_patched_scaled_and_deleted(api: kr8s.Api) -> None:
    created = Deployment(deployment("kr8s"), api=api)
    created.create()

    created.patch({"spec": {"paused": True}})
    # kr8s waits until the status tells the number, as no controller does here.
    created.patch({"status": {"replicas": 4}}, subresource="status")
    created.scale(4)
    created.label(tier="front")
    created.annotate({"note": "first"})

    read = Deployment.get("kr8s", namespace="default", api=api)
    assert (read.spec.paused, read.replicas) == (True, 4)
    assert (read.labels["tier"], read.annotations["note"]) == ("front", "first")
    created.delete()
    assert not created.exists()
    with pytest.raises(kr8s.NotFoundError):
        created.refresh()


def test_lists_and_watches_select_by_label(api: kr8s.Api) -> None:
    for name in ("kr8s-a", "kr8s-b"):
        item = config_map(name)
        item["metadata"]["labels"] = {"set": "kr8s"}
        ConfigMap(item, api=api).create()

    names = {item.name for item in api.get("configmaps", label_selector={"set": "kr8s"})}
    watched = api.watch("configmaps", namespace="default", label_selector={"set": "kr8s"})
    changes = [next(watched) for _ in names]
    watched.close()

    assert names == {"kr8s-a", "kr8s-b"}
    assert {(change, item.name) for change, item in changes} == {
        ("ADDED", "kr8s-a"),
        ("ADDED", "kr8s-b"),
    }


def test_kinds_are_looked_up_by_every_name(api: kr8s.Api) -> None:
    assert {"pods", "deployments"} <= {item["name"] for item in api.api_resources()}
    for name in ("deploy", "deployments", "Deployment", "deployments.apps"):
        assert api.lookup_kind(name) == ("deployment.apps/v1", "deployments", True)


def test_custom_resources_belong_to_owners(
    api: kr8s.Api, widgets: type[kr8s.objects.APIObject]
) -> None:
    owner = widgets(widget("kr8s", 2), api=api)
    owner.create()
    owned = ConfigMap(config_map("owned"), api=api)
    owned.create()

    owned.set_owner(owner)
    owner.patch({"status": {"phase": "Ready"}}, subresource="status")
    owner.delete()
    owned.wait("delete", timeout=30)

    assert owner.status.phase == "Ready"
    assert [item.name for item in api.get(f"widgets.{GROUP}")] == []
    assert not owned.exists()
