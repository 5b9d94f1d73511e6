from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    FieldManager,
    FieldType,
    ScalarKind,
    TypedValueError,
)
from clientgo.testcluster.fields.managed_fields.fields.typed_values import check_value, fields_of
from clientgo.testcluster.schema.field_types import (
    builtin_field_type,
    custom_resource_field_type,
    schema_field_type,
)
from clientgo.testcluster.schema.openapi import OpenAPIType, openapi_documents


def object_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_every_built_in_kind_has_a_type_whose_fields_can_all_be_walked() -> None:
    def walk(field_type: FieldType, node: OpenAPIType, depth: int) -> None:
        if depth == 0:
            return
        if node.type == "array":
            walk(field_type.list.element, node.items, depth)
        for name in node.field_names:
            assert field_type.map.declared(name) is not None
            walk(field_type.map.declared(name), node.field(name), depth - 1)

    for path, document in openapi_documents().items():
        for name, node in document.definitions.nodes.items():
            for entry in node.get("x-kubernetes-group-version-kind", []):
                version = f"{entry['group']}/{entry['version']}".lstrip("/")
                if path.endswith(f"/{version}"):
                    kind_type = builtin_field_type(version, entry["kind"])
                    walk(kind_type, document.definitions.type(name), depth=4)


def test_types_of_built_in_kinds_are_made_once() -> None:
    first, second = (builtin_field_type("apps/v1", "Deployment") for _ in range(2))

    assert first is second
    assert builtin_field_type("apps/v1", "Nope") is None


def test_quantities_are_one_field_whatever_they_are_written_as() -> None:
    pod = builtin_field_type("v1", "Pod")
    resources = {"limits": {"cpu": 1, "memory": "1Gi"}}
    containers = [{"name": "c", "resources": resources}]

    check_value({"spec": {"containers": containers}}, pod)


def test_a_list_with_a_merge_key_and_no_list_type_is_a_map_by_that_key() -> None:
    schema = {
        "type": "array",
        "items": {"type": "object"},
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }

    list_type = schema_field_type(schema).list

    assert (list_type.atomic, list_type.keys) == (False, ("name",))


def test_a_key_that_an_item_leaves_out_has_its_default() -> None:
    ports = {
        "type": "array",
        "items": object_of(port={"type": "integer"}, protocol={"type": "string", "default": "TCP"}),
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["port", "protocol"],
    }
    field_type = schema_field_type(object_of(ports=ports))

    fields = fields_of({"ports": [{"port": 80}]}, field_type).to_fields_v1()

    assert fields == {
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
    }


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (object_of(a={"type": "integer"}), {"a": "x"}),
        (object_of(a={"type": "integer"}), {"a": True}),
        (object_of(a={"type": "string"}), {"a": 1}),
        (object_of(a={"type": "boolean"}), {"a": "true"}),
        (object_of(a={"type": "string"}), {"b": 1}),
        (object_of(a={"type": "array", "items": {"type": "string"}}), {"a": {}}),
        (object_of(a=object_of(b={"type": "string"})), {"a": []}),
        ({"type": "object", "additionalProperties": {"type": "string"}}, {"a": 1}),
    ],
)
def test_values_of_another_form_are_refused(schema: Any, value: Any) -> None:
    with pytest.raises(TypedValueError):
        check_value(value, schema_field_type(schema))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (object_of(a={"type": "integer"}), {"a": None}),
        (object_of(a={"type": "string", "format": "date-time"}), {"a": 1}),
        (object_of(a={"x-kubernetes-int-or-string": True}), {"a": 1}),
        ({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, {"a": {"b": [1]}}),
        (
            object_of(a=object_of(b={"type": "string"}))
            | {"x-kubernetes-preserve-unknown-fields": True},
            {"a": {"c": 1}},
        ),
        ({"type": "object", "additionalProperties": True}, {"a": 1}),
    ],
)
def test_values_that_the_schema_allows_pass(schema: Any, value: Any) -> None:
    check_value(value, schema_field_type(schema))


def test_custom_resources_have_the_header_of_all_objects() -> None:
    field_type = custom_resource_field_type(object_of(spec=object_of(n={"type": "integer"})))
    widget = {"apiVersion": "example.com/v1", "kind": "Widget"}
    manager = FieldManager(
        types=lambda _v, _k: field_type, api_version="example.com/v1", kind="Widget"
    )

    live = manager.apply(
        widget,
        widget | {"metadata": {"name": "w", "finalizers": ["f"]}, "spec": {"n": 1}},
        "a",
    )

    assert live["metadata"]["managedFields"][0]["fieldsV1"] == {
        "f:metadata": {"f:finalizers": {'v:"f"': {}}},
        "f:spec": {"f:n": {}},
    }


def test_embedded_resources_have_the_header_too() -> None:
    template = object_of(spec=object_of()) | {"x-kubernetes-embedded-resource": True}
    field_type = custom_resource_field_type(object_of(template=template))

    check_value({"template": {"kind": "Pod", "metadata": {"labels": {"a": "1"}}}}, field_type)


def test_custom_resources_without_a_schema_are_deduced() -> None:
    assert custom_resource_field_type(None) is DEDUCED
    assert DEDUCED.scalar is ScalarKind.ANY


def test_an_atomic_map_is_one_field_where_it_is_used_as_such() -> None:
    service = builtin_field_type("v1", "Service")

    assert fields_of({"spec": {"selector": {"app": "web"}}}, service).to_fields_v1() == {
        "f:spec": {"f:selector": {}}
    }


def test_a_map_that_is_atomic_elsewhere_can_be_granular_where_it_is_used() -> None:
    volume = builtin_field_type("v1", "PersistentVolume")
    pod_reference = builtin_field_type("v1", "Endpoints")
    reference = {"kind": "PersistentVolumeClaim", "name": "c"}

    assert fields_of({"spec": {"claimRef": reference}}, volume).to_fields_v1() == {
        "f:spec": {"f:claimRef": {"f:kind": {}, "f:name": {}}}
    }
    subsets = {"subsets": [{"addresses": [{"ip": "1.1.1.1", "targetRef": reference}]}]}
    assert fields_of(subsets, pod_reference).to_fields_v1() == {"f:subsets": {}}
