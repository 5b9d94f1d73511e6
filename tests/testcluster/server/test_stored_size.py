"""Objects that a cluster could not store."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from clientgo.testcluster.server.objects.stored_size import MOST_BYTES
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    MERGE_PATCH,
    WIDGETS,
    Api,
    configmap,
    widget,
)

SECRETS = "/api/v1/namespaces/default/secrets"
PODS = "/api/v1/namespaces/default/pods"
TOO_LARGE = "etcdserver: request is too large"
NOT_SENT = "desc = trying to send message larger than max ("
FITS, LARGE, VERY_LARGE = 12_000, 16_000, 22_000
"""Numbers of finalizers: each takes about 110 bytes, with its field owner."""


def finalizers(count: int) -> list[str]:
    return [f"example.com/{n:035}" for n in range(count)]


def large_widget(count: int) -> dict[str, Any]:
    body = widget("large")
    body["metadata"]["finalizers"] = finalizers(count)
    return body


@pytest.mark.parametrize(("count", "message"), [(LARGE, TOO_LARGE), (VERY_LARGE, NOT_SENT)])
def test_a_custom_resource_that_is_too_large_is_refused(
    widgets: Api, count: int, message: str
) -> None:
    answer = widgets.call("POST", WIDGETS, large_widget(count))

    assert (answer.status, answer.body.get("reason", "")) == (500, "")
    assert message in answer.body["message"]
    assert widgets.call("GET", f"{WIDGETS}/large").status == 404
    assert widgets.call("POST", WIDGETS, large_widget(count), dryRun="All").status == 201


def test_an_update_that_makes_an_object_too_large_changes_nothing(widgets: Api) -> None:
    before = widgets.create(WIDGETS, large_widget(FITS))

    patch = {"metadata": {"finalizers": finalizers(LARGE)}}
    answer = widgets.call("PATCH", f"{WIDGETS}/large", patch, MERGE_PATCH)

    assert (answer.status, answer.body["message"]) == (500, TOO_LARGE)
    assert widgets.get(f"{WIDGETS}/large") == before
    after = widgets.patch(f"{WIDGETS}/large", {"spec": {"size": 2}})
    version = int(before["metadata"]["resourceVersion"])
    assert int(after["metadata"]["resourceVersion"]) == version + 1, "the refusal left a gap"


def test_an_object_of_a_built_in_kind_that_is_too_large_is_refused(api: Api) -> None:
    answer = api.call("POST", CONFIGMAPS, configmap("a", finalizers=finalizers(LARGE)))

    assert (answer.status, answer.body["message"]) == (500, TOO_LARGE)
    api.create(CONFIGMAPS, configmap("a", finalizers=finalizers(FITS)))


def test_base64_and_names_of_fields_take_less_than_in_json(api: Api) -> None:
    """A cluster stores built-in kinds in protobuf."""
    data = base64.b64encode(b"x" * (1_048_576 - 100)).decode()
    metadata = {"name": "a", "finalizers": finalizers(2_000)}
    api.create(SECRETS, {"metadata": metadata, "data": {"k": data}})

    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}
    variables = [{"name": f"v{n}", "valueFrom": field} for n in range(10_000)]
    container = {"name": "c", "image": "i", "env": variables}
    pod = api.create(PODS, {"metadata": {"name": "a"}, "spec": {"containers": [container]}})
    assert len(json.dumps(pod, separators=(",", ":"))) > MOST_BYTES
