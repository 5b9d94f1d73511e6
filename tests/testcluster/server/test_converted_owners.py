"""Field owners of a custom resource whose versions a webhook converts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.testcluster.server.conversion_webhook import ConversionWebhook, serve_two_versions
from tests.testcluster.server.http_api import MERGE_PATCH, WIDGETS, Answer, Api

V2 = WIDGETS.replace("/v1/", "/v2/")
APPLY = "application/apply-patch+yaml"
V1_SIZE = {"f:spec": {".": {}, "f:size": {}}}


@pytest.fixture
def webhook() -> Iterator[ConversionWebhook]:
    server = ConversionWebhook()
    yield server
    server.close()


@pytest.fixture
def converted(api: Api, webhook: ConversionWebhook) -> Api:
    """A client for a server of Widgets in v1, which is stored, and v2."""
    serve_two_versions(api, webhook)
    return api


def body(version: str, **fields: Any) -> dict[str, Any]:
    header = {"apiVersion": f"example.com/{version}", "kind": "Widget"}
    return {**header, "metadata": {"name": "a"}, **fields}


def create(api: Api, size: int = 1) -> None:
    answer = api.call("POST", WIDGETS, body("v1", spec={"size": size}), fieldManager="maker")
    assert answer.status == 201


def patch(api: Api, path: str, change: dict[str, Any], manager: str) -> Answer:
    return api.call("PATCH", f"{path}/a", change, MERGE_PATCH, fieldManager=manager)


def apply(api: Api, path: str, spec: dict[str, Any], manager: str, **query: str) -> Answer:
    version = "v2" if path == V2 else "v1"
    config = body(version, spec=spec)
    return api.call("PATCH", f"{path}/a", config, APPLY, fieldManager=manager, **query)


def owners(api: Api, path: str = WIDGETS) -> dict[tuple[str, str], Any]:
    """Return the fields of each manager at its version."""
    entries = api.get(f"{path}/a")["metadata"].get("managedFields", ())
    return {
        (entry["manager"], entry["apiVersion"].partition("/")[2]): entry["fieldsV1"]
        for entry in entries
    }


def test_a_write_in_another_version_leaves_the_others_what_it_does_not_change(
    converted: Api,
) -> None:
    create(converted)
    answer = patch(converted, V2, {"metadata": {"labels": {"a": "b"}}}, "labeler")

    assert answer.status == 200
    labels = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    default = {"f:spec": {"f:color": {}}}  # which v1 does not have
    assert owners(converted) == {("maker", "v1"): V1_SIZE, ("labeler", "v2"): labels | default}


def test_a_write_in_another_version_takes_what_it_changes(converted: Api) -> None:
    create(converted)
    patch(converted, V2, {"spec": {"box": {"width": 5}}}, "other")

    found = owners(converted)
    assert "f:size" not in str(found)
    assert "f:width" in found["other", "v2"]["f:spec"]["f:box"]

    patch(converted, WIDGETS, {"spec": {"size": 6}}, "maker")
    found = owners(converted)
    assert found["maker", "v1"]["f:spec"]["f:size"] == {}
    assert "f:width" not in str(found)


def test_an_apply_conflicts_with_an_owner_at_another_version(converted: Api) -> None:
    create(converted)

    refused = apply(converted, V2, {"box": {"width": 2}}, "applier")
    assert refused.status == 409
    [cause] = refused.body["details"]["causes"]
    assert (cause["field"], 'conflict with "maker"' in cause["message"]) == (".spec.size", True)

    assert apply(converted, V2, {"box": {"width": 1}}, "applier").status == 200
    forced = apply(converted, V2, {"box": {"width": 2}}, "applier", force="true")
    assert forced.body["spec"]["box"] == {"width": 2}
    assert "f:size" not in str(owners(converted))


def test_what_an_applier_leaves_out_in_another_version_is_removed(converted: Api) -> None:
    assert apply(converted, WIDGETS, {"size": 1}, "applier").status == 201

    answer = apply(converted, V2, {"color": "red"}, "applier")

    assert answer.status == 200
    assert "size" not in converted.get(f"{WIDGETS}/a")["spec"]
    assert owners(converted) == {("applier", "v2"): {"f:spec": {"f:color": {}}}}


def test_the_owners_stay_if_the_webhook_fails(converted: Api, webhook: ConversionWebhook) -> None:
    create(converted)
    patch(converted, V2, {"metadata": {"labels": {"a": "b"}}}, "labeler")
    before = owners(converted)

    webhook.spoil = lambda answer: answer["response"].update(result={"status": "Failure"})
    answer = patch(converted, WIDGETS, {"spec": {"size": 7}}, "other")

    assert (answer.status, answer.body["spec"]) == (200, {"size": 7})
    assert owners(converted) == before
    assert apply(converted, WIDGETS, {"size": 8}, "applier", force="true").status == 500
