"""Defaulting: what a schema gives a default for is filled in."""

from __future__ import annotations

import copy
from typing import Any

from clientgo.testcluster.schema import StructuralSchema

COUNT = {"type": "integer", "default": 3}


def spec_schema(**properties: Any) -> StructuralSchema:
    spec = {"type": "object", "properties": properties}
    return StructuralSchema.parse({"type": "object", "properties": {"spec": spec}})


def test_an_absent_property_gets_its_default() -> None:
    assert spec_schema(n=COUNT).default({"spec": {}}) == {"spec": {"n": 3}}


def test_a_property_that_is_there_keeps_its_value() -> None:
    assert spec_schema(n=COUNT).default({"spec": {"n": 9}}) == {"spec": {"n": 9}}


def test_the_input_is_not_changed() -> None:
    original: dict[str, Any] = {"spec": {"l": [{}]}}
    before = copy.deepcopy(original)
    items = {"type": "array", "items": {"type": "object", "properties": {"n": COUNT}}}

    assert spec_schema(l=items, n=COUNT).default(original) == {"spec": {"l": [{"n": 3}], "n": 3}}
    assert original == before


def test_a_default_is_defaulted_itself() -> None:
    nested = {"type": "object", "default": {}, "properties": {"n": COUNT}}

    assert spec_schema(sub=nested).default({"spec": {}}) == {"spec": {"sub": {"n": 3}}}


def test_nothing_is_filled_in_below_what_is_absent() -> None:
    nested = {"type": "object", "properties": {"n": COUNT}}

    assert spec_schema(sub=nested).default({"spec": {}}) == {"spec": {}}


def test_map_values_are_defaulted() -> None:
    values = {
        "type": "object",
        "additionalProperties": {"type": "object", "properties": {"n": COUNT}},
    }

    assert spec_schema(m=values).default({"spec": {"m": {"k": {}}}}) == {
        "spec": {"m": {"k": {"n": 3}}}
    }


def test_a_null_that_is_not_allowed_gives_way_to_the_default() -> None:
    assert spec_schema(n=COUNT).default({"spec": {"n": None}}) == {"spec": {"n": 3}}


def test_a_null_that_is_not_allowed_and_has_no_default_is_pruned_and_not_defaulted() -> None:
    schema = spec_schema(n={"type": "integer"}, l={"type": "array", "items": COUNT})
    with_null = {"spec": {"n": None, "l": [None]}}
    assert schema.default(with_null) == {"spec": {"n": None, "l": [3]}}
    assert schema.prune(with_null) == ({"spec": {"l": [None]}}, [])


def test_a_null_that_is_allowed_stays() -> None:
    nullable = {"type": "integer", "nullable": True, "default": 3}

    assert spec_schema(n=nullable).default({"spec": {"n": None}}) == {"spec": {"n": None}}
    assert spec_schema(n=nullable).prune({"spec": {"n": None}}) == ({"spec": {"n": None}}, [])


def test_a_null_with_a_default_is_left_to_defaulting() -> None:
    with_null = {"spec": {"n": None}}
    assert spec_schema(n=COUNT).prune(with_null) == (with_null, [])


def test_each_use_of_a_default_has_its_own_copy() -> None:
    schema = spec_schema(l={"type": "array", "items": {"type": "string"}, "default": ["a"]})

    schema.default({"spec": {}})["spec"]["l"].append("b")

    assert schema.default({"spec": {}}) == {"spec": {"l": ["a"]}}
