"""What OpenAPI says of the kinds of definitions: the form of what it says of built-in kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clientgo.testcluster.schema.openapi import openapi_documents
from clientgo.testcluster.server.discovery.published_paths import published_paths
from clientgo.testcluster.server.discovery.published_schemas import _publish
from clientgo.testcluster.server.kinds.builtin_resources import builtin_resources
from clientgo.testing.operator import eventually
from tests.testcluster.server.http_api import CRDS, Api, widget_crd

WIDGET = "com.example.v1.Widget"
META = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1"


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    """The document of a definition with everything that a definition may have."""
    return document_of(api, definition())


def document_of(api: Api, crd: dict[str, Any]) -> dict[str, Any]:
    path = "/openapi/v3/apis/example.com/v1"
    api.create(CRDS, crd)
    eventually(lambda: api.call("GET", path).status == 200)
    found: dict[str, Any] = api.get(path)
    return found


def definition() -> dict[str, Any]:
    crd = widget_crd()
    crd["spec"]["names"]["listKind"] = "WidgetCollection"
    [version] = crd["spec"]["versions"]
    replicas = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version["subresources"] = {"status": {}, "scale": replicas}
    version["selectableFields"] = [{"jsonPath": ".spec.color"}]
    schema = version["schema"]["openAPIV3Schema"]
    schema["description"] = "A thing."
    schema["properties"]["spec"]["properties"] |= {
        "color": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5},
        "port": {"x-kubernetes-int-or-string": True},
        "template": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
    }
    return crd


# -- paths


def without(value: Any, *names: str) -> Any:
    """Return a value without the members of these names at any depth."""
    if isinstance(value, dict):
        return {key: without(item, *names) for key, item in value.items() if key not in names}
    return [without(item, *names) for item in value] if isinstance(value, list) else value


def builtin_form(path: dict[str, Any]) -> dict[str, Any]:
    """Return a path of a built-in kind as that of a custom resource would be."""
    path = json.loads(json.dumps(path))
    for method, operation in path.items():
        if method == "parameters":
            continue
        for response in operation["responses"].values():
            content = response.get("content", {})
            for media_type in [item for item in content if "protobuf" in item or ";" in item]:
                del content[media_type]
        action = operation["x-kubernetes-action"]
        operation["x-kubernetes-group-version-kind"] = None
        if action == "deletecollection":  # takes the options of a list, and no body
            del operation["requestBody"], operation["parameters"]
        elif action == "patch":
            del operation["responses"]["201"]
            del operation["requestBody"]["content"]["application/strategic-merge-patch+json"]
        elif "*/*" in operation.get("requestBody", {}).get("content", {}):
            schema = operation["requestBody"]["content"].pop("*/*")
            types = ("application/json", "application/yaml")
            operation["requestBody"]["content"] = dict.fromkeys(types, schema)
        operation.setdefault("parameters", [])
    return path


def custom_form(path: dict[str, Any]) -> dict[str, Any]:
    """Return a path without what only custom resources have."""
    path = without(path, "description")
    for method, operation in path.items():
        if method != "parameters":
            operation["x-kubernetes-group-version-kind"] = None
            if operation["x-kubernetes-action"] == "deletecollection":
                del operation["parameters"]
            operation.setdefault("parameters", [])
            if operation["x-kubernetes-action"] == "get":  # may name a resource version
                operation["parameters"] = []
    return path


@pytest.mark.parametrize(
    ("group", "plural", "named"),
    [
        ("apps", "deployments", "io.k8s.api.apps.v1"),
        ("batch", "jobs", "io.k8s.api.batch.v1"),
        ("networking.k8s.io", "ingresses", "io.k8s.api.networking.v1"),
        ("networking.k8s.io", "ingressclasses", "io.k8s.api.networking.v1"),
        ("rbac.authorization.k8s.io", "clusterroles", "io.k8s.api.rbac.v1"),
        ("flowcontrol.apiserver.k8s.io", "flowschemas", "io.k8s.api.flowcontrol.v1"),
    ],
)
def test_the_paths_have_the_form_of_those_of_built_in_kinds(
    group: str, plural: str, named: str
) -> None:
    [resource] = [
        item for item in builtin_resources() if (item.group, item.plural) == (group, plural)
    ]
    text = openapi_documents()[f"apis/{group}/v1"].text
    builtin = json.loads(text.replace(f"{named}.".encode(), b"NAME."))["paths"]

    paths = published_paths(resource)

    own = ".".join(reversed(group.split(".")))
    read = json.loads(json.dumps(paths).replace(f"/{own}.v1.", "/NAME."))
    assert set(read) == {
        path for path in builtin if path.split("/")[-1] in (plural, "{name}", "status", "scale")
        and "/watch/" not in path and f"/{plural}" in path
    }  # fmt: skip
    for path, operations in read.items():
        assert custom_form(operations) == builtin_form(builtin[path])


def test_operations_are_named_and_described(document: dict[str, Any]) -> None:
    shown = {
        operation["operationId"]: operation["description"]
        for path in document["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
    }
    of_parts = {
        f"{verb}ExampleComV1NamespacedWidget{part.title()}": f"{said}{of} the specified Widget"
        for verb, said in (("patch", "partially update"), ("read", "read"), ("replace", "replace"))
        for part, of in (("", ""), ("scale", " scale of"), ("status", " status of"))
    }

    assert shown == of_parts | {
        "createExampleComV1NamespacedWidget": "create a Widget",
        "deleteExampleComV1CollectionNamespacedWidget": "delete collection of Widget",
        "deleteExampleComV1NamespacedWidget": "delete a Widget",
        "listExampleComV1NamespacedWidget": "list objects of kind Widget",
        "listExampleComV1WidgetForAllNamespaces": "list objects of kind Widget",
    }
    assert {
        tag
        for path in document["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
        for tag in operation["tags"]
    } == {"exampleCom_v1"}


def test_every_field_of_the_metadata_is_described(document: dict[str, Any]) -> None:
    metadata = document["components"]["schemas"]["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]
    fields = metadata["properties"]

    assert metadata["description"]
    assert all(field["description"] for field in fields.values())
    assert fields["creationTimestamp"]["description"].startswith("CreationTimestamp is a timestamp")
    assert fields["creationTimestamp"]["allOf"] == [{"$ref": f"{META}.Time"}]


def test_a_list_answers_the_list(document: dict[str, Any]) -> None:
    listing = document["paths"]["/apis/example.com/v1/widgets"]["get"]
    [answer] = {
        content["schema"]["$ref"] for content in listing["responses"]["200"]["content"].values()
    }

    assert answer == "#/components/schemas/com.example.v1.WidgetCollection"


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    names = {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]}

    assert names <= document["components"]["schemas"].keys()
    assert "io.k8s.api.autoscaling.v1.Scale" in names


# -- schemas


def test_the_standard_fields_are_described(document: dict[str, Any]) -> None:
    schemas = document["components"]["schemas"]
    widget, listed = schemas[WIDGET], schemas["com.example.v1.WidgetCollection"]
    color = [{"fieldPath": "spec.color"}]

    assert widget["description"] == "A thing."
    assert widget["properties"]["apiVersion"]["description"].startswith("APIVersion defines the")
    assert widget["properties"]["kind"]["description"].startswith("Kind is a string value")
    metadata = widget["properties"]["metadata"]
    assert metadata["allOf"] == [{"$ref": f"{META}.ObjectMeta"}]
    assert metadata["description"].startswith("Standard object's metadata. More info: ")
    assert listed["description"] == "WidgetCollection is a list of Widget"
    assert listed["required"] == ["items"]
    items = listed["properties"]["items"]
    assert items["items"] == {"$ref": f"#/components/schemas/{WIDGET}"}
    assert items["description"].startswith("List of widgets. More info: ")
    for kind, schema in (("Widget", widget), ("WidgetCollection", listed)):
        gvk = {"group": "example.com", "version": "v1", "kind": kind}
        assert schema["x-kubernetes-group-version-kind"] == [gvk]
        assert schema["x-kubernetes-selectable-fields"] == color


def test_fields_are_published_with_what_values_they_take(
    document: dict[str, Any], api: Api
) -> None:
    spec = document["components"]["schemas"][WIDGET]["properties"]["spec"]["properties"]
    v2 = api.get("/openapi/v2")["definitions"][WIDGET]["properties"]["spec"]["properties"]
    color = {"type": "string", "pattern": "^[a-z]+$", "maxLength": 5}
    types = [{"type": "integer"}, {"type": "string"}]

    assert spec["color"] == v2["color"] == color
    assert spec["port"] == {"x-kubernetes-int-or-string": True, "anyOf": types}
    assert v2["port"] == {"x-kubernetes-int-or-string": True}


def test_an_embedded_object_has_the_fields_of_one(document: dict[str, Any], api: Api) -> None:
    template = document["components"]["schemas"][WIDGET]["properties"]["spec"]["properties"][
        "template"
    ]
    v2 = api.get("/openapi/v2")["definitions"][WIDGET]["properties"]["spec"]["properties"]

    assert template["properties"].keys() == {"apiVersion", "kind", "metadata"}
    assert template["required"] == ["kind", "apiVersion"]
    assert v2["template"] == {
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }


def test_a_kind_that_keeps_all_fields_is_any_object_in_v2(api: Api) -> None:
    crd = widget_crd()
    [version] = crd["spec"]["versions"]
    version["schema"]["openAPIV3Schema"]["x-kubernetes-preserve-unknown-fields"] = True

    v3 = document_of(api, crd)["components"]["schemas"][WIDGET]
    v2 = api.get("/openapi/v2")["definitions"][WIDGET]

    assert v2.keys() == {"type", "x-kubernetes-group-version-kind"}
    assert {"apiVersion", "kind", "metadata", "spec"} <= v3["properties"].keys()


PRESERVED = {"x-kubernetes-preserve-unknown-fields": True}
TEXT = {"type": "string"}
NULLABLE = {"type": "string", "nullable": True}


@pytest.mark.parametrize(
    ("declared", "v2"),
    [
        ({"type": "string", "nullable": True, "description": "d"}, {"description": "d"}),
        ({"type": "object", "properties": {"a": TEXT}} | PRESERVED, PRESERVED),
        ({"type": "array", "items": TEXT} | PRESERVED, PRESERVED),
        ({"type": "object", "nullable": True, "properties": {"a": TEXT}}, {}),
        ({"type": "object", "required": ["a", "b"], "properties": {"a": NULLABLE, "b": TEXT}},
         {"type": "object", "required": ["b"], "properties": {"a": {}, "b": TEXT}}),
        ({"type": "object", "required": ["a"], "properties": {"a": NULLABLE}},
         {"type": "object", "properties": {"a": {}}}),
        ({"type": "object", "required": ["a"], "additionalProperties": NULLABLE},
         {"type": "object", "additionalProperties": {}}),
        ({"type": "object", "additionalProperties": True},
         {"type": "object", "additionalProperties": True}),
        ({"type": "array", "maxItems": 3, "items": {"type": "integer", "minimum": 0}},
         {"type": "array", "maxItems": 3, "items": {"type": "integer", "minimum": 0}}),
        ({"type": "string", "pattern": "a", "anyOf": [{"minLength": 3}]},
         {"type": "string", "pattern": "a"}),
        ({"type": "number", "exclusiveMinimum": True, "minimum": 0.5, "not": {"enum": [1]}},
         {"type": "number", "exclusiveMinimum": True, "minimum": 0.5}),
    ],
)  # fmt: skip
def test_what_v2_can_not_say_is_left_open(declared: dict[str, Any], v2: dict[str, Any]) -> None:
    assert _publish(declared, v2=True) == v2


@pytest.mark.parametrize(
    ("declared", "more"),
    [
        ({}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, {}),
        ({"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}, {}),
        ({"anyOf": [{"pattern": "a"}]},
         {"allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}]}),
        ({"allOf": [{"pattern": "a"}]},
         {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
    ],
)  # fmt: skip
def test_both_types_of_int_or_string_are_told_once(
    declared: dict[str, Any], more: dict[str, Any]
) -> None:
    schema = {"x-kubernetes-int-or-string": True, **declared}

    assert _publish(schema, v2=False) == schema | more
