"""Errors of custom resources beyond those of their schema."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta.validation.field_errors import FieldErrorReason
from clientgo.testcluster.server.crds.custom_resources import CustomStrategy, resources_of
from clientgo.testcluster.server.resources.resource import ReadAgain
from tests.testcluster.server.http_api import CRDS, MERGE_PATCH, WIDGETS, Api, widget, widget_crd


def causes(metadata: Any) -> list[tuple[str, FieldErrorReason]]:
    """Fields and reasons when a resource holds another with this metadata."""
    template = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    spec = {"type": "object", "properties": {"templates": {"type": "array", "items": template}}}
    schema = {"type": "object", "properties": {"spec": spec}}
    strategy = CustomStrategy({"name": "v1", "schema": {"openAPIV3Schema": schema}}, {})
    embedded = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    found = strategy.validate({"spec": {"templates": [embedded]}})
    return [(cause.field.removeprefix("spec.templates[0]."), cause.reason) for cause in found]


@pytest.mark.parametrize(
    "metadata", [{}, {"name": "Any_Name"}, {"namespace": "ns", "labels": {"a/b": "c"}}]
)
def test_metadata_of_an_embedded_resource_may_say_little(metadata: dict[str, Any]) -> None:
    assert causes(metadata) == []


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        ({"name": "a/b"}, "metadata.name"),
        ({"namespace": "Upper"}, "metadata.namespace"),
        ({"labels": {"a b": ""}}, "metadata.labels"),
        ({"finalizers": ["a b"]}, "metadata.finalizers"),
        ({"labels": ["no", "map"]}, "metadata"),
        ("no object", "metadata"),
    ],
)
def test_metadata_of_an_embedded_resource_is_checked_as_that_of_any_other(
    metadata: Any, field: str
) -> None:
    assert causes(metadata) == [(field, FieldErrorReason.INVALID)]


def definition(*versions: dict[str, Any]) -> dict[str, Any]:
    """Return a stored definition with the versions; the first is stored."""
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": names,
            "versions": [
                {"served": True, "storage": index == 0, **version}
                for index, version in enumerate(versions)
            ],
        },
        "status": {"acceptedNames": names},
    }


OLD = {"name": "v1beta1", "deprecated": True}
TEXT = "example.com/v1beta1 Widget is deprecated"


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ([OLD], TEXT),
        ([{"name": "v1"}, OLD], f"{TEXT}; use example.com/v1 Widget"),
        ([{"name": "v1"}, {"name": "v2"}, OLD], f"{TEXT}; use example.com/v2 Widget"),
        ([{"name": "v1", "served": False}, OLD], TEXT),
        ([{"name": "v1", "deprecated": True}, OLD], TEXT),
        ([{"name": "v1alpha1"}, OLD], TEXT),
        ([{"name": "v1"}, OLD | {"deprecationWarning": "move on"}], "move on"),
    ],
)
def test_a_deprecated_version_names_the_newest_version_to_use(
    versions: list[dict[str, Any]], warning: str
) -> None:
    [resource] = [
        item for item in resources_of(definition(*versions), ReadAgain(0)) if "beta" in item.version
    ]

    assert resource.deprecation == warning


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        ("text", "text"),
        (3, "3"),
        (True, "true"),
        (["a", {"b": 1}], '["a",{"b":1}]'),
        ({"type": "Ready", "status": "ü"}, '{"status":"ü","type":"Ready"}'),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_a_column_of_strings_shows_objects_and_lists_as_json(value: Any, cell: str) -> None:
    column = {"name": "Value", "type": "string", "jsonPath": ".spec.value"}
    strategy = CustomStrategy({"name": "v1", "additionalPrinterColumns": [column]}, {})

    assert strategy.columns[1].cell({"spec": {"value": value}}) == cell


def test_discovery_lists_the_verbs_of_custom_resources_in_their_own_order() -> None:
    [resource] = resources_of(definition({"name": "v1"}), ReadAgain(0))

    shown = "delete deletecollection get list patch create update watch"
    assert " ".join(resource.verbs) == shown


def test_a_definition_keeps_its_versions(widgets: Api) -> None:
    path = f"{CRDS}/widgets.example.com"

    answer = widgets.call("PATCH", path, {"spec": {"versions": None}}, MERGE_PATCH)

    assert answer.status == 422
    fields = [cause["field"] for cause in answer.body["details"]["causes"]]
    assert fields == ["spec.versions", "status.storedVersions[0]"]


def test_a_definition_without_a_served_version_takes_its_objects_along(widgets: Api) -> None:
    path = f"{CRDS}/widgets.example.com"
    widgets.create(WIDGETS, widget("a"))
    versions = [{**item, "served": False} for item in widget_crd()["spec"]["versions"]]
    watch = widgets.watch(CRDS)
    widgets.patch(path, {"spec": {"versions": versions}})
    widgets.delete(path)

    deleted = (event for event in watch if event["type"] == "DELETED")
    assert next(deleted)["object"]["metadata"]["name"] == "widgets.example.com"
    watch.close()


def test_objects_without_a_scope_are_not_selected_by_namespace(api: Api) -> None:
    definition = widget_crd()
    definition["spec"]["scope"] = "Cluster"
    api.create(CRDS, definition)
    collection = "/apis/example.com/v1/widgets"

    assert api.call("GET", collection, fieldSelector="metadata.name=a").status == 200
    assert api.call("GET", collection, fieldSelector="metadata.namespace=a").status == 400
