"""A definition that changes while objects of it are written."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from clientgo.testcluster.server.storage.deep_values import MOST_LEVELS
from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.http_api import CRDS, WIDGETS, Api, widget

CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
DEFINITION = f"{CRDS}/widgets.example.com"


class ChangingWebhook(WebhookServer):
    """Changes the definition of what it is asked about, and then allows the write."""

    def __init__(self, api: Api) -> None:
        super().__init__()
        self._api = api
        self.versions: list[dict[str, Any]] = []

    def answer(self, path: str, review: dict[str, Any]) -> tuple[int, bytes]:
        """Return when the change is in effect, which ends the watches of Widgets."""
        watch = self._api.watch(WIDGETS)
        self._api.patch(DEFINITION, {"spec": {"versions": self.versions}})
        assert list(watch) == []
        response = {"uid": review["request"]["uid"], "allowed": True}
        return 200, json.dumps({**review, "response": response}).encode()


@pytest.fixture
def webhook(widgets: Api) -> Iterator[ChangingWebhook]:
    """A webhook that is asked about new Widgets."""
    with closing(ChangingWebhook(widgets)) as server:
        ca = base64.b64encode(server.ca_pem).decode()
        rule = {"apiGroups": ["*"], "apiVersions": ["*"], "resources": ["widgets"]}
        hook = {
            "name": "changes.example.com",
            "clientConfig": {"url": f"{server.url}/change", "caBundle": ca},
            "rules": [rule | {"operations": ["CREATE"]}],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
        widgets.create(CONFIGURATIONS, {"metadata": {"name": "a"}, "webhooks": [hook]})
        yield server


def versions(api: Api) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(DEFINITION)["spec"]["versions"]
    return found


def test_an_object_is_read_as_the_schema_of_now_if_it_changed_during_the_write(
    widgets: Api, webhook: ChangingWebhook
) -> None:
    [version] = versions(widgets)
    color = {"type": "string", "default": "red"}
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["spec"] = {"type": "object", "properties": {"color": color}}
    webhook.versions = [version]
    assert widgets.create(WIDGETS, widget("a"))["spec"] == {"size": 1}
    read = widgets.get(f"{WIDGETS}/a")
    assert read["spec"] == {"color": "red"}
    assert widgets.call("PUT", f"{WIDGETS}/a", read).body == read


def test_an_object_is_served_in_the_version_that_became_the_stored_one_during_the_write(
    widgets: Api, webhook: ChangingWebhook
) -> None:
    [version] = versions(widgets)
    webhook.versions = [{**version, "storage": False}, {**version, "name": "v2"}]
    assert widgets.create(WIDGETS, widget("a"))["apiVersion"] == "example.com/v1"
    path = f"{WIDGETS}/a".replace("v1", "v2")
    assert widgets.get(path)["apiVersion"] == "example.com/v2"


def test_the_deepest_object_that_is_stored_can_be_read_by_any_schema(widgets: Api) -> None:
    [version] = versions(widgets)
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    change_schema(widgets, version, anything)
    value: list[Any] = []
    for _ in range(MOST_LEVELS - 3):  # it is below the object, spec and deep, and has one level
        value = [value]
    deepest = {**widget("a"), "spec": {"deep": value}}
    widgets.create(WIDGETS, deepest)
    widgets.create(WIDGETS, {**widget("b"), "spec": {"deep": [value]}})

    items: dict[str, Any] = {"type": "object"}
    for _ in range(80):
        items = {"type": "array", "items": items}
    spec = {"type": "object", "properties": {"deep": items}}
    change_schema(widgets, version, {"type": "object", "properties": {"spec": spec}})

    assert widgets.get(f"{WIDGETS}/a")["metadata"]["name"] == "a"
    assert widgets.get(f"{WIDGETS}/b")["metadata"]["name"] == "b"
    assert len(widgets.get(WIDGETS)["items"]) == 2
    with closing(widgets.watch(CRDS)) as watch:
        widgets.delete(DEFINITION)
        assert any(event["type"] == "DELETED" for event in watch)


def change_schema(api: Api, version: dict[str, Any], schema: dict[str, Any]) -> None:
    """Return when the change is in effect, which ends the watches of Widgets."""
    watch = api.watch(WIDGETS)
    api.patch(
        DEFINITION, {"spec": {"versions": [{**version, "schema": {"openAPIV3Schema": schema}}]}}
    )
    for _event in watch:
        pass
