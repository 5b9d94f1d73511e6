"""Which fields of a kind's versions need a converter."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.codegen.version_differences import unconverted_fields

Schema = dict[str, Any]
_OPEN: Schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def _definition(*schemas: Schema, **spec: Any) -> dict[str, Any]:
    versions = [
        {
            "name": f"v{number}",
            "storage": number == 1,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": schema}}},
        }
        for number, schema in enumerate(schemas, start=1)
    ]
    return {"spec": {"versions": versions, **spec}}


def _object(**fields: Schema) -> Schema:
    return {"type": "object", "properties": fields}


@pytest.mark.parametrize(
    ("stored", "other", "told"),
    [
        (_object(a={"type": "string"}), _object(), "spec.a (only in v1)"),
        (_object(), _object(a={"type": "string"}), "spec.a (only in v2)"),
        (
            _object(a={"type": "string"}),
            _object(a={"type": "integer"}),
            "spec.a (string in v1, integer in v2)",
        ),
        (
            _object(a={"type": "integer"}),
            _object(a={"x-kubernetes-int-or-string": True}),
            "spec.a (integer in v1, integer or string in v2)",
        ),
        (
            _object(a={"type": "array", "items": _object(b={"type": "string"})}),
            _object(a={"type": "array", "items": _object()}),
            "spec.a[].b (only in v1)",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "spec[*] (string in v1, integer in v2)",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            _object(),
            "spec (map in v1, object in v2)",
        ),
        (_OPEN, _object(), "spec (object of any fields in v1, object in v2)"),
    ],
)
def test_what_one_version_cannot_hold_is_named(stored: Schema, other: Schema, told: str) -> None:
    """OP-CNV-02"""
    assert unconverted_fields(_definition(stored, other)) == told


@pytest.mark.parametrize(
    "other",
    [
        _object(a={"type": "string", "description": "says more"}),
        _object(a={"type": "string", "default": "x", "maxLength": 3, "enum": ["x"]}),
        _object(a={"type": "string"}) | {"required": ["a"]},
    ],
)
def test_what_loses_nothing_needs_no_converter(other: Schema) -> None:
    """OP-CNV-02"""
    assert unconverted_fields(_definition(_object(a={"type": "string"}), other)) == ""


def test_each_version_is_compared_with_the_stored_one() -> None:
    """OP-CNV-02"""
    same = _object(a={"type": "string"})

    assert unconverted_fields(_definition(same, same, _object())) == "spec.a (only in v1)"


def test_many_fields_are_counted() -> None:
    fields = {f"f{number}": {"type": "string"} for number in range(7)}

    told = unconverted_fields(_definition(_object(**fields), _object()))

    assert told.endswith("spec.f4 (only in v1), and 2 more")


def test_a_definition_with_a_converter_needs_no_other() -> None:
    definition = _definition(_object(), _OPEN, conversion={"strategy": "Webhook"})

    assert unconverted_fields(definition) == ""
