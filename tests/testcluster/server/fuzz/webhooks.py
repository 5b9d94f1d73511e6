"""Webhooks that answer what they should not."""

from __future__ import annotations

import base64
import json
import random
import threading
from typing import Any

from tests.conformance.webhook_server import WebhookServer
from tests.testcluster.server.fuzz.values import Values

_PATHS = [
    *("/metadata", "/metadata/labels", "/metadata/annotations", "/metadata/name", "/metadata/uid"),
    *(
        "/metadata/finalizers",
        "/metadata/ownerReferences",
        "/metadata/managedFields",
        "/apiVersion",
    ),
    *("/data", "/data/k", "/spec", "/spec/replicas", "/spec/containers/0", "/status", "/kind", ""),
]
_VALUES: list[Any] = [{}, [], 1, None, "x", {"a": "b"}, ["x"], [{"uid": "u"}], {"a": 1}]


class OddWebhooks(WebhookServer):
    """Answers admission and conversion reviews, about half of the time as a webhook should."""

    def __init__(self, seed: str) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._values = Values(self._random, {})
        self._turn = threading.Lock()

    def client_config(self, path: str) -> dict[str, str]:
        """Return the configuration of a webhook that is asked at a path."""
        bundle = base64.b64encode(self.ca_pem).decode()
        return {"url": f"{self.url}/{path}", "caBundle": bundle}

    def answer(self, path: str, review: dict[str, Any]) -> tuple[int, bytes]:
        """Answer a review."""
        with self._turn:
            request = review["request"]
            is_conversion = "desiredAPIVersion" in request
            response = self._conversion(request) if is_conversion else self._admission(path)
            response["uid"] = request["uid"]
            answer: Any = {**review, "response": response}
            del answer["request"]
            if self._random.random() < 0.4:
                answer = self._values.with_mistakes(answer, 2)
            return 500 if self._random.random() < 0.05 else 200, json.dumps(answer).encode()

    def _conversion(self, request: dict[str, Any]) -> dict[str, Any]:
        version = request["desiredAPIVersion"]
        converted = [{**obj, "apiVersion": version} for obj in request["objects"]]
        return {"result": {"status": "Success"}, "convertedObjects": converted}

    def _admission(self, path: str) -> dict[str, Any]:
        chance = self._random.random
        status = {
            "code": self._random.choice((400, 403, 200, 9999, -1)),
            "message": "m",
            "reason": "r",
            "details": {"name": "x", "causes": [{"reason": "a", "message": "b", "field": "c"}]},
        }
        response: dict[str, Any] = {"allowed": chance() < 0.9, "status": status}
        if chance() < 0.3:
            response["warnings"] = ["w", "x\r\nWarning: y"]
        if path.endswith("/mutate") and chance() < 0.7:
            names = ("add", "add", "replace", "remove", "test", "copy")
            operations = [
                {
                    "op": self._random.choice(names),
                    "path": self._random.choice(_PATHS),
                    "value": self._random.choice(_VALUES),
                    "from": "/metadata",
                }
                for _ in range(self._random.choice((1, 1, 2)))
            ]
            patch = json.dumps(self._values.with_mistakes(operations, 1))
            response |= {
                "patch": base64.b64encode(patch.encode()).decode(),
                "patchType": "JSONPatch",
            }
        return response
