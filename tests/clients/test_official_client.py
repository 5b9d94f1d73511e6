"""The official Python client: typed, dynamic, watching, and electing a leader."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.leaderelection.electionconfig import Config
from kubernetes.leaderelection.leaderelection import LeaderElection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.objects import (
    API_VERSION,
    GROUP,
    VERSION,
    config_map,
    deployment,
    widget,
    widget_crd,
)

PATIENCE = 30.0
"""Seconds that something may take on a busy machine."""


@pytest.fixture(scope="module")
def api(server: EmbeddedAPIServer) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        yield api


@pytest.fixture(scope="module")
def widgets(api: client.ApiClient) -> dynamic.Resource:
    utils.create_from_dict(api, widget_crd())
    definitions = client.ApiextensionsV1Api(api)
    selector = {"field_selector": f"metadata.name=widgets.{GROUP}", "timeout_seconds": 10}
    for event in watch.Watch().stream(definitions.list_custom_resource_definition, **selector):
        conditions = event["object"].status.conditions or []
        if any(item.type == "Established" and item.status == "True" for item in conditions):
            break
    return dynamic.DynamicClient(api).resources.get(api_version=API_VERSION, kind="Widget")


def test_typed_objects_are_created_changed_and_deleted(api: client.ApiClient) -> None:
    apps = client.AppsV1Api(api)
    created = apps.create_namespaced_deployment("default", deployment("typed"))

    created.spec.replicas = 3
    replaced = apps.replace_namespaced_deployment("typed", "default", created)
    patch = {"metadata": {"labels": {"tier": "front"}}}
    patched = apps.patch_namespaced_deployment("typed", "default", patch)
    scale = apps.read_namespaced_deployment_scale("typed", "default")

    assert (replaced.metadata.generation, scale.spec.replicas) == (2, 3)
    assert patched.metadata.labels == {"app": "typed", "tier": "front"}
    assert created.spec.strategy.rolling_update.max_surge == "25%"
    with pytest.raises(ApiException) as raised:
        apps.replace_namespaced_deployment("typed", "default", created)
    assert (raised.value.status, raised.value.reason) == (409, "Conflict")

    apps.delete_namespaced_deployment("typed", "default")
    with pytest.raises(ApiException) as raised:
        apps.read_namespaced_deployment("typed", "default")
    assert raised.value.status == 404


def test_a_list_comes_in_pages_and_a_watch_continues_from_it(api: client.ApiClient) -> None:
    core = client.CoreV1Api(api)
    selector = {"label_selector": "set=paged"}
    for index in range(5):
        paged = config_map(f"paged-{index}", index=str(index))
        paged["metadata"]["labels"] = {"set": "paged"}
        core.create_namespaced_config_map("default", paged)

    first = core.list_namespaced_config_map("default", limit=3, **selector)
    rest = core.list_namespaced_config_map(
        "default", limit=3, _continue=first.metadata._continue, **selector
    )
    core.delete_namespaced_config_map("paged-0", "default")
    changes = watch.Watch().stream(
        core.list_namespaced_config_map,
        "default",
        resource_version=rest.metadata.resource_version,
        timeout_seconds=10,
        **selector,
    )

    names = [item.metadata.name for item in first.items + rest.items]
    assert names == [f"paged-{index}" for index in range(5)]
    change = next(changes)
    assert (change["type"], change["object"].metadata.name) == ("DELETED", "paged-0")


def test_a_watch_from_an_expired_version_fails_with_410(
    api: client.ApiClient, server: EmbeddedAPIServer
) -> None:
    core = client.CoreV1Api(api)
    before = core.create_namespaced_config_map("default", config_map("old"))
    core.patch_namespaced_config_map("old", "default", {"data": {"changed": "yes"}})
    server.expire_history()

    with pytest.raises(ApiException) as raised:
        next(
            watch.Watch().stream(
                core.list_namespaced_config_map,
                "default",
                resource_version=before.metadata.resource_version,
                timeout_seconds=10,
            )
        )

    assert raised.value.status == 410


def test_the_dynamic_client_applies_and_watches_custom_resources(
    widgets: dynamic.Resource,
) -> None:
    widgets.create(body=widget("dynamic", 2), namespace="default")
    widgets.patch(
        body={"metadata": {"name": "dynamic"}, "spec": {"size": 3}},
        namespace="default",
        content_type="application/merge-patch+json",
    )
    applied = widgets.server_side_apply(
        body=widget("dynamic", 4), namespace="default", field_manager="me", force_conflicts=True
    )
    seen = next(iter(widgets.watch(namespace="default", name="dynamic", timeout=30)))
    widgets.delete(name="dynamic", namespace="default")

    assert applied.spec.size == 4
    assert "me" in {entry.manager for entry in applied.metadata.managedFields}
    assert (seen["type"], seen["object"].spec.size) == ("ADDED", 4)
    with pytest.raises(dynamic.exceptions.NotFoundError):
        widgets.get(name="dynamic", namespace="default")


def test_custom_objects_are_validated_and_have_a_status(
    api: client.ApiClient, widgets: dynamic.Resource
) -> None:
    custom = client.CustomObjectsApi(api)
    where = (GROUP, VERSION, "default", "widgets")
    custom.create_namespaced_custom_object(*where, widget("checked"))

    with pytest.raises(ApiException) as raised:
        custom.create_namespaced_custom_object(*where, widget("refused", 0))
    status = {"status": {"phase": "Ready"}}
    custom.patch_namespaced_custom_object_status(*where, "checked", status)

    assert raised.value.status == 422
    assert "spec.size" in raised.value.body
    read = custom.get_namespaced_custom_object(*where, "checked")
    assert read["status"] == {"phase": "Ready"}


class Candidate:
    """Leads until told to resign, which here means that its work fails."""

    def __init__(self, api: client.ApiClient, identity: str) -> None:
        self.leading = threading.Event()
        self.resign = threading.Event()
        lock = LeaseLock("leader", "default", identity)
        lock.api_instance = client.CoordinationV1Api(api)
        election = LeaderElection(Config(lock, 60, 40, 1, self._lead, lambda: None))
        self.thread = threading.Thread(target=election.run, name=identity, daemon=True)
        self.thread.start()

    def _lead(self) -> None:
        self.leading.set()
        self.resign.wait()
        raise RuntimeError("resigned")


def test_one_candidate_leads_and_another_follows_when_it_fails(api: client.ApiClient) -> None:
    leases = client.CoordinationV1Api(api)
    first = Candidate(api, "first")
    assert first.leading.wait(PATIENCE)
    second = Candidate(api, "second")

    assert leases.read_namespaced_lease("leader", "default").spec.holder_identity == "first"
    first.resign.set()
    first.thread.join(PATIENCE)
    assert not first.thread.is_alive()
    # The second one would wait for a minute after the last renewal.
    leases.delete_namespaced_lease("leader", "default")
    assert second.leading.wait(PATIENCE)

    assert leases.read_namespaced_lease("leader", "default").spec.holder_identity == "second"
    second.resign.set()
    second.thread.join(PATIENCE)
    assert not second.thread.is_alive()
