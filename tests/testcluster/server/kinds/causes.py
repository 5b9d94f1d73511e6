"""Why objects of a kind are refused: the causes in the response of the server."""

from __future__ import annotations

from typing import Any

from tests.testcluster.server.http_api import Api

CORE = "/api/v1/namespaces/default"
SERVICES = f"{CORE}/services"
CLAIMS = f"{CORE}/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
Object = dict[str, Any]
Causes = list[tuple[str, str]]


def causes(api: Api, collection: str, body: Object) -> Causes:
    """Return field and reason of each cause; none if the object is accepted."""
    body = {"metadata": {"name": "a"}, **body}
    answer = api.call("POST", collection, body, dryRun="All")
    if answer.status == 201:
        return []
    assert answer.status == 422, answer.body
    found = answer.body["details"]["causes"]
    return sorted((item["field"], item["reason"].removeprefix("FieldValue")) for item in found)


def named(**body: Any) -> Object:
    return {"metadata": {"name": "a"}, **body}


PORT = {"port": 80}
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def change(api: Api, path: str, patch: Object) -> Causes:
    answer = api.call("PATCH", path, patch, "application/merge-patch+json")
    if answer.status == 200:
        return []
    found = answer.body["details"]["causes"]
    return sorted((item["field"], item["reason"].removeprefix("FieldValue")) for item in found)
