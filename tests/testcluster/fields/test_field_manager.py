from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clientgo.meta.errors import BadRequestError
from clientgo.meta.json_values import json_equal
from clientgo.testcluster.fields.managed_fields import (
    DEDUCED,
    ApplyConflictError,
    FieldManager,
    FieldSet,
    FieldType,
    ManagedFieldsError,
    TypedValueError,
    merge_values,
)
from clientgo.testcluster.schema.field_types import schema_field_type

EMPTY = {"apiVersion": "example.com/v1", "kind": "Widget"}

values = st.recursive(
    st.sampled_from(["x", "y", 1, True]) | st.lists(st.integers(0, 2), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3),
    max_leaves=6,
)
specs = st.dictionaries(st.sampled_from("abcd"), values, min_size=1, max_size=3)


def manager_for(**options: Any) -> FieldManager:
    defaults: dict[str, Any] = {"types": lambda _version, _kind: DEDUCED, "now": lambda: 0.0}
    return FieldManager(api_version="example.com/v1", kind="Widget", **(defaults | options))


def widget(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {**EMPTY, "metadata": {"name": "w", **metadata}, "spec": spec}


def owned(obj: dict[str, Any], manager: str) -> list[Any]:
    entries = obj["metadata"].get("managedFields", [])
    return [entry["fieldsV1"] for entry in entries if entry["manager"] == manager]


@given(specs)
def test_what_was_applied_to_nothing_is_there(spec: Any) -> None:
    live = manager_for().apply(EMPTY, widget(spec), "a")

    assert json_equal(live["spec"], spec)


@given(specs, specs)
def test_applying_again_changes_nothing(before: Any, spec: Any) -> None:
    manager = manager_for()
    live = manager.apply(manager.update(EMPTY, widget(before), "u"), widget(spec), "a", force=True)

    assert json_equal(manager.apply(live, widget(spec), "a"), live)


@given(specs, specs)
def test_a_single_applier_determines_the_object(first: Any, second: Any) -> None:
    manager = manager_for()

    live = manager.apply(manager.apply(EMPTY, widget(first), "a"), widget(second), "a")

    assert json_equal(live["spec"], second)


@given(specs, specs)
def test_a_forced_apply_has_its_way(theirs: Any, mine: Any) -> None:
    manager = manager_for()
    live = manager.apply(EMPTY, widget(theirs), "a")

    live = manager.apply(live, widget(mine), "b", force=True)

    assert json_equal(merge_values(live["spec"], mine, DEDUCED), live["spec"])


@given(specs, specs)
def test_without_force_it_is_done_without_taking_anything_or_not_at_all(
    theirs: Any, mine: Any
) -> None:
    manager = manager_for()
    live = manager.apply(EMPTY, widget(theirs), "a")
    before = copy.deepcopy(live)

    try:
        result = manager.apply(live, widget(mine), "b")
    except ApplyConflictError:
        result = live
    assert owned(result, "a") == owned(before, "a")
    assert live == before


@given(specs, specs)
def test_an_update_owns_what_it_changed(before: Any, after: Any) -> None:
    manager = manager_for()
    live = manager.apply(EMPTY, widget(before), "a")

    result = manager.update(live, widget(after), "u")

    assert json_equal(result["spec"], after)
    assert bool(owned(result, "u")) or json_equal(before, after) or not _adds(before, after)


def _adds(before: Any, after: Any) -> bool:
    """Tell whether `after` has anything that `before` has not."""
    if isinstance(before, dict) and isinstance(after, dict):
        return any(key not in before or _adds(before[key], after[key]) for key in after)
    return not json_equal(before, after)


def test_a_conflict_names_the_field_and_its_owner() -> None:
    manager = manager_for()
    live = manager.update(EMPTY, widget({"replicas": 1}), "kubectl-scale")

    with pytest.raises(ApplyConflictError) as raised:
        manager.apply(live, widget({"replicas": 2}), "a")

    assert raised.value.message == (
        "Apply failed with 1 conflict: "
        'conflict with "kubectl-scale" using example.com/v1: .spec.replicas'
    )
    assert raised.value.code == 409


def test_fields_that_the_server_resets_belong_to_nobody() -> None:
    manager = manager_for(reset_fields=lambda _version: FieldSet.of_fields("status"))

    live = manager.update(EMPTY, {**widget({"a": 1}), "status": {"ready": True}}, "u")

    assert owned(live, "u") == [{"f:spec": {".": {}, "f:a": {}}}]


def test_entries_of_a_version_that_is_gone_are_dropped() -> None:
    def types(api_version: str, _kind: str) -> FieldType | None:
        return DEDUCED if api_version == "example.com/v1" else None

    manager = manager_for(types=types)
    live = manager.apply(EMPTY, widget({"a": 1}), "a")
    live["metadata"]["managedFields"].append(
        {
            "manager": "old",
            "operation": "Apply",
            "apiVersion": "example.com/v1alpha1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:a": {}}},
        }
    )

    live = manager.apply(live, widget({"a": 2}), "a")

    assert owned(live, "old") == []
    assert live["spec"] == {"a": 2}


def test_entries_of_another_version_count_in_that_version() -> None:
    manager = manager_for()
    old = FieldManager(
        api_version="example.com/v1alpha1",
        kind="Widget",
        types=lambda _version, _kind: DEDUCED,
    )
    live = old.apply(
        EMPTY | {"apiVersion": "example.com/v1alpha1"},
        widget({"a": 1, "b": 1}) | {"apiVersion": "example.com/v1alpha1"},
        "a",
    )

    live = manager.apply(live | {"apiVersion": "example.com/v1"}, widget({"b": 1}), "a")

    assert live["spec"] == {"b": 1}


def test_what_nobody_owns_stays_when_its_container_is_given_up_but_owned_by_others() -> None:
    def entry(manager: str, field: str) -> dict[str, Any]:
        return {
            "manager": manager,
            "operation": "Apply",
            "apiVersion": "example.com/v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {".": {}, f"f:{field}": {}}},
        }

    live = widget({"a": 1, "b": 1, "x": 1}, managedFields=[entry("a", "a"), entry("b", "b")])
    config = {**EMPTY, "metadata": {"name": "w"}}

    assert manager_for().apply(live, config, "a")["spec"] == {"b": 1, "x": 1}


@pytest.mark.parametrize(
    "config",
    [
        widget({}) | {"kind": "Gadget"},
        widget({}) | {"apiVersion": "v1"},
        {},
        widget({}, managedFields=[]),
    ],
)
def test_configurations_of_another_kind_or_with_owners_are_bad_requests(config: Any) -> None:
    with pytest.raises(BadRequestError):
        manager_for().apply(EMPTY, config, "a")


def test_a_group_less_version_is_named_as_the_api_names_it() -> None:
    with pytest.raises(BadRequestError, match=r"invalid object type: /v1, Kind=Widget"):
        manager_for().apply(EMPTY, widget({}) | {"apiVersion": "v1"}, "a")


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV2"},
        {"operation": "Nope", "apiVersion": "v1", "fieldsType": "FieldsV1"},
        {"operation": "Apply", "fieldsType": "FieldsV1"},
        {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "noon"},
        {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x": 1}},
        "text",
    ],
)
def test_malformed_entries_stop_an_apply_and_are_forgotten_by_an_update(entry: Any) -> None:
    live = widget({"a": 1}, managedFields=[entry], uid="u")

    with pytest.raises(ManagedFieldsError):
        manager_for().apply(live, widget({"a": 1}), "a")
    assert "managedFields" not in manager_for().update(live, widget({"a": 2}), "u")["metadata"]


def test_an_object_that_does_not_fit_its_type_is_refused_with_the_path() -> None:
    from clientgo.testcluster.schema.field_types import builtin_field_type

    manager = FieldManager(api_version="v1", kind="Service", types=builtin_field_type)
    service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}}

    with pytest.raises(TypedValueError, match=r"/s; v1, Kind=Service\): .spec.ports: duplicate"):
        manager.apply(
            {"apiVersion": "v1", "kind": "Service"},
            service | {"spec": {"ports": [{"port": 80}, {"port": 80, "protocol": "TCP"}]}},
            "a",
        )


def test_no_more_than_ten_updaters_are_remembered() -> None:
    now = iter(range(100))
    manager = manager_for(now=lambda: float(next(now)))
    live: dict[str, Any] = EMPTY
    spec: dict[str, int] = {}
    for i in range(14):
        spec = {**spec, f"f{i}": i}
        live = manager.update(live, widget(spec), f"u{i:02}")

    managers = [entry["manager"] for entry in live["metadata"]["managedFields"]]
    assert len(managers) == 10
    assert managers[0] == "ancient-changes"
    assert managers[-1] == "u13"


def test_a_body_that_was_valid_is_refused_when_its_type_has_changed() -> None:
    types = [
        schema_field_type({"type": "object", "properties": {"spec": {"type": kind}}})
        for kind in ("string", "integer")
    ]
    current = types[0]
    manager = manager_for(types=lambda _version, _kind: current)
    new = {"spec": "text"}
    for _ in range(2):
        manager.update({}, new, "u")
    current = types[1]

    with pytest.raises(TypedValueError):
        manager.update({}, new, "u")


def test_a_list_with_an_item_twice_is_refused_in_an_apply_after_an_update_had_it() -> None:
    items = {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"}
    field_type = schema_field_type(
        {
            "type": "object",
            "properties": {name: {"type": "string"} for name in ("apiVersion", "kind")}
            | {"spec": items},
        }
    )
    manager = manager_for(types=lambda _version, _kind: field_type)
    manager.update(EMPTY, {**EMPTY, "spec": ["a", "a"]}, "u")

    with pytest.raises(TypedValueError):
        manager.apply(EMPTY, {**EMPTY, "spec": ["a", "a"]}, "a")


@pytest.mark.parametrize("spec", [["a"], [{"k": "a"}, {"k": "a"}]], ids=["type", "duplicates"])
def test_an_object_that_does_not_fit_the_version_of_another_manager_is_refused(spec: Any) -> None:
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": {}}
    types: dict[str, FieldType] = {
        version: schema_field_type({"x-kubernetes-preserve-unknown-fields": True} | schema)
        for version, schema in {
            "example.com/v1": {},
            "example.com/v2": {"properties": {"spec": keyed}},
        }.items()
    }
    manager = manager_for(types=lambda version, _kind: types[version])
    entry = {
        "manager": "other",
        "operation": "Update",
        "apiVersion": "example.com/v2",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {'k:{"k":"a"}': {".": {}}}},
    }
    live = widget([{"k": "a"}], uid="1", managedFields=[entry])

    with pytest.raises(TypedValueError, match=r"failed to convert new object to example\.com/v2"):
        manager.update(live, widget(spec, uid="1"), "a")
    with pytest.raises(TypedValueError, match=r"failed to convert new object to example\.com/v2"):
        manager.apply(live, widget(spec), "a", force=True)


def test_each_version_has_its_own_fields_that_the_server_resets() -> None:
    def resets(api_version: str) -> FieldSet:
        return FieldSet.of_fields("status") if api_version == "example.com/v1" else FieldSet()

    manager = manager_for(reset_fields=resets)
    status = {"f:status": {"f:ready": {}}}
    entries = [
        {
            "manager": name,
            "operation": "Update",
            "apiVersion": f"example.com/{version}",
            "fieldsType": "FieldsV1",
            "fieldsV1": status,
            "subresource": "status",
        }
        for name, version in (("same", "v1"), ("other", "v2"))
    ]
    live = {**widget({"a": 1}, managedFields=entries), "status": {"ready": True}}

    live = manager.update(live, widget({"a": 1}), "u")

    assert owned(live, "same") == [status]
    assert owned(live, "other") == []
