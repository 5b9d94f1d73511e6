"""kopf: a small operator that keeps a ConfigMap for each Widget."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from kubernetes import client, config, dynamic, utils, watch

from clientgo.testcluster.server import EmbeddedAPIServer
from tests.clients.objects import API_VERSION, GROUP, config_map, widget, widget_crd

kopf = pytest.importorskip("kopf", reason="kopf is not installed")

PATIENCE = 30
"""Seconds that something may take on a busy machine."""


def make_operator(api: client.ApiClient, url: str) -> Any:
    """The handlers of the operator."""
    core = client.CoreV1Api(api)
    registry = kopf.OperatorRegistry()

    @kopf.on.login(registry=registry)
    def login(**_: Any) -> Any:
        return kopf.ConnectionInfo(server=url)

    @kopf.on.create(GROUP, "widgets", id="create", registry=registry)
    def create(body: Any, spec: Any, name: str, namespace: str, **_: Any) -> dict[str, Any]:
        made = config_map(name, size=str(spec["size"]))
        kopf.adopt(made)
        core.create_namespaced_config_map(namespace, made)
        kopf.info(body, reason="Made", message="There is a ConfigMap now")
        return {"made": name}

    @kopf.on.update(GROUP, "widgets", field="spec.size", registry=registry)
    def resize(new: int, name: str, namespace: str, **_: Any) -> None:
        core.patch_namespaced_config_map(name, namespace, {"data": {"size": str(new)}})

    @kopf.on.delete(GROUP, "widgets", registry=registry)
    def remove(name: str, namespace: str, **_: Any) -> None:
        core.create_namespaced_config_map(namespace, config_map(f"{name}-was-here"))

    return registry


@contextmanager
def running(registry: Any) -> Iterator[None]:
    """Run an operator in a thread until the block is left."""
    ready, stop = threading.Event(), threading.Event()
    settings = {"registry": registry, "ready_flag": ready, "stop_flag": stop}
    thread = threading.Thread(
        target=lambda: kopf.run(standalone=True, clusterwide=True, **settings),
        name="kopf",
        daemon=True,
    )
    thread.start()
    try:
        assert ready.wait(PATIENCE)
        yield
    finally:
        stop.set()
        thread.join(PATIENCE)
        assert not thread.is_alive()


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> None:
    """Not looked at here: kopf keeps the pool in which it calls handlers."""


@pytest.fixture
def api(server: EmbeddedAPIServer) -> Iterator[client.ApiClient]:
    with config.new_client_from_config(str(server.kubeconfig)) as api:
        yield api


def await_change(lister: Callable[..., Any], happened: Callable[[Any], bool], **query: Any) -> Any:
    """Watch until something has happened; the change."""
    for change in watch.Watch().stream(lister, timeout_seconds=PATIENCE, **query):
        if happened(change):
            return change
    raise AssertionError("it did not happen in time")


def test_an_operator_creates_watches_and_deletes_dependents(
    server: EmbeddedAPIServer, api: client.ApiClient
) -> None:
    utils.create_from_dict(api, widget_crd())
    core = client.CoreV1Api(api)
    maps = core.list_config_map_for_all_namespaces

    with running(make_operator(api, server.url)):
        widgets = dynamic.DynamicClient(api).resources.get(api_version=API_VERSION, kind="Widget")
        created = widgets.create(body=widget("cog", 2), namespace="default")
        made = await_change(maps, lambda it: it["type"] == "ADDED", field_selector=named("cog"))
        handled = next(
            change["object"]
            for change in widgets.watch(namespace="default", name="cog", timeout=PATIENCE)
            if "create" in change["object"].to_dict().get("status", {})
        )

        event = await_change(
            core.list_event_for_all_namespaces, lambda it: it["object"].reason == "Made"
        )

        change = {"metadata": {"name": "cog"}, "spec": {"size": 5}}
        merge = "application/merge-patch+json"
        widgets.patch(body=change, namespace="default", content_type=merge)
        await_change(maps, lambda it: it["object"].data["size"] == "5", field_selector=named("cog"))
        widgets.delete(name="cog", namespace="default")
        await_change(maps, lambda it: True, field_selector=named("cog-was-here"))
        await_change(
            maps,
            lambda it: it["type"] == "DELETED",
            field_selector=named("cog"),
            resource_version=made["object"].metadata.resource_version,
        )

    assert made["object"].metadata.owner_references[0].uid == created.metadata.uid
    assert handled.status.to_dict()["create"] == {"made": "cog"}
    assert handled.metadata.finalizers == ["kopf.zalando.org/KopfFinalizerMarker"]
    assert event["object"].involved_object.name == "cog"


def named(name: str) -> str:
    return f"metadata.name={name}"
