"""The options of lists and watches, checked in the order of a real API server."""

from __future__ import annotations

import pytest

from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    MERGE_PATCH,
    WIDGETS,
    Answer,
    Api,
    configmap,
    widget,
)

REQUIRED, FORBIDDEN, UNSUPPORTED = (
    "FieldValueRequired",
    "FieldValueForbidden",
    "FieldValueNotSupported",
)

SLICES = "/apis/resource.k8s.io/v1/resourceslices"


def causes(answer: Answer) -> list[str]:
    assert answer.status == 422, answer
    assert answer.body["details"]["kind"] == "ListOptions"
    return [cause["reason"] for cause in answer.body["details"]["causes"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"resourceVersionMatch": "Bogus"}, [FORBIDDEN, UNSUPPORTED]),
        ({"resourceVersionMatch": "Exact", "sendInitialEvents": "1"}, [FORBIDDEN, UNSUPPORTED]),
        ({"sendInitialEvents": "maybe", "resourceVersion": "-1"}, [FORBIDDEN]),
        (
            {"resourceVersionMatch": "Bogus", "continue": "x"},
            [FORBIDDEN, UNSUPPORTED, FORBIDDEN],
        ),
    ],
)
def test_a_watch_reports_every_combination_that_it_refuses(
    api: Api, query: dict[str, str], expected: list[str]
) -> None:
    assert causes(api.call("GET", CONFIGMAPS, watch="1", **query)) == expected


def test_a_list_reports_every_combination_that_it_refuses(api: Api) -> None:
    query = {"resourceVersionMatch": "Bogus", "continue": "x", "sendInitialEvents": "false"}

    assert causes(api.call("GET", CONFIGMAPS, **query)) == [
        FORBIDDEN,
        FORBIDDEN,
        UNSUPPORTED,
        FORBIDDEN,
    ]


def test_options_are_checked_before_the_fields_of_a_selector(api: Api) -> None:
    unknown = {"fieldSelector": "spec.x=1"}

    answer = api.call("GET", CONFIGMAPS, watch="1", resourceVersionMatch="Exact", **unknown)

    assert causes(answer) == [FORBIDDEN, UNSUPPORTED]
    assert api.call("GET", CONFIGMAPS, **unknown).status == 400


def names(answer: Answer) -> list[str]:
    return [item["metadata"]["name"] for item in answer.body["items"]]


def test_version_zero_has_no_pages(api: Api) -> None:
    for name in "abc":
        api.create(CONFIGMAPS, configmap(name))

    answer = api.call("GET", CONFIGMAPS, limit="2", resourceVersion="0")

    assert names(answer)[-3:] == ["a", "b", "c"]
    assert "continue" not in answer.body["metadata"]


def test_a_page_at_a_version_shows_the_state_of_that_version(widgets: Api) -> None:
    first = widgets.create(WIDGETS, widget("a"))
    second = widgets.create(WIDGETS, widget("b"))
    widgets.delete(f"{WIDGETS}/a")
    at = {"resourceVersion": second["metadata"]["resourceVersion"]}

    assert names(widgets.call("GET", WIDGETS, limit="1", **at)) == ["a"]
    assert names(widgets.call("GET", WIDGETS, **at)) == ["b"]  # not older than
    before = str(int(first["metadata"]["resourceVersion"]))
    page = widgets.call("GET", WIDGETS, limit="1", resourceVersion=before)
    assert page.body["metadata"]["resourceVersion"] == before


def test_deleting_a_collection_at_a_version_deletes_what_it_had_then(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a", labels={"x": "1"}))
    second = api.create(CONFIGMAPS, configmap("b", labels={"x": "1"}))
    api.create(CONFIGMAPS, configmap("c", labels={"x": "1"}))
    at = {"resourceVersion": second["metadata"]["resourceVersion"], "labelSelector": "x"}

    deleted = api.call("DELETE", CONFIGMAPS, {"gracePeriodSeconds": 0}, **at)

    assert names(deleted) == ["a", "b"]
    assert names(api.call("GET", CONFIGMAPS, labelSelector="x")) == ["c"]


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
def test_an_empty_number_is_refused(api: Api, name: str) -> None:
    assert api.call("GET", CONFIGMAPS, **{name: ""}).status == 400


def test_the_query_of_a_deletion_is_read_as_it_is_given(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    path = f"{CONFIGMAPS}/a"

    for query, status in (
        ({"propagationPolicy": ""}, 422),
        ({"gracePeriodSeconds": ""}, 400),
        ({"uid": "other"}, 409),
        ({"uid": "", "resourceVersion": ""}, 200),
    ):
        assert api.call("DELETE", path, **query).status == status, query


def test_an_empty_propagation_policy_is_refused(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    assert api.call("DELETE", f"{CONFIGMAPS}/a", {"propagationPolicy": ""}).status == 422
    assert api.call("PATCH", f"{CONFIGMAPS}/a", {"data": {}}, MERGE_PATCH).status == 200


@pytest.mark.parametrize(
    ("path", "field", "status"),
    [
        ("/api/v1/pods", "spec.host=n", 200),
        ("/api/v1/pods", "status.podIPs=10.0.0.1", 200),
        ("/api/v1/persistentvolumes", "metadata.namespace=default", 200),
        ("/api/v1/nodes", "metadata.namespace=default", 400),
        ("/api/v1/namespaces", "metadata.namespace=default", 400),
        (
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            "metadata.namespace=default",
            400,
        ),
        (WIDGETS, "metadata.namespace=default", 200),
        (SLICES, "metadata.namespace=default", 400),
        (SLICES, "spec.pool.name=p", 400),
    ],
)
def test_a_field_selector_names_fields_of_the_kind(
    widgets: Api, path: str, field: str, status: int
) -> None:
    assert widgets.call("GET", path, fieldSelector=field).status == status


def test_slices_are_selected_by_driver_and_node(api: Api) -> None:
    for name, driver, node in (("a", "x.io", "n1"), ("b", "x.io", "n2"), ("c", "y.io", "n1")):
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        spec = {"driver": driver, "nodeName": node, "pool": pool}
        api.create(SLICES, {"metadata": {"name": name}, "spec": spec})

    def selected(selector: str) -> list[str]:
        items = api.get(SLICES, fieldSelector=selector)["items"]
        return [item["metadata"]["name"] for item in items]

    assert selected("spec.driver=x.io") == ["a", "b"]
    assert selected("spec.driver=x.io,spec.nodeName!=n1") == ["b"]


@pytest.mark.parametrize(
    "selector", [{"labelSelector": "a==b==c"}, {"fieldSelector": "spec.size=1"}, {"limit": "x"}]
)
def test_the_selection_of_a_deletion_is_read_before_its_options(
    api: Api, selector: dict[str, str]
) -> None:
    assert api.call("DELETE", CONFIGMAPS, propagationPolicy="Bogus").status == 422

    assert api.call("DELETE", CONFIGMAPS, propagationPolicy="Bogus", **selector).status == 400
