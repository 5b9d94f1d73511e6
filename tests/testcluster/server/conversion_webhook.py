"""A conversion webhook for Widgets: ``spec.size`` in v1 is ``spec.box.width`` in v2."""

from __future__ import annotations

import base64
import copy
import json
from collections.abc import Callable
from typing import Any

from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.http_api import CRDS, Api, widget_crd

Converted = dict[str, Any]


class ConversionWebhook(WebhookServer):
    """Converts Widgets; ``spoil`` changes the review that it answers with."""

    def __init__(self) -> None:
        super().__init__()
        self.reviews: list[dict[str, Any]] = []
        self.spoil: Callable[[dict[str, Any]], Any] = lambda review: None
        self.factor = 1
        """What the width of v2 is multiplied with."""

    @property
    def client_config(self) -> dict[str, str]:
        return {
            "url": f"{self.url}/convert",
            "caBundle": base64.b64encode(self.ca_pem).decode(),
        }

    def answer(self, path: str, review: dict[str, Any]) -> tuple[int, bytes]:
        """Answer a ConversionReview."""
        request = review["request"]
        self.reviews.append(copy.deepcopy(request))
        converted = [self._convert(obj, request["desiredAPIVersion"]) for obj in request["objects"]]
        response = {
            "uid": request["uid"],
            "result": {"status": "Success"},
            "convertedObjects": converted,
        }
        answer = {
            "apiVersion": review["apiVersion"],
            "kind": review["kind"],
            "response": response,
        }
        self.spoil(answer)
        return 200, json.dumps(answer).encode()

    def _convert(self, obj: Converted, version: str) -> Converted:
        given = obj.get("spec", {})
        spec: dict[str, Any] = {}
        if version.endswith("/v2"):
            spec["extra"] = "pruned"
            if "size" in given:
                spec["box"] = {"width": given["size"] * self.factor}
        elif "box" in given:
            spec["size"] = given["box"]["width"]
        converted = {**obj, "apiVersion": version, "spec": spec}
        return dict(reversed(converted.items()))  # the order of fields has no meaning


def version(name: str, properties: dict[str, Any], *, storage: bool) -> dict[str, Any]:
    """A version of Widgets."""
    schema = {
        "type": "object",
        "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    }
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }


def two_versions(webhook: ConversionWebhook, *, stored: str = "v1") -> dict[str, Any]:
    """The ``spec`` of a definition with both versions; v2 has a default of its own."""
    box = {"type": "object", "properties": {"width": {"type": "integer"}}}
    color = {"type": "string", "default": "blue"}
    size = {"type": "integer"}
    return {
        "versions": [
            version("v1", {"size": size}, storage=stored == "v1"),
            version("v2", {"box": box, "color": color}, storage=stored == "v2"),
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": webhook.client_config,
                "conversionReviewVersions": ["v1"],
            },
        },
    }


def serve_two_versions(api: Api, webhook: ConversionWebhook) -> None:
    """Define Widgets in two versions, and wait until they are served."""
    watch = api.watch(CRDS)
    crd = widget_crd()
    crd["spec"] |= two_versions(webhook)
    api.create(CRDS, crd)
    for event in watch:
        conditions = event["object"]["status"].get("conditions") or ()
        if any(item["type"] == "Established" and item["status"] == "True" for item in conditions):
            break
    watch.close()
