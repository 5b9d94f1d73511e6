"""Creating, updating and deleting: conflicts, finalizers, generation."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from tests.apiserver.http_api import CONFIGMAPS, WIDGETS, Api, configmap, widget


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
