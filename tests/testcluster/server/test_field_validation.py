"""Unknown and duplicate fields: the client is warned, also if the request fails."""

from __future__ import annotations

from typing import Any

import pytest

from tests.testcluster.server.http_api import (
    CONFIGMAPS,
    CRDS,
    WIDGETS,
    Api,
    configmap,
    widget,
    widget_crd,
)

UNKNOWN = ('299 - "unknown field \\"bogus\\""',)
MERGE_PATCH = "application/merge-patch+json"


def with_unknown_field(name: str, **metadata: Any) -> dict[str, Any]:
    header = {"apiVersion": "v1", "kind": "ConfigMap"}
    return header | configmap(name, **metadata) | {"bogus": 1}


def test_an_accepted_write_warns_of_an_unknown_field(api: Api) -> None:
    answer = api.call("POST", CONFIGMAPS, with_unknown_field("a"))

    assert (answer.status, answer.warnings) == (201, UNKNOWN)


def test_a_create_that_conflicts_warns_of_an_unknown_field(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    answer = api.call("POST", CONFIGMAPS, with_unknown_field("a"))

    assert (answer.status, answer.warnings) == (409, UNKNOWN)


@pytest.mark.parametrize(
    ("method", "content_type"),
    [("PUT", "application/json"), ("PATCH", MERGE_PATCH)],
)
def test_an_invalid_change_warns_of_an_unknown_field(
    api: Api, method: str, content_type: str
) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    body = with_unknown_field("a", labels={"k": "not a label value"})

    answer = api.call(method, f"{CONFIGMAPS}/a", body, content_type)

    assert (answer.status, answer.warnings) == (422, UNKNOWN)


def test_an_invalid_custom_resource_warns_of_an_unknown_field(widgets: Api) -> None:
    body = widget("a") | {"spec": {"size": "text"}, "bogus": 1}

    answer = widgets.call("POST", WIDGETS, body)

    assert (answer.status, answer.warnings) == (422, UNKNOWN)


def test_strict_validation_refuses_instead_of_warning(api: Api) -> None:
    answer = api.call("POST", CONFIGMAPS, with_unknown_field("a"), fieldValidation="Strict")

    assert (answer.status, answer.warnings) == (400, ())


def test_ignored_fields_are_no_warning_of_a_refused_request(api: Api) -> None:
    api.create(CONFIGMAPS, configmap("a"))

    answer = api.call("POST", CONFIGMAPS, with_unknown_field("a"), fieldValidation="Ignore")

    assert (answer.status, answer.warnings) == (409, ())


def test_a_deprecated_version_is_a_warning_of_a_refused_request(widgets: Api) -> None:
    version = {**widget_crd()["spec"]["versions"][0], "deprecated": True}
    change = {"spec": {"versions": [version | {"deprecationWarning": "use v2"}]}}
    widgets.patch(f"{CRDS}/widgets.example.com", change)

    answer = widgets.call("GET", f"{WIDGETS}/missing")

    assert (answer.status, answer.warnings) == (404, ('299 - "use v2"',))


@pytest.mark.parametrize(("length", "status"), [(128, 201), (129, 422)])
def test_a_field_manager_has_at_most_128_bytes(api: Api, length: int, status: int) -> None:
    answer = api.call("POST", CONFIGMAPS, configmap("a"), fieldManager="m" * length)

    assert answer.status == status
    if status == 422:
        [cause] = answer.body["details"]["causes"]
        assert (cause["field"], cause["reason"]) == ("fieldManager", "FieldValueTooLong")


@pytest.mark.parametrize(
    ("dry_run", "status"), [(["All"], 200), (["All", "All"], 200), (["All", "None"], 422)]
)
def test_a_dry_run_may_be_asked_for_twice(api: Api, dry_run: list[str], status: int) -> None:
    api.create(CONFIGMAPS, configmap("a"))
    query = "&".join(f"dryRun={value}" for value in dry_run)

    deleted = api.call("DELETE", f"{CONFIGMAPS}/a", {"dryRun": dry_run})
    updated = api.call("PUT", f"{CONFIGMAPS}/a?{query}", configmap("a"))

    assert (deleted.status, updated.status) == (status, status)
    assert api.get(f"{CONFIGMAPS}/a")


@pytest.mark.parametrize(
    ("text", "status"), [("eA==", 201), ("eA\n==\r\n", 201), ("é", 400), ("x", 400)]
)
def test_base64_may_have_line_breaks_and_nothing_else_that_is_foreign(
    api: Api, text: str, status: int
) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": {"k": text}}

    assert api.call("POST", "/api/v1/namespaces/default/secrets", secret).status == status


def test_a_backend_outside_of_a_list_is_refused_by_its_own_path(api: Api) -> None:
    port = {"name": "web", "number": 80}
    ingress = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "i"},
        "spec": {"defaultBackend": {"service": {"name": "s", "port": port}}},
    }

    answer = api.call("POST", "/apis/networking.k8s.io/v1/namespaces/default/ingresses", ingress)

    assert answer.status == 422
    [cause] = answer.body["details"]["causes"]
    assert cause["field"].startswith("spec.defaultBackend")


@pytest.mark.parametrize("value", [[], {}, True, 1.5, 2**31])
def test_a_number_or_text_is_nothing_else(api: Api, value: object) -> None:
    """Found by random requests: a list was compared with a number."""
    spec = {"selector": {"matchLabels": {"a": "b"}}, "minAvailable": value}
    budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

    answer = api.call("POST", budgets, {"metadata": {"name": "a"}, "spec": spec})

    assert (answer.status, answer.body["reason"]) == (400, "BadRequest")


def test_a_volume_of_two_sources_is_refused(api: Api) -> None:
    """Found by random requests: a rule about a text was taken for one about its field."""
    spec = {
        "accessModes": ["ReadWriteOncePod"],
        "flocker": {"datasetName": "a", "datasetUUID": "b"},
        "scaleIO": {"gateway": "g", "secretRef": {"name": "s"}, "system": "x"},
        "storageClassName": "Deployment",
        "volumeAttributesClassName": "9" * 30,
    }

    answer = api.call(
        "POST", "/api/v1/persistentvolumes", {"metadata": {"name": "a"}, "spec": spec}
    )

    assert (answer.status, answer.body["reason"]) == (422, "Invalid")
