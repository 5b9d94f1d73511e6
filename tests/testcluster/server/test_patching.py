"""Patches that are larger than they look."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.fuzz.errors import REAL_SERVER_ERRORS
from tests.testcluster.server.http_api import CONFIGMAPS, Api, configmap

JSON_PATCH = "application/json-patch+json"


@pytest.fixture
def target(api: Api) -> str:
    api.create(CONFIGMAPS, configmap("a"))
    return f"{CONFIGMAPS}/a"


def test_copies_of_copies_are_refused_before_they_fill_the_memory(api: Api, target: str) -> None:
    doubled = [{"op": "copy", "from": "/data", "path": f"/data/{step}"} for step in range(60)]

    answer = api.call("PATCH", target, doubled, JSON_PATCH)

    assert (answer.status, answer.body["reason"]) == (422, "Invalid")


def test_too_many_operations_are_refused(api: Api, target: str) -> None:
    operation = {"op": "add", "path": "/data/k", "value": "v"}

    within = api.call("PATCH", target, [operation] * 10_000, JSON_PATCH)
    beyond = api.call("PATCH", target, [operation] * 10_001, JSON_PATCH)

    assert within.status == 200
    assert (beyond.status, beyond.body["reason"]) == (413, "RequestEntityTooLarge")


@pytest.mark.parametrize("value", [{}, [], 0, False, "Secret"])
@pytest.mark.parametrize("field", ["apiVersion", "kind"])
def test_a_patch_may_not_make_another_kind(api: Api, target: str, field: str, value: Any) -> None:
    operation = {"op": "replace", "path": f"/{field}", "value": value}

    answer = api.call("PATCH", target, [operation], JSON_PATCH)

    [cause] = answer.body["details"]["causes"]
    assert (answer.status, cause["field"]) == (422, "patch")


@pytest.mark.parametrize(
    ("patch", "status"),
    [
        ({"secrets": [{"name": "a", "$patch": "merge"}]}, 500),
        ({"secrets": [{"name": "a"}], "$setElementOrder/secrets": [{"name": "b"}]}, 500),
        ({"secrets": [{"name": "a"}], "$setElementOrder/secrets": ["a"]}, 500),
        ({"secrets": [{"name": "a"}], "$setElementOrder/secrets": "a"}, 500),
        ({"secrets": [{"name": "a"}], "$retainKeys": "a"}, 400),
        ({"metadata": {"finalizers": [["a"]]}}, 422),
    ],
)
def test_only_known_mistakes_of_strategic_patches_blame_the_client(
    api: Api, patch: Any, status: int
) -> None:
    path = "/api/v1/namespaces/default/serviceaccounts"
    api.create(path, {"metadata": {"name": "a", "finalizers": []}, "secrets": [{"name": "z"}]})

    answer = api.call("PATCH", f"{path}/a", patch, "application/strategic-merge-patch+json")

    assert answer.status == status, answer.body
    if status == 500:
        assert REAL_SERVER_ERRORS.search(answer.body["message"])
