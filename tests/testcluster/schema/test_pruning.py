"""Pruning: what a schema does not specify goes, and is named."""

from __future__ import annotations

import copy
from typing import Any

from clientgo.testcluster.schema import StructuralSchema

STRING = {"type": "string"}


def spec_schema(spec: dict[str, Any]) -> StructuralSchema:
    return StructuralSchema.parse({"type": "object", "properties": {"spec": spec}})


def test_unknown_fields_are_removed_and_named_in_order() -> None:
    schema = spec_schema(
        {
            "type": "object",
            "properties": {"x": STRING, "sub": {"type": "object", "properties": {"y": STRING}}},
        }
    )

    value, dropped = schema.prune({"spec": {"x": "1", "z": 2, "sub": {"q": 1}}})

    assert value == {"spec": {"x": "1", "sub": {}}}
    assert dropped == ["spec.sub.q", "spec.z"]


def test_the_input_is_not_changed() -> None:
    schema = spec_schema({"type": "object", "properties": {"x": STRING}})
    original = {"spec": {"x": "1", "z": 2}}
    before = copy.deepcopy(original)

    schema.prune(original)

    assert original == before


def test_what_has_no_unknown_fields_is_returned_as_it_is() -> None:
    schema = spec_schema({"type": "object", "properties": {"x": STRING}})
    value = {"spec": {"x": "1"}}

    assert schema.prune(value) == (value, [])
    assert schema.prune(value)[0] is value


def test_identity_and_metadata_of_the_resource_stay() -> None:
    schema = spec_schema({"type": "object"})
    value = {"apiVersion": "g/v1", "kind": "W", "metadata": {"name": "a", "bogus": 1}}

    assert schema.prune(value) == (value, [])


def test_metadata_that_is_not_that_of_a_resource_is_like_any_field() -> None:
    schema = spec_schema({"type": "object"})

    assert schema.prune({"spec": {"metadata": {}, "kind": "x"}}) == (
        {"spec": {}},
        ["spec.kind", "spec.metadata"],
    )


def test_metadata_of_an_embedded_resource_stays() -> None:
    schema = spec_schema(
        {"type": "object", "x-kubernetes-embedded-resource": True, "properties": {"x": STRING}}
    )

    value, dropped = schema.prune({"spec": {"metadata": {"name": "a"}, "y": 1}})

    assert value == {"spec": {"metadata": {"name": "a"}}}
    assert dropped == ["spec.y"]


def test_preserving_keeps_unknown_fields_but_prunes_below_known_ones() -> None:
    schema = spec_schema(
        {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"known": {"type": "object", "properties": {"x": STRING}}},
        }
    )

    value, dropped = schema.prune(
        {"spec": {"free": {"any": [1, None]}, "known": {"x": "y", "pruned": 1}}}
    )

    assert value == {"spec": {"free": {"any": [1, None]}, "known": {"x": "y"}}}
    assert dropped == ["spec.known.pruned"]


def test_map_values_and_list_items_are_pruned() -> None:
    item = {"type": "object", "properties": {"x": STRING}}
    schema = spec_schema(
        {
            "type": "object",
            "properties": {
                "m": {"type": "object", "additionalProperties": item},
                "l": {"type": "array", "items": item},
            },
        }
    )

    value, dropped = schema.prune({"spec": {"m": {"k": {"q": 1}}, "l": [{"x": "1"}, {"q": 1}]}})

    assert value == {"spec": {"m": {"k": {}}, "l": [{"x": "1"}, {}]}}
    assert dropped == ["spec.l[1].q", "spec.m.k.q"]
