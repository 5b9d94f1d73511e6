"""Custom resources whose body names another version, or none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    MERGE_PATCH,
    WIDGETS,
    Answer,
    Api,
    configmap,
    widget,
    widget_crd,
)

NO_VERSION = "Object 'apiVersion' is missing in 'object has no apiVersion field'"


def warned(answer: Answer) -> list[str]:
    """Return the unknown fields that an answer warns of."""
    return [text.split('\\"')[1] for text in answer.warnings if "unknown field" in text]


@pytest.mark.parametrize(
    ("api_version", "pruned"),
    [
        ("example.com/v9", ["spec"]),
        ("example.com/", ["spec"]),
        ("example.org/v1", []),
        ("v1", []),
        ("/", []),
        (None, []),
    ],
)
def test_a_version_that_the_definition_does_not_have_has_no_fields(
    widgets: Api, api_version: str | None, pruned: list[str]
) -> None:
    body = widget("a") | {"apiVersion": api_version, "metadata": {"name": "a"}}
    if api_version is None:
        del body["apiVersion"]

    answer = widgets.call("POST", WIDGETS, body)

    assert (answer.status, warned(answer)) == (400, pruned)
    assert "does not match the expected API version" in answer.body["message"]
    strict = widgets.call("POST", WIDGETS, body, fieldValidation="Strict")
    assert strict.status == 400
    assert ("strict decoding error" in strict.body["message"]) == bool(pruned)


def test_an_object_of_another_kind_is_not_pruned(widgets: Api) -> None:
    body = widget("a") | {"kind": "Gadget", "more": 1}

    answer = widgets.call("POST", WIDGETS, body)

    assert (answer.status, answer.warnings) == (422, ())


@pytest.mark.parametrize(
    ("api_version", "status", "pruned"),
    [
        ("example.com/v9", 422, ["spec"]),
        ("example.org/v1", 422, []),
        ("a/b/c", 422, []),
        (None, 500, []),
        ("", 500, []),
        ("/", 500, []),
        ("example.com/", 500, ["spec"]),
    ],
)
def test_a_patch_of_the_version_is_refused(
    widgets: Api, api_version: str | None, status: int, pruned: list[str]
) -> None:
    widgets.create(WIDGETS, widget("a"))

    answer = widgets.call("PATCH", f"{WIDGETS}/a", {"apiVersion": api_version}, MERGE_PATCH)

    assert (answer.status, warned(answer)) == (status, pruned)
    assert (NO_VERSION in answer.body["message"]) == (status == 500)


def test_a_write_to_the_status_in_an_unknown_version_removes_the_status(widgets: Api) -> None:
    widgets.create(WIDGETS, widget("a"))
    status = f"{WIDGETS}/a/status"
    widgets.patch(status, {"status": {"ready": True}})

    after = widgets.patch(status, {"apiVersion": "example.com/v9", "status": {"ready": False}})

    assert (after["apiVersion"], after["spec"]) == ("example.com/v1", {"size": 1})
    assert "status" not in after


@pytest.mark.parametrize("api_version", [None, "", "/"])
def test_a_built_in_kind_without_a_version_has_neither_fields_nor_a_name(
    api: Api, api_version: str | None
) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    path = f"{CONFIGMAPS}/a"

    answer = api.call("PATCH", path, {"apiVersion": api_version}, MERGE_PATCH)
    assert (answer.status, sorted(warned(answer))) == (400, ["data", "metadata"])
    assert "name must be provided" in answer.body["message"]
    strict = {"fieldValidation": "Strict"}
    answer = api.call("PATCH", path, {"apiVersion": api_version}, MERGE_PATCH, **strict)
    assert (answer.status, answer.warnings) == (422, ())
    both: dict[str, Any] = {"apiVersion": api_version, "kind": "Secret"}
    assert api.call("PATCH", path, both, MERGE_PATCH).status == 422


def test_an_empty_struct_of_a_definition_has_no_fields(api: Api) -> None:
    crd = widget_crd()
    crd["spec"]["versions"][0]["subresources"]["status"] = {"x": {"y": 1}}

    answer = api.call("POST", CRDS, crd)

    assert (answer.status, warned(answer)) == (201, ["spec.versions[0].subresources.status.x"])
    assert answer.body["spec"]["versions"][0]["subresources"] == {"status": {}}


def test_each_version_shows_the_hash_of_the_stored_one(api: Api) -> None:
    crd = widget_crd()
    [first] = crd["spec"]["versions"]
    crd["spec"]["versions"] = [first | {"storage": False}, first | {"name": "v2"}]
    api.create(CRDS, crd)

    shown = [api.get(f"/apis/example.com/{version}")["resources"][0] for version in ("v1", "v2")]

    assert [item.get("storageVersionHash") for item in shown] == ["zRcoV5EeA3s="] * 2

    unserved = [crd["spec"]["versions"][0], first | {"name": "v2", "served": False}]
    api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": unserved}})

    assert "storageVersionHash" not in api.get("/apis/example.com/v1")["resources"][0]
