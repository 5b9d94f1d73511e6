"""Versions of a custom resource that a webhook converts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from clientgo.testcluster.schema import StructuralSchema
from clientgo.testcluster.server.objects import turns
from tests.testcluster.server.conversion_webhook import (
    ConversionWebhook,
    serve_two_versions,
    two_versions,
)
from tests.testcluster.server.http_api import CRDS, MERGE_PATCH, WIDGETS, Api

V2 = WIDGETS.replace("/v1/", "/v2/")
APPLY = "application/apply-patch+yaml"


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


def v1(name: str, size: int, **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


def v2(name: str, width: int, **metadata: Any) -> dict[str, Any]:
    spec = {"box": {"width": width}}
    return v1(name, 0, **metadata) | {"apiVersion": "example.com/v2", "spec": spec}


def test_a_version_that_is_not_stored_is_converted_when_it_is_written_and_read(
    converted: Api, webhook: ConversionWebhook
) -> None:
    created = converted.create(V2, v2("a", 3))
    assert (created["apiVersion"], created["spec"]) == ("example.com/v2", {"box": {"width": 3}})
    assert converted.get(f"{WIDGETS}/a")["spec"] == {"size": 3}
    read = converted.get(f"{V2}/a")
    assert list(read) == ["apiVersion", "kind", "metadata", "spec"]
    assert (read["apiVersion"], read["spec"]) == ("example.com/v2", {"box": {"width": 3}})
    assert [request["desiredAPIVersion"][-2:] for request in webhook.reviews] == ["v1", "v2", "v2"]


def test_the_stored_version_is_not_converted(converted: Api, webhook: ConversionWebhook) -> None:
    converted.create(WIDGETS, v1("a", 1))
    converted.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
    assert [item["spec"] for item in converted.get(WIDGETS)["items"]] == [{"size": 2}]
    converted.delete(f"{WIDGETS}/a")
    assert webhook.reviews == []


def test_others_are_answered_between_the_objects_of_a_converted_list(
    converted: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "ab":
        converted.create(WIDGETS, v1(name, 1))
    happened: list[str] = []
    pruned = StructuralSchema.prune

    def observed(schema: StructuralSchema, obj: Any) -> Any:
        happened.append("object")
        asyncio.get_running_loop().call_soon(happened.append, "another request")
        return pruned(schema, obj)

    monkeypatch.setattr(StructuralSchema, "prune", observed)
    monkeypatch.setattr(turns, "ITEMS_A_TURN", 1)

    assert len(converted.get(V2)["items"]) == 2
    assert happened[:8] == ["object", "another request"] * 4


def test_a_list_is_converted_in_one_call(converted: Api, webhook: ConversionWebhook) -> None:
    for name in "abc":
        converted.create(WIDGETS, v1(name, ord(name)))
    answer = converted.get(V2)
    assert answer["apiVersion"] == "example.com/v2"
    widths = [(item["metadata"]["name"], item["spec"]["box"]) for item in answer["items"]]
    assert widths == [("a", {"width": 97}), ("b", {"width": 98}), ("c", {"width": 99})]
    assert [len(request["objects"]) for request in webhook.reviews] == [3]


def test_a_watch_converts_each_change(converted: Api) -> None:
    converted.create(WIDGETS, v1("a", 1))
    watch = converted.watch(V2)
    assert watch.next()["object"]["spec"] == {"box": {"width": 1}}
    converted.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
    changed = watch.next()
    assert (changed["type"], changed["object"]["spec"]) == ("MODIFIED", {"box": {"width": 2}})
    converted.delete(f"{V2}/a")
    gone = watch.next()
    assert (gone["type"], gone["object"]["apiVersion"]) == ("DELETED", "example.com/v2")
    watch.close()


def test_updates_patches_and_applies_see_their_own_version(converted: Api) -> None:
    converted.create(WIDGETS, v1("a", 1))
    patched = converted.patch(f"{V2}/a", {"spec": {"box": {"width": 4}}})
    assert patched["spec"] == {"box": {"width": 4}}  # v1 has no color
    patched["spec"]["box"]["width"] = 5
    assert converted.call("PUT", f"{V2}/a", patched).body["spec"] == {"box": {"width": 5}}
    applied = converted.call(
        "PATCH", f"{V2}/a", v2("a", 6), APPLY, fieldManager="m", force="true"
    ).body
    assert applied["spec"]["box"] == {"width": 6}
    assert converted.get(f"{WIDGETS}/a")["spec"] == {"size": 6}
    assert converted.get(f"{WIDGETS}/a")["metadata"]["generation"] == 4
    status = {"status": {"ready": True}}
    answer = converted.call("PATCH", f"{V2}/a/status", status, MERGE_PATCH)
    assert answer.body["status"] == {"ready": True}


def test_a_dry_run_answers_its_own_version_and_stores_nothing(converted: Api) -> None:
    answer = converted.call("POST", V2, v2("a", 1), dryRun="All")
    assert (answer.status, answer.body["spec"]["box"]) == (201, {"width": 1})
    assert converted.get(WIDGETS)["items"] == []


def test_an_object_with_a_finalizer_is_deleted_in_another_version(converted: Api) -> None:
    converted.create(WIDGETS, v1("a", 1, finalizers=["example.com/x"]))
    deleted = converted.delete(f"{V2}/a")
    assert (deleted["apiVersion"], deleted["spec"]) == ("example.com/v2", {"box": {"width": 1}})
    assert "deletionTimestamp" in converted.get(f"{WIDGETS}/a")["metadata"]
    converted.patch(f"{V2}/a", {"metadata": {"finalizers": None}})
    assert converted.call("GET", f"{WIDGETS}/a").status == 404


def test_each_read_asks_the_webhook_again(converted: Api, webhook: ConversionWebhook) -> None:
    converted.create(WIDGETS, v1("a", 1))
    assert converted.get(f"{V2}/a")["spec"]["box"] == {"width": 1}
    webhook.factor = 10
    assert converted.get(f"{V2}/a")["spec"]["box"] == {"width": 10}


def test_objects_stay_as_they_are_stored_when_the_stored_version_changes(
    converted: Api, webhook: ConversionWebhook
) -> None:
    converted.create(WIDGETS, v1("a", 1))
    definition = f"{CRDS}/widgets.example.com"
    watch = converted.watch(V2, resourceVersion=converted.get(V2)["metadata"]["resourceVersion"])
    converted.patch(definition, {"spec": two_versions(webhook, stored="v2")})
    assert list(watch) == []  # the changed definition ends it
    webhook.reviews.clear()
    assert converted.get(f"{WIDGETS}/a")["spec"] == {"size": 1}
    assert webhook.reviews == []
    assert converted.get(f"{V2}/a")["spec"]["box"] == {"width": 1}
    assert len(webhook.reviews) == 1
    converted.patch(f"{WIDGETS}/a", {"spec": {"size": 2}})
    webhook.reviews.clear()
    assert converted.get(f"{V2}/a")["spec"] == {"box": {"width": 2}, "color": "blue"}
    assert webhook.reviews == []
    stored = converted.get(definition)["status"]["storedVersions"]
    assert stored == ["v1", "v2"]


def test_a_conversion_changes_labels_and_annotations_and_no_other_metadata(
    converted: Api, webhook: ConversionWebhook
) -> None:
    created = converted.create(WIDGETS, v1("a", 1, labels={"old": "1"}, annotations={"b": "2"}))

    def change(review: dict[str, Any]) -> None:
        [obj] = review["response"]["convertedObjects"]
        obj["metadata"] |= {"labels": {"new": "1"}, "generation": 9, "resourceVersion": "1"}
        del obj["metadata"]["annotations"]

    webhook.spoil = change
    metadata = converted.get(f"{V2}/a")["metadata"]
    assert metadata.pop("labels") == {"new": "1"}
    del created["metadata"]["labels"], created["metadata"]["annotations"]
    assert metadata == created["metadata"]


def _response(**fields: Any) -> Any:
    return lambda review: review["response"].update(fields)


def _first(**fields: Any) -> Any:
    return lambda review: review["response"]["convertedObjects"][0].update(fields)


def _metadata(**fields: Any) -> Any:
    return lambda review: review["response"]["convertedObjects"][0]["metadata"].update(fields)


FAILURES: dict[str, tuple[Any, str]] = {
    "refused": (
        _response(result={"status": "Failure", "message": "too wide"}),
        "failed: too wide",
    ),
    "refused without a message": (
        _response(result={"status": "Failure"}),
        "failed: response.result.status was 'Failure', not 'Success'",
    ),
    "no response": (lambda review: review.pop("response"), "failed: no response provided"),
    "another review": (
        lambda review: review.update(kind="AdmissionReview"),
        "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got "
        "apiextensions.k8s.io/v1, Kind=AdmissionReview",
    ),
    "another uid": (_response(uid="x"), 'got "x"'),
    "a result of another type": (_response(result="Success"), "failed: Expected `object"),
    "no list of objects": (_response(convertedObjects=5), "failed: Expected `array"),
    "a kind of another type": (lambda review: review.update(kind=[1]), "failed: Expected `str"),
    "too few objects": (_response(convertedObjects=[]), "returned 0 objects, expected 1"),
    "no object": (_response(convertedObjects=["x"]), "object at index 0: it is no object"),
    "another version": (
        _first(apiVersion="example.com/v3"),
        "returned invalid converted object at index 0: invalid groupVersion (expected "
        "example.com/v2, received example.com/v3)",
    ),
    "another kind": (
        _first(kind="Gadget"),
        "returned invalid converted object at index 0: invalid kind (expected Widget, received "
        "Gadget)",
    ),
    "another name": (_metadata(name="b"), "must have the same name: a != b"),
    "another uid of the object": (_metadata(uid="u"), "must have the same UID: "),
    "no metadata": (_first(metadata=None), "must have the same name: a != "),
    "labels of numbers": (_metadata(labels={"a": 1}), "metadata.labels must be a map of strings"),
    "malformed labels": (
        _metadata(labels={"a b": ""}),
        'returned invalid metadata in object at index 0: metadata.labels: Invalid value: "a b"',
    ),
}


@pytest.mark.parametrize(("spoil", "message"), FAILURES.values(), ids=FAILURES.keys())
def test_a_failed_conversion_is_an_error_in_the_words_of_the_server(
    converted: Api, webhook: ConversionWebhook, spoil: Any, message: str
) -> None:
    converted.create(WIDGETS, v1("a", 1))
    webhook.spoil = spoil
    answer = converted.call("GET", f"{V2}/a")
    assert (answer.status, answer.body.get("reason")) == (500, None)
    text = answer.body["message"]
    assert text.startswith("conversion webhook for example.com/v1, Kind=Widget ")
    assert message in text
    assert converted.call("GET", V2).status == 500
    assert converted.call("GET", f"{WIDGETS}/a").status == 200


def test_a_webhook_that_can_not_be_reached_fails_reads_and_writes_of_other_versions(
    converted: Api, webhook: ConversionWebhook
) -> None:
    converted.create(WIDGETS, v1("a", 1))
    watch = converted.watch(V2)
    assert watch.next()["type"] == "ADDED"
    webhook.close()
    answer = converted.call("POST", V2, v2("b", 1))
    assert answer.status == 500
    prefix = "conversion webhook for example.com/v2, Kind=Widget failed: Post "
    assert answer.body["message"].startswith(f'{prefix}"{webhook.url}/convert?timeout=30s": ')
    assert converted.call("GET", f"{WIDGETS}/b").status == 404
    converted.create(WIDGETS, v1("c", 1))
    failed = watch.next()
    assert (failed["type"], failed["object"]["code"]) == ("ERROR", 500)
    assert list(watch) == []


def test_definitions_are_deleted_without_their_webhook(
    converted: Api, webhook: ConversionWebhook
) -> None:
    converted.create(WIDGETS, v1("a", 1))
    watch = converted.watch(CRDS, fieldSelector="metadata.name=widgets.example.com")
    webhook.spoil = _response(result={"status": "Failure"})
    converted.delete(f"{CRDS}/widgets.example.com")
    assert any(event["type"] == "DELETED" for event in watch)
    watch.close()


def test_a_definition_that_is_deleted_is_served_as_it_is_changed(
    converted: Api, webhook: ConversionWebhook
) -> None:
    """A webhook that has gone no longer keeps the objects from being read, and deleted."""
    definition = f"{CRDS}/widgets.example.com"
    converted.create(WIDGETS, v1("a", 1, finalizers=["example.com/wait"]))
    watch = converted.watch(V2)
    webhook.spoil = _response(result={"status": "Failure"})
    converted.delete(definition)
    converted.patch(definition, {"spec": {"conversion": {"strategy": "None", "webhook": None}}})
    list(watch)  # it ends when what is served changes

    assert converted.call("GET", f"{V2}/a").status == 200
