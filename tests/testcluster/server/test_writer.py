"""Creating, updating and deleting: conflicts, finalizers, generation."""

from __future__ import annotations

import random
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from clientgo.testcluster.server.objects import metadata as object_meta
from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    MERGE_PATCH,
    WIDGETS,
    Api,
    configmap,
    widget,
)


def test_of_two_updates_from_one_version_one_is_refused(api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a"))

    with ThreadPoolExecutor(2) as threads:
        answers = list(
            threads.map(
                lambda value: api.call("PUT", f"{CONFIGMAPS}/a", created | {"data": {"k": value}}),
                ["one", "two"],
            )
        )

    assert sorted(answer.status for answer in answers) == [200, 409]


def test_concurrent_patches_lose_nothing(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    with ThreadPoolExecutor(6) as threads:
        list(
            threads.map(
                lambda n: api.patch(f"{CONFIGMAPS}/a", {"data": {f"key-{n}": "x"}}), range(60)
            )
        )

    assert len(api.get(f"{CONFIGMAPS}/a")["data"]) == 61


def test_a_write_that_changes_nothing_keeps_the_version(api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a"))

    again = api.patch(f"{CONFIGMAPS}/a", {"data": {"k": "v"}})

    assert again["metadata"]["resourceVersion"] == created["metadata"]["resourceVersion"]


def test_the_status_is_written_through_its_subresource_only(widgets: Api) -> None:
    widgets.create(WIDGETS, widget("a") | {"status": {"ready": True}})
    assert "status" not in widgets.get(f"{WIDGETS}/a")

    widgets.patch(f"{WIDGETS}/a/status", {"status": {"ready": True}, "spec": {"size": 9}})

    stored = widgets.get(f"{WIDGETS}/a")
    assert (stored["spec"], stored["status"]) == ({"size": 1}, {"ready": True})
    assert stored["metadata"]["generation"] == 1


def test_finalizers_hold_an_object_until_the_last_is_gone(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a", finalizers=["example.com/f"]))

    api.delete(f"{CONFIGMAPS}/a")

    assert "deletionTimestamp" in api.get(f"{CONFIGMAPS}/a")["metadata"]
    api.patch(f"{CONFIGMAPS}/a", {"metadata": {"finalizers": None}})
    assert api.call("GET", f"{CONFIGMAPS}/a").status == 404


def test_many_objects_of_one_shape_have_each_their_own_field_owners(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    api.create(CONFIGMAPS, {"metadata": {"name": "b"}, "data": {"other": "v"}})
    api.create(CONFIGMAPS, configmap("c"))

    owned = [
        item["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]
        for item in api.get(CONFIGMAPS)["items"]
    ]

    assert [sorted(fields) for fields in owned] == [[".", "f:k"], [".", "f:other"], [".", "f:k"]]


def test_the_items_of_sets_and_keyed_lists_have_owners_and_those_of_other_lists_have_none(
    api: Api,
) -> None:
    path = CONFIGMAPS.replace("configmaps", "pods")
    for name in ("a", "b"):
        container = {"name": f"c-{name}", "image": "i", "args": [name]}
        metadata = {"name": name, "finalizers": [f"example.com/{name}"]}
        api.create(path, {"metadata": metadata, "spec": {"containers": [container]}})

        fields = api.get(f"{path}/{name}")["metadata"]["managedFields"][0]["fieldsV1"]

        assert f'v:"example.com/{name}"' in fields["f:metadata"]["f:finalizers"]
        [(key, owned)] = fields["f:spec"]["f:containers"].items()
        assert key == f'k:{{"name":"c-{name}"}}'
        assert owned["f:args"] == {}


def test_a_body_beyond_the_limit_is_refused(api: Api) -> None:
    body = configmap("a") | {"data": {"k": "x" * (3 * 1024 * 1024)}}

    answer = api.call("POST", CONFIGMAPS, body)

    assert (answer.status, answer.body["reason"]) == (413, "RequestEntityTooLarge")


def test_a_required_list_may_be_empty_where_upstream_wants_nothing_in_it(api: Api) -> None:
    limits = "/api/v1/namespaces/default/limitranges"
    limit_range = {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "a"}}

    created = api.create(limits, limit_range | {"spec": {"limits": []}})

    assert created["spec"] == {"limits": []}


def test_a_required_list_must_hold_something_elsewhere(api: Api) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}

    answer = api.call("POST", "/api/v1/namespaces/default/pods", pod | {"spec": {"containers": []}})

    assert answer.status == 422
    assert [cause["field"] for cause in answer.body["details"]["causes"]] == ["spec.containers"]


def test_a_name_beside_a_generate_name_is_not_replaced(api: Api) -> None:
    generated = api.create(CONFIGMAPS, configmap("", generateName="pre-"))
    copied = {key: generated["metadata"][key] for key in ("name", "generateName")}

    answer = api.call("POST", CONFIGMAPS, {"metadata": copied})

    assert (answer.status, answer.body["reason"]) == (409, "AlreadyExists")
    assert answer.body["details"]["retryAfterSeconds"] == 1
    assert len(api.get(CONFIGMAPS)["items"]) == 1


def test_a_generated_name_that_is_taken_is_generated_again(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["pre-a", "pre-a", "pre-b"])
    monkeypatch.setattr(object_meta, "generate_name", lambda prefix: next(names))

    created = [api.create(CONFIGMAPS, configmap("", generateName="pre-")) for _ in range(2)]

    assert [item["metadata"]["name"] for item in created] == ["pre-a", "pre-b"]


def test_a_seed_of_the_program_does_not_repeat_a_uid() -> None:
    uids = []
    for _ in range(2):
        random.seed(1)
        uids += [object_meta.new_uid() for _ in range(50)]

    assert len(set(uids)) == 100
    assert all(str(uuid.UUID(uid)) == uid for uid in uids)
    kinds = {(uuid.UUID(uid).version, uuid.UUID(uid).variant) for uid in uids}
    assert kinds == {(4, uuid.RFC_4122)}


@pytest.mark.parametrize("version", ["0", "x", "-1"])
def test_a_version_of_a_new_object_that_names_no_state_is_dropped(api: Api, version: str) -> None:
    created = api.create(CONFIGMAPS, configmap("a", resourceVersion=version))

    assert int(created["metadata"]["resourceVersion"]) > 0


def test_a_new_object_must_not_name_a_state(api: Api) -> None:
    answer = api.call("POST", CONFIGMAPS, configmap("a", resourceVersion="5"))

    assert answer.status == 500
    assert answer.body["message"] == "resourceVersion should not be set on objects to be created"


def test_errors_of_a_new_object_come_before_its_version(api: Api) -> None:
    body = configmap("a", resourceVersion="5", labels={"k": "not a label value"})

    assert api.call("POST", CONFIGMAPS, body).status == 422


PODS = "/api/v1/namespaces/default/pods"


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "i"}]}}


STORAGE = "/apis/storage.k8s.io/v1"
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "resources": {"requests": {"storage": "1Gi"}},
}
RESOURCE = "/apis/resource.k8s.io/v1"
SLICE = {
    "driver": "d.example.com",
    "nodeName": "n",
    "pool": {"name": "p", "generation": 1, "resourceSliceCount": 1},
}
ATTACHMENT = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
VOLUME = {
    "accessModes": ["ReadWriteOnce"],
    "capacity": {"storage": "1Gi"},
    "hostPath": {"path": "/a"},
}


@pytest.mark.parametrize(
    ("path", "content", "answered"),
    [
        (PODS, {"spec": pod("a")["spec"]}, "Pod"),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            {"spec": CLAIM},
            "PersistentVolumeClaim",
        ),
        ("/api/v1/persistentvolumes", {"spec": VOLUME}, "PersistentVolume"),
        ("/api/v1/namespaces/default/resourcequotas", {"spec": {}}, "ResourceQuota"),
        ("/api/v1/namespaces/default/serviceaccounts", {}, "ServiceAccount"),
        (f"{STORAGE}/storageclasses", {"provisioner": "p"}, "StorageClass"),
        (f"{STORAGE}/csidrivers", {"spec": {}}, "CSIDriver"),
        (f"{STORAGE}/volumeattachments", {"spec": ATTACHMENT}, "VolumeAttachment"),
        (f"{RESOURCE}/deviceclasses", {"spec": {}}, "DeviceClass"),
        (f"{RESOURCE}/resourceslices", {"spec": SLICE}, "ResourceSlice"),
        (f"{RESOURCE}/namespaces/default/resourceclaims", {"spec": {}}, "ResourceClaim"),
        (
            f"{RESOURCE}/namespaces/default/resourceclaimtemplates",
            {"spec": {"spec": {}}},
            "ResourceClaimTemplate",
        ),
        (CONFIGMAPS, {}, "Status"),
        ("/api/v1/namespaces/default/secrets", {}, "Status"),
        ("/api/v1/namespaces/default/limitranges", {"spec": {"limits": []}}, "Status"),
    ],
)
def test_a_deletion_answers_the_object_or_a_status_by_its_kind(
    api: Api, path: str, content: dict[str, Any], answered: str
) -> None:
    api.create(path, {"metadata": {"name": "a"}} | content)

    answer = api.delete(f"{path}/a", {"gracePeriodSeconds": 0})

    assert answer["kind"] == answered


def test_a_pod_is_marked_as_deleted_before_it_goes(api: Api) -> None:
    created = api.create(PODS, pod("a"))
    watch = api.watch(PODS, resourceVersion=created["metadata"]["resourceVersion"])

    answer = api.delete(f"{PODS}/a")

    events = [watch.next(), watch.next()]
    watch.close()
    assert [event["type"] for event in events] == ["MODIFIED", "DELETED"]
    assert answer == events[1]["object"]
    for event in events:
        metadata = event["object"]["metadata"]
        assert metadata["deletionGracePeriodSeconds"] == 0
        assert "deletionTimestamp" in metadata


@pytest.mark.parametrize(
    ("field", "value"),
    [("deletionTimestamp", "2020-01-01T00:00:00Z"), ("deletionGracePeriodSeconds", 3)],
)
def test_an_update_deletes_no_object(api: Api, field: str, value: Any) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    change = {"metadata": {field: value}}

    answer = api.call("PATCH", f"{CONFIGMAPS}/a", change, MERGE_PATCH)

    cause = answer.body["details"]["causes"][0]
    assert (answer.status, cause["field"]) == (422, f"metadata.{field}")
    assert cause["message"].endswith("field is immutable")


def test_a_status_of_a_pod_begins_no_deletion(api: Api) -> None:
    api.create(PODS, pod("a"))

    change = {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}

    assert "deletionTimestamp" not in api.patch(f"{PODS}/a/status", change)["metadata"]


def test_a_dry_run_of_a_deletion_marks_no_pod(api: Api) -> None:
    api.create(PODS, pod("a"))

    answer = api.call("DELETE", f"{PODS}/a", dryRun="All")

    assert "deletionTimestamp" in answer.body["metadata"]
    assert "deletionTimestamp" not in api.get(f"{PODS}/a")["metadata"]


def test_an_object_without_a_grace_period_is_not_marked_before_it_goes(api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a"))
    watch = api.watch(CONFIGMAPS, resourceVersion=created["metadata"]["resourceVersion"])

    api.delete(f"{CONFIGMAPS}/a")

    assert watch.next()["type"] == "DELETED"
    watch.close()


OWNER = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}


@pytest.mark.parametrize(
    ("reference", "fields"),
    [
        (None, ["apiVersion", "kind", "name", "uid"]),
        ({}, ["apiVersion", "kind", "name", "uid"]),
        (OWNER | {"uid": ""}, ["uid"]),
        (OWNER | {"uid": None}, ["uid"]),
        (OWNER | {"apiVersion": "a/b/c"}, ["apiVersion"]),
        (OWNER | {"apiVersion": "example.com/"}, ["apiVersion"]),
        (OWNER | {"kind": "Event"}, [""]),
        (OWNER | {"kind": "Event", "apiVersion": "events.k8s.io/v1"}, []),
        (OWNER | {"apiVersion": "example.com/v1"}, []),
    ],
)
def test_an_owner_reference_names_an_object_that_may_own(
    api: Api, reference: Any, fields: list[str]
) -> None:
    answer = api.call("POST", CONFIGMAPS, configmap("a", ownerReferences=[reference]))

    causes = answer.body.get("details", {}).get("causes", [])
    prefix = "metadata.ownerReferences"
    found = [cause["field"].removeprefix(prefix).removeprefix(".") for cause in causes]
    assert (answer.status, found) == (422 if fields else 201, fields)


def test_an_unknown_field_of_an_owner_reference_is_a_warning(api: Api) -> None:
    body = configmap("a", ownerReferences=[OWNER, OWNER | {"uid": "v", "bogus": 1}])

    answer = api.call("POST", CONFIGMAPS, body)

    warning = '299 - "unknown field \\"metadata.ownerReferences[1].bogus\\""'
    assert (answer.status, answer.warnings) == (201, (warning,))


@pytest.mark.parametrize(("method", "when"), [("PUT", ""), ("PATCH", " after mutating admission")])
def test_an_owner_reference_that_occurs_twice_is_stored_once(
    api: Api, method: str, when: str
) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    same_uid = OWNER | {"name": "p"}
    body = configmap("a", ownerReferences=[OWNER, same_uid, OWNER])
    content_type = MERGE_PATCH if method == "PATCH" else "application/json"

    answer = api.call(method, f"{CONFIGMAPS}/a", body, content_type)

    assert answer.body["metadata"]["ownerReferences"] == [OWNER, same_uid]
    [warning] = answer.warnings
    assert f"contains duplicate entries{when}" in warning
    assert "duplicate UID(s) observed: u" in warning
