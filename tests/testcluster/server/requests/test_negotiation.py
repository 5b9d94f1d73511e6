"""The form of a response follows from the Accept header, as on a real API server."""

from __future__ import annotations

import pytest
import urllib3

from tests.testcluster.server.http_api import CONFIGMAPS, WIDGETS, Answer, Api, configmap, widget

PODS = "/api/v1/namespaces/default/pods"


def accept(form: str, version: str = "v1") -> dict[str, str]:
    return {"Accept": f"application/json;as={form};v={version};g=meta.k8s.io"}


def get(api: Api, path: str, header: str, **query: str) -> Answer:
    return api.call("GET", path, headers={"Accept": header}, **query)


def test_metadata_of_a_list_is_another_form_than_metadata_of_an_object(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    listed = api.call("GET", CONFIGMAPS, headers=accept("PartialObjectMetadataList"))
    one = api.call("GET", f"{CONFIGMAPS}/a", headers=accept("PartialObjectMetadata"))

    assert listed.body["kind"] == "PartialObjectMetadataList"
    assert listed.body["items"][0]["kind"] == "PartialObjectMetadata"
    assert one.body["kind"] == "PartialObjectMetadata"
    for path, form in (
        (CONFIGMAPS, "PartialObjectMetadata"),
        (f"{CONFIGMAPS}/a", "PartialObjectMetadataList"),
    ):
        assert api.call("GET", path, headers=accept(form)).status == 406


def test_a_table_has_the_version_that_is_asked_for(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    table = api.call("GET", CONFIGMAPS, headers=accept("Table", "v1beta1")).body

    assert table["apiVersion"] == "meta.k8s.io/v1beta1"
    assert table["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"
    assert api.call("GET", CONFIGMAPS, headers=accept("Table", "v2")).status == 406


@pytest.mark.parametrize(
    "header", ["application/json;q=0", "text/html,application/json;q=0.1", "text/plain,*/*;q=0.1"]
)
def test_a_low_quality_is_no_refusal(api: Api, header: str) -> None:
    assert get(api, CONFIGMAPS, header).status == 200


@pytest.mark.parametrize("header", ["garbage", "APPLICATION/JSON", "text/html"])
def test_what_is_not_served_is_not_acceptable(api: Api, header: str) -> None:
    for path in (CONFIGMAPS, "/apis", "/api/v1", "/apis/apps"):
        assert get(api, path, header).body["reason"] == "NotAcceptable", path


def test_only_custom_resources_know_any_type_of_application(widgets: Api) -> None:
    assert get(widgets, WIDGETS, "application/*").status == 200
    assert get(widgets, CONFIGMAPS, "application/*").status == 406
    assert get(widgets, CONFIGMAPS, "application/*,application/json").status == 200


def test_a_watch_is_never_in_yaml(api: Api) -> None:
    watched = get(api, CONFIGMAPS, "application/yaml", watch="1")

    assert watched.status == 406
    assert get(api, CONFIGMAPS, "application/yaml").headers["content-type"] == "application/yaml"


def test_a_write_that_can_not_be_shown_is_done(widgets: Api) -> None:
    created = widgets.call(
        "POST", CONFIGMAPS, configmap("a"), headers=accept("PartialObjectMetadataList")
    )
    custom = widgets.call("POST", WIDGETS, widget("a"), headers=accept("PartialObjectMetadataList"))

    assert (created.status, custom.status) == (406, 500)
    assert widgets.call("GET", f"{CONFIGMAPS}/a").status == 200
    assert widgets.call("GET", f"{WIDGETS}/a").status == 200


def test_aggregated_discovery_is_answered_wherever_it_is_accepted(api: Api) -> None:
    aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

    last = get(api, "/apis", f"application/json,{aggregated}")
    other = get(api, "/apis", "application/json;as=Bogus;v=v2;g=apidiscovery.k8s.io")

    assert last.body["kind"] == "APIGroupDiscoveryList"
    assert other.status == 406


def test_the_row_of_a_finished_pod_says_so(api: Api) -> None:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    api.create(PODS, {"metadata": {"name": "a"}, "spec": spec})
    for phase, message in (
        ("Succeeded", "The pod has completed successfully."),
        ("Failed", "The pod failed."),
    ):
        api.patch(f"{PODS}/a/status", {"status": {"phase": phase}})
        row = api.call("GET", f"{PODS}/a", headers=accept("Table")).body["rows"][0]
        assert row["conditions"] == [
            {"type": "Completed", "status": "True", "reason": phase, "message": message}
        ]


def test_failures_and_statuses_have_the_media_type_that_is_accepted(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    yaml = {"Accept": "application/yaml"}

    missing = api.call("GET", f"{CONFIGMAPS}/b", headers=yaml)
    deleted = api.call("DELETE", f"{CONFIGMAPS}/a", headers=yaml)
    table = get(api, f"{CONFIGMAPS}/b", "application/json;as=Table;v=v1;g=meta.k8s.io")

    assert (missing.status, missing.headers["content-type"]) == (404, "application/yaml")
    assert "reason: NotFound" in missing.body
    assert "status: Success" in deleted.body
    assert (table.status, table.body["kind"]) == (404, "Status")


def test_metadata_is_in_protobuf_if_the_client_prefers_that(api: Api) -> None:
    """As Go's metadata client does, which compares objects of lists with single ones."""
    api.create(CONFIGMAPS, configmap("a"))
    for path, form in (
        (CONFIGMAPS, "PartialObjectMetadataList"),
        (f"{CONFIGMAPS}/a", "PartialObjectMetadata"),
    ):
        asked = f"as={form};g=meta.k8s.io;v=v1"
        types = [f"application/vnd.kubernetes.protobuf;{asked}", f"application/json;{asked}"]
        answers = [
            urllib3.request("GET", api.url + path, headers={"Accept": ",".join(order)})
            for order in (types, types[::-1])
        ]

        assert [answer.headers["content-type"] for answer in answers] == [
            "application/vnd.kubernetes.protobuf",
            "application/json",
        ]
        assert answers[0].data.startswith(b"k8s\0")
        assert form.encode() in answers[0].data
