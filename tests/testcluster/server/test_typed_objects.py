"""Objects of built-in kinds as typed languages read them: zero values, nulls and times."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema.openapi import builtin_type
from clientgo.testcluster.server.kinds.typed_objects import TypeMismatchError, read_typed


def read(api_version: str, kind: str, **fields: Any) -> dict[str, Any]:
    """Return the fields of an object as they are read."""
    openapi_type = builtin_type(api_version, kind)
    assert openapi_type is not None
    return read_typed(fields, openapi_type)[0]


def container(**fields: Any) -> dict[str, Any]:
    """Return a container as it is read."""
    found: dict[str, Any] = read("v1", "Pod", spec={"containers": [fields]})["spec"]["containers"][
        0
    ]
    return found


def test_zero_values_of_fields_that_are_no_pointers_are_left_out() -> None:
    read_one = container(name="a", image="", stdin=False, workingDir="")
    assert read_one == {"name": "a", "resources": {}}


def test_zero_values_of_pointers_are_kept() -> None:
    spec = read("apps/v1", "Deployment", spec={"replicas": 0, "paused": False, "selector": {}})[
        "spec"
    ]
    assert spec["replicas"] == 0
    assert "paused" not in spec


def test_lists_without_omitempty_and_times_are_null_if_they_are_unset() -> None:
    assert read("v1", "Pod")["spec"] == {"containers": None}
    assert read("rbac.authorization.k8s.io/v1", "Role")["rules"] is None
    condition = {"type": "Ready", "status": "True"}
    status = read("v1", "Node", status={"conditions": [condition]})["status"]
    assert status["conditions"][0] == {
        **condition,
        "lastHeartbeatTime": None,
        "lastTransitionTime": None,
    }


def test_a_published_default_that_is_left_out_when_written_is_not_set() -> None:
    account = read("v1", "ServiceAccount", imagePullSecrets=[{}])
    assert account["imagePullSecrets"] == [{}]


def test_null_in_a_list_or_map_is_the_zero_value_of_its_items() -> None:
    assert container(name="a", args=["x", None])["args"] == ["x", ""]
    assert read("v1", "Pod", spec={"containers": [None]})["spec"]["containers"] == [
        {"name": "", "resources": {}}
    ]
    disrupted = read("policy/v1", "PodDisruptionBudget", status={"disruptedPods": {"a": None}})
    assert disrupted["status"]["disruptedPods"] == {"a": None}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05.000000Z", "2024-01-02T03:04:05.000000Z"),
        ("2024-01-02T03:04:05.123456+01:00", "2024-01-02T02:04:05.123456Z"),
        ("2024-01-02T03:04:05Z", None),
        ("2024-01-02T03:04:05.1234567Z", None),
    ],
)
def test_a_time_with_microseconds_has_six_digits(text: str, expected: str | None) -> None:
    def renewed() -> Any:
        return read("coordination.k8s.io/v1", "Lease", spec={"renewTime": text})["spec"][
            "renewTime"
        ]

    if expected is None:
        with pytest.raises(TypeMismatchError):
            renewed()
    else:
        assert renewed() == expected


def test_times_are_written_in_utc_and_whole_seconds() -> None:
    status = read("v1", "Pod", status={"startTime": "2024-01-02T03:04:05.9+02:00"})["status"]
    assert status["startTime"] == "2024-01-02T01:04:05Z"


def schema(**fields: Any) -> Any:
    """Return the schema of a definition as it is read."""
    versions = [{"name": "v1", "schema": {"openAPIV3Schema": fields}}]
    spec = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={"versions": versions})[
        "spec"
    ]
    return spec["versions"][0]["schema"]["openAPIV3Schema"]


UNSET = {"type": "string", "nullable": False, "title": "", "pattern": "", "uniqueItems": False}


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("properties", {"a": {**UNSET, "minLength": 0}}, {"a": {"type": "string", "minLength": 0}}),
        ("items", UNSET, {"type": "string"}),
        ("items", {"items": UNSET, "bogus": 1}, {"items": {"type": "string"}}),
        ("items", {"properties": None}, {}),
        ("items", {"properties": {"a": None}}, {"properties": {"a": {}}}),
        ("items", [UNSET], [{"type": "string"}]),
        ("items", "x", None),
        ("additionalProperties", UNSET, {"type": "string"}),
        ("additionalProperties", False, False),
        ("dependencies", {"a": ["b"], "c": UNSET}, {"a": ["b"], "c": {"type": "string"}}),
    ],
)
def test_schemas_within_schemas_are_read_as_schemas(field: str, value: Any, expected: Any) -> None:
    assert schema(**{field: value})[field] == expected


@pytest.mark.parametrize(
    "fields",
    [
        {"items": {"type": 5}},
        {"items": {"items": {"maxLength": "x"}}},
        {"items": [{"type": 5}]},
        {"additionalProperties": "x"},
        {"additionalProperties": {"type": 5}},
        {"dependencies": {"a": {"type": 5}}},
    ],
)
def test_wrong_types_within_schemas_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(TypeMismatchError):
        schema(**fields)


def test_a_definition_without_versions_has_null() -> None:
    definition = read("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec={})
    assert definition["spec"]["versions"] is None
