"""Parts of answers that few clients read, as a real server has them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

ACCESS = "/apis/authorization.k8s.io/v1"
MERGE_OF_LISTS = "application/strategic-merge-patch+json"


@pytest.mark.parametrize(
    ("query", "ends"),
    [
        ({}, True),
        ({"resourceVersion": "0"}, True),
        ({"resourceVersionMatch": "NotOlderThan", "sendInitialEvents": "false"}, False),
    ],
)
def test_a_watch_from_the_beginning_says_when_it_has_sent_what_is_there(
    api: Api, query: dict[str, str], ends: bool
) -> None:
    watch = api.watch(CONFIGMAPS, allowWatchBookmarks="true", timeoutSeconds="0", **query)
    api.create(CONFIGMAPS, configmap("a"))

    event = watch.next()

    assert event["type"] == ("BOOKMARK" if ends else "ADDED")
    watch.close()


@pytest.mark.parametrize(
    ("method", "content_type", "accept", "details"),
    [
        ("PATCH", "text/plain", "application/json", {}),
        ("GET", "application/json", "text/plain", {}),
        ("GET", "application/json", "application/json;as=Bad;v=v1;g=meta.k8s.io", None),
        ("POST", "text/plain", "application/json", None),
    ],
)
def test_the_router_has_empty_details(
    api: Api, method: str, content_type: str, accept: str, details: Any
) -> None:
    path = f"{CONFIGMAPS}/a" if method == "PATCH" else CONFIGMAPS
    body = {} if method != "GET" else None
    answer = api.call(method, path, body, content_type, {"Accept": accept})

    assert answer.status in (406, 415)
    assert answer.body.get("details") == details


def test_a_strategic_patch_of_null_changes_nothing(api: Api) -> None:
    created = api.create(CONFIGMAPS, configmap("a"))

    answer = api.call("PATCH", f"{CONFIGMAPS}/a", b"null", MERGE_OF_LISTS)

    assert (answer.status, answer.body) == (200, created)


def test_a_review_has_owners_unless_it_answers_without_the_question(api: Api) -> None:
    access = {"spec": {"nonResourceAttributes": {"path": "/", "verb": "get"}}}
    rules = {"spec": {"namespace": "x"}}

    reviewed = api.create(f"{ACCESS}/selfsubjectaccessreviews", access)
    answered = api.create(f"{ACCESS}/selfsubjectrulesreviews", rules)

    [owner] = reviewed["metadata"]["managedFields"]
    assert owner["fieldsV1"].keys() == {"f:spec"}
    assert (answered["metadata"], answered["spec"]) == ({}, {})


def test_members_of_yaml_are_in_the_order_of_their_names(api: Api) -> None:
    answer = api.call(
        "GET", "/api/v1/namespaces/default", None, headers={"Accept": "application/yaml"}
    )

    names = [line.partition(":")[0] for line in answer.body.splitlines() if line[0] != " "]
    assert names == ["apiVersion", "kind", "metadata", "spec", "status"]


def test_the_second_version_of_openapi_has_no_defaults(api: Api) -> None:
    definitions = api.get("/openapi/v2")["definitions"]
    port = definitions["io.k8s.api.core.v1.ServicePort"]["properties"]["port"]

    assert port == {"format": "int32", "type": "integer"}


@pytest.mark.parametrize(("version", "status"), [("", 422), ("0", 422), ("1", 200)])
def test_a_watch_from_the_beginning_takes_no_continue_token(
    api: Api, version: str, status: int
) -> None:
    query = {"watch": "1", "continue": "x", "timeoutSeconds": "0", "resourceVersion": version}
    query = {name: value for name, value in query.items() if value}

    assert api.call("GET", CONFIGMAPS, **query).status == status


def test_an_invalid_review_has_no_kind(api: Api) -> None:
    answer = api.call("POST", f"{ACCESS}/subjectaccessreviews", {"spec": {"user": "u"}})

    assert answer.status == 422
    assert answer.body["details"].keys() == {"group", "causes"}


def test_the_scale_of_a_missing_object_is_not_found_whatever_is_applied(api: Api) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments/none/scale"
    body = {"apiVersion": "apps/v1", "kind": "X"}

    answer = api.call("PATCH", path, body, "application/apply-patch+yaml", fieldManager="m")

    assert answer.status == 404
