"""Validation of values: the causes that a Kubernetes 1.36 API server reports."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from clientgo.testcluster.schema import StructuralSchema


def object_with(**properties: Any) -> dict[str, Any]:
    """Return the schema of an object whose spec has these properties."""
    spec = {"type": "object", "properties": properties}
    return {"type": "object", "properties": {"spec": spec}}


def causes(schema: dict[str, Any], value: Any, old: Any = None) -> list[tuple[str, str, str]]:
    found = [error.as_cause() for error in StructuralSchema.parse(schema).validate(value, old)]
    return [
        (cause["field"], cause["reason"].removeprefix("FieldValue"), cause["message"])
        for cause in found
    ]


INTEGER = {"type": "integer"}
STRING = {"type": "string"}
KEYED = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
    "items": {"type": "object", "required": ["k"], "properties": {"k": STRING, "n": INTEGER}},
}

VALID: dict[str, tuple[dict[str, Any], Any]] = {
    "a float without a fraction is an integer": (INTEGER, 2.0),
    "an integer is a number": ({"type": "number"}, 3),
    "an integer beyond floats is an integer": (INTEGER, 2**62 + 1),
    "a pattern matches inside": ({"type": "string", "pattern": "[a-z]+"}, "1abc2"),
    "length counts characters, not bytes": ({"type": "string", "maxLength": 5}, "äöüßé"),
    "an unknown format means nothing": ({"type": "string", "format": "nonsense"}, "anything"),
    "a time in RFC 3339": ({"type": "string", "format": "date-time"}, "2024-01-02T03:04:05Z"),
    "the lower bound": ({"type": "integer", "minimum": 1}, 1),
    "the upper bound": ({"type": "integer", "maximum": 10}, 10),
    "below an exclusive bound": (
        {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
        4,
    ),
    "a multiple": ({"type": "integer", "multipleOf": 3}, 6),
    "a fractional multiple": ({"type": "number", "multipleOf": 0.1}, 0.3),
    "an int for int-or-string": ({"x-kubernetes-int-or-string": True}, 80),
    "a string for int-or-string": ({"x-kubernetes-int-or-string": True}, "http"),
    "null where allowed": ({"type": "integer", "nullable": True}, None),
    "one in an enumeration of numbers": ({"type": "number", "enum": [1, 2]}, 1.0),
    "a set without repetitions": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        ["x", "y"],
    ),
    "a keyed list with different keys": (KEYED, [{"k": "a"}, {"k": "b"}]),
    "an integer at a fractional limit, which is cut off": (
        {"type": "number", "minimum": 0.5, "maximum": 0.5},
        0,
    ),
    "an array for a format of strings": ({"type": "string", "format": "date"}, [1]),
    "the second alternative": (
        {"type": "object", "properties": {"a": INTEGER}, "anyOf": [{"required": ["x"]}, {}]},
        {},
    ),
}


@pytest.mark.parametrize(("schema", "value"), VALID.values(), ids=VALID.keys())
def test_is_valid(schema: dict[str, Any], value: Any) -> None:
    assert causes(object_with(v=schema), {"spec": {"v": value}}) == []


INVALID: dict[str, tuple[dict[str, Any], Any, list[tuple[str, str, str]]]] = {
    "wrong type": (
        STRING,
        1,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "integer": spec.v in body must be of type string: "integer"',
            )
        ],
    ),
    "fraction for an integer": (
        INTEGER,
        1.5,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "number": spec.v in body must be of type integer: "number"',
            ),
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": Checked value must be of type integer (default format) '
                "in spec.v",
            ),
        ],
    ),
    "integer out of the range of its format": (
        {"type": "integer", "format": "int32"},
        2**31,
        [
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": Checked value must be of type integer with format int32 '
                "in spec.v",
            )
        ],
    ),
    "boolean for an integer": (
        INTEGER,
        True,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "boolean": spec.v in body must be of type integer: "boolean"',
            )
        ],
    ),
    "null where not allowed": (
        INTEGER,
        None,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "null": spec.v in body must be of type integer: "null"',
            )
        ],
    ),
    "neither int nor string": (
        {"x-kubernetes-int-or-string": True},
        {},
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "object": spec.v in body must be of type integer,string: "object"',
            )
        ],
    ),
    "wrong item": (
        {"type": "array", "items": {"type": "array", "items": INTEGER}},
        [[1], ["x"]],
        [
            (
                "spec.v[1][0]",
                "TypeInvalid",
                'Invalid value: "string": spec.v[1][0] in body must be of type integer: "string"',
            )
        ],
    ),
    "wrong map value": (
        {"type": "object", "additionalProperties": INTEGER},
        {"k": "v"},
        [
            (
                "spec.v.k",
                "TypeInvalid",
                'Invalid value: "string": spec.v.k in body must be of type integer: "string"',
            )
        ],
    ),
    "too few items": (
        {"type": "array", "minItems": 1, "items": INTEGER},
        [],
        [("spec.v", "Invalid", "Invalid value: 0: spec.v in body should have at least 1 items")],
    ),
    "too many items": (
        {"type": "array", "maxItems": 2, "items": INTEGER},
        [1, 2, 3],
        [("spec.v", "TooMany", "Too many: 3: must have at most 2 items")],
    ),
    "too few properties": (
        {"type": "object", "minProperties": 1, "additionalProperties": STRING},
        {},
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 0: spec.v in body should have at least 1 properties",
            )
        ],
    ),
    "too many properties": (
        {"type": "object", "maxProperties": 1, "additionalProperties": STRING},
        {"a": "1", "b": "2"},
        [("spec.v", "TooMany", "Too many: 2: must have at most 1 item")],
    ),
    "repeated in a set": (
        {"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
        ["x", "x", "x"],
        [("spec.v[1]", "Duplicate", 'Duplicate value: "x"')],
    ),
    "repeated key": (
        KEYED,
        [{"k": "a"}, {"k": "a"}],
        [("spec.v[1]", "Duplicate", 'Duplicate value: {"k":"a"}')],
    ),
    "missing key": (KEYED, [{}], [("spec.v[0].k", "Required", "Required value")]),
    "below the minimum": (
        {"type": "integer", "minimum": 1},
        0,
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 0: spec.v in body should be greater than or equal to 1",
            )
        ],
    ),
    "at an exclusive minimum": (
        {"type": "number", "minimum": 0.5, "exclusiveMinimum": True},
        0.5,
        [("spec.v", "Invalid", "Invalid value: 0.5: spec.v in body should be greater than 0.5")],
    ),
    "above the maximum": (
        {"type": "integer", "maximum": 10},
        11,
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 11: spec.v in body should be less than or equal to 10",
            )
        ],
    ),
    "at an exclusive maximum": (
        {"type": "integer", "maximum": 5, "exclusiveMaximum": True},
        5,
        [("spec.v", "Invalid", "Invalid value: 5: spec.v in body should be less than 5")],
    ),
    "no multiple": (
        {"type": "integer", "multipleOf": 3},
        7,
        [("spec.v", "Invalid", "Invalid value: 7: spec.v in body should be a multiple of 3")],
    ),
    "a multiple of a fraction of an integer": (
        {"type": "number", "multipleOf": 0.1},
        1,
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 0: factor MultipleOf declared for spec.v must be positive: 0",
            )
        ],
    ),
    "a multiple of a fraction": ({"type": "number", "multipleOf": 0.1}, 0.5, []),
    "an integer that is too large": (
        {"type": "integer"},
        1e30,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "number": spec.v in body must be of type integer: "number"',
            ),
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": Checked value must be of type integer (default format) in '
                "spec.v",
            ),
        ],
    ),
    "an integer at an exclusive fractional limit": (
        {"type": "number", "maximum": 9.5, "exclusiveMaximum": True},
        9,
        [("spec.v", "Invalid", "Invalid value: 9: spec.v in body should be less than 9")],
    ),
    "limits that do not fit the type": (
        {"type": "integer", "format": "int32", "maximum": 1.5, "minimum": 1e10},
        2,
        [
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": Minimum boundary value must be of type integer with format '
                "int32 in spec.v",
            ),
            (
                "spec.v",
                "Invalid",
                "Invalid value: 2: spec.v in body should be greater than or equal to 1e+10",
            ),
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": Maximum boundary value must be of type integer with format '
                "int32 in spec.v",
            ),
            (
                "spec.v",
                "Invalid",
                "Invalid value: 2: spec.v in body should be less than or equal to 1.5",
            ),
        ],
    ),
    "a text of another format for an int or string": (
        {"x-kubernetes-int-or-string": True, "format": "date"},
        "x",
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "x": spec.v in body must be of type date: "x"',
            )
        ],
    ),
    "null in an enumeration": (
        {"type": "string", "nullable": True, "enum": ["a", None]},
        None,
        [("spec.v", "NotSupported", 'Unsupported value: null: supported values: "a", "null"')],
    ),
    "no multiple of anything": (
        {"type": "number", "multipleOf": 1e-300},
        1e300,
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 1e+300: spec.v in body should be a multiple of 1e-300",
            )
        ],
    ),
    "too short": (
        {"type": "string", "minLength": 2},
        "x",
        [
            (
                "spec.v",
                "Invalid",
                'Invalid value: "x": spec.v in body should be at least 2 chars long',
            )
        ],
    ),
    "too long": (
        {"type": "string", "maxLength": 5},
        "xxxxxx",
        [("spec.v", "TooLong", "Too long: may not be more than 5 bytes")],
    ),
    "no match": (
        {"type": "string", "pattern": "[a-z]+"},
        "ABC",
        [("spec.v", "Invalid", "Invalid value: \"ABC\": spec.v in body should match '[a-z]+'")],
    ),
    "not in the enumeration": (
        {"type": "string", "enum": ["red", "blue"]},
        "green",
        [
            (
                "spec.v",
                "NotSupported",
                'Unsupported value: "green": supported values: "red", "blue"',
            )
        ],
    ),
    "true is not one": (
        {"enum": [1], "x-kubernetes-preserve-unknown-fields": True},
        True,
        [("spec.v", "NotSupported", 'Unsupported value: true: supported values: "1"')],
    ),
    "not in the format": (
        {"type": "string", "format": "date-time"},
        "yesterday",
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "yesterday": spec.v in body must be of type date-time: "yesterday"',
            )
        ],
    ),
    "number where a format is demanded": (
        {"type": "string", "format": "date-time"},
        5,
        [
            (
                "spec.v",
                "TypeInvalid",
                'Invalid value: "int64": spec.v in body must be of type date-time: "int64"',
            )
        ],
    ),
    "forbidden property": (
        {"type": "object", "additionalProperties": False},
        {"a": 1},
        [("spec.v", "Invalid", 'Invalid value: "a": spec.v.a in body is a forbidden property')],
    ),
    "excluded value": (
        {"type": "integer", "not": {"enum": [13]}},
        13,
        [("<nil>", "Invalid", 'Invalid value: "": "spec.v" must not validate the schema (not)')],
    ),
    "no alternative": (
        {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 2}]},
        3,
        [
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": "spec.v" must validate at least one schema (anyOf)',
            ),
            (
                "spec.v",
                "Invalid",
                "Invalid value: 3: spec.v in body should be greater than or equal to 5",
            ),
        ],
    ),
    "not all": (
        {"type": "integer", "allOf": [{"minimum": 5}, {"maximum": 9}]},
        3,
        [
            (
                "spec.v",
                "Invalid",
                "Invalid value: 3: spec.v in body should be greater than or equal to 5",
            ),
            (
                "<nil>",
                "Invalid",
                'Invalid value: "": "spec.v" must validate all the schemas (allOf)',
            ),
        ],
    ),
}


@pytest.mark.parametrize(("schema", "value", "expected"), INVALID.values(), ids=INVALID.keys())
def test_is_refused_with_these_causes(
    schema: dict[str, Any], value: Any, expected: list[tuple[str, str, str]]
) -> None:
    assert causes(object_with(v=schema), {"spec": {"v": value}}) == expected


ONE_OF = {
    "type": "object",
    "properties": {"a": INTEGER, "b": INTEGER},
    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
}


def test_one_of_without_a_valid_alternative_reports_the_best() -> None:
    assert causes(object_with(v=ONE_OF), {"spec": {"v": {}}}) == [
        (
            "<nil>",
            "Invalid",
            'Invalid value: "": "spec.v" must validate one and only one schema (oneOf). '
            "Found none valid",
        ),
        ("spec.v.a", "Required", "Required value"),
    ]


def test_one_of_with_two_valid_alternatives_reports_their_number() -> None:
    assert causes(object_with(v=ONE_OF), {"spec": {"v": {"a": 1, "b": 2}}}) == [
        (
            "<nil>",
            "Invalid",
            'Invalid value: "": "spec.v" must validate one and only one schema (oneOf). '
            "Found 2 valid alternatives",
        )
    ]


def test_a_required_field_is_reported_below_the_object_that_lacks_it() -> None:
    schema = {**object_with(), "required": ["spec"]}

    assert causes(schema, {}) == [("spec", "Required", "Required value")]


def test_an_update_is_forgiven_what_it_did_not_change() -> None:
    schema = object_with(v={"type": "integer", "minimum": 5}, w=INTEGER)
    old = {"spec": {"v": 1, "w": 1}}

    assert causes(schema, {"spec": {"v": 1, "w": 2}}, old) == []
    assert len(causes(schema, {"spec": {"v": 2, "w": 1}}, old)) == 1


def test_an_update_is_forgiven_unchanged_items_of_a_keyed_list_only() -> None:
    keyed = copy.deepcopy(KEYED)
    keyed["items"]["properties"]["n"]["minimum"] = 5  # type: ignore[index]
    plain = {"type": "array", "items": keyed["items"]}
    old = {"spec": {"v": [{"k": "a", "n": 1}]}}
    new = {"spec": {"v": [{"k": "b", "n": 6}, {"k": "a", "n": 1}]}}

    assert causes(object_with(v=keyed), new, old) == []
    assert [field for field, _, _ in causes(object_with(v=plain), new, old)] == ["spec.v[1].n"]


def test_an_update_is_forgiven_repetitions_that_were_there_before() -> None:
    schema = object_with(v={"type": "array", "x-kubernetes-list-type": "set", "items": STRING})
    repeated = {"spec": {"v": ["x", "x"]}}

    assert causes(schema, {"spec": {"v": ["x", "x", "y", "y"]}}, repeated) == []
    assert len(causes(schema, repeated, {"spec": {"v": ["x"]}})) == 1


def test_errors_below_a_path_show_it() -> None:
    schema = StructuralSchema.parse(object_with(v=INTEGER))

    (error,) = schema.validate({"spec": {"v": "x"}}, path="template")

    assert error.field == "template.spec.v"


def test_embedded_resources_need_an_identity() -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    value = {"spec": {"v": {"kind": "", "metadata": []}}}

    assert [error[:2] for error in causes(object_with(v=embedded), value)] == [
        ("spec.v.apiVersion", "Required"),
        ("spec.v.kind", "Invalid"),
        ("spec.v.metadata", "Invalid"),
    ]


@pytest.mark.parametrize("junctor", ["allOf", "anyOf", "oneOf"])
def test_an_update_is_forgiven_unchanged_members_in_alternatives(junctor: str) -> None:
    schema = object_with(v={"type": "integer"}, w={"type": "integer"})
    schema["properties"]["spec"][junctor] = [{"properties": {"v": {"maximum": 0}}}]
    old = {"spec": {"v": 1, "w": 1}}

    assert causes(schema, {"spec": {"v": 1, "w": 2}}, old) == []
    assert causes(schema, {"spec": {"v": 2, "w": 1}}, old)
