"""Schemas that an API server accepts for custom resources, and the causes for those it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema import SchemaError, StructuralSchema

PATH = "spec.validation.openAPIV3Schema"
SPEC = f"{PATH}.properties[spec]"
A = f"{SPEC}.properties[a]"


def with_spec(spec: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": spec}}


def with_a(a: dict[str, Any]) -> dict[str, Any]:
    return with_spec({"type": "object", "properties": {"a": a}})


def with_rule(**rule: Any) -> dict[str, Any]:
    return with_spec(
        {
            "type": "object",
            "properties": {"n": {"type": "integer"}},
            "x-kubernetes-validations": [rule],
        }
    )


def refusal(schema: Any) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        StructuralSchema.parse(schema)
    return [str(cause) for cause in caught.value.causes]


STRING = {"type": "string"}
RULE = f"{SPEC}.x-kubernetes-validations[0]"

REFUSED: dict[str, tuple[Any, list[str]]] = {
    "no type at the root": (
        {"properties": {"a": STRING}},
        [f"{PATH}.type: Required value: must not be empty at the root"],
    ),
    "root of another type": (
        STRING,
        [f'{PATH}.type: Invalid value: "string": must be object at the root'],
    ),
    "nullable root": (
        {"type": "object", "nullable": True},
        [f"{PATH}.nullable: Forbidden: nullable cannot be true at the root"],
    ),
    "map at the root": (
        {"type": "object", "additionalProperties": STRING},
        [f"{PATH}.additionalProperties: Forbidden: must not be used at the root"],
    ),
    "keyword of the wrong type": (
        {"type": "object", "required": "name"},
        [f'{PATH}: Invalid value: "": Expected `array`, got `str` - at `$.required`'],
    ),
    "no type of a field": (
        with_spec({"properties": {"a": STRING}}),
        [f"{SPEC}.type: Required value: must not be empty for specified object fields"],
    ),
    "unknown type": (
        with_a({"type": "date"}),
        [
            f'{A}.type: Unsupported value: "date": supported values: "array", "boolean", '
            '"integer", "number", "object", "string"'
        ],
    ),
    "types only below anyOf": (
        with_a({"anyOf": [{"type": "integer"}, {"type": "number"}]}),
        [
            f"{A}.anyOf[0].type: Forbidden: must be empty to be structural",
            f"{A}.anyOf[1].type: Forbidden: must be empty to be structural",
            f"{A}.type: Required value: must not be empty for specified object fields",
        ],
    ),
    "reference": (
        with_spec({"$ref": "#/definitions/x"}),
        [f"{SPEC}.$ref: Forbidden: $ref is not supported"],
    ),
    "uniqueItems": (
        with_a({"type": "array", "uniqueItems": True, "items": STRING}),
        [
            f"{A}.uniqueItems: Forbidden: uniqueItems cannot be set to true since the runtime "
            "complexity becomes quadratic"
        ],
    ),
    "array without items": (
        with_a({"type": "array"}),
        [f"{A}.items: Required value: must be specified"],
    ),
    "items of no type": (
        with_a({"type": "array", "items": {}}),
        [f"{A}.items.type: Required value: must not be empty for specified array items"],
    ),
    "several item schemas": (
        with_a({"type": "array", "items": [STRING]}),
        [f"{A}.items: Forbidden: items must be a schema object and not an array"],
    ),
    "properties and additionalProperties": (
        with_a(
            {"type": "object", "properties": {"x": STRING}, "additionalProperties": STRING},
        ),
        [
            f"{A}.additionalProperties: Forbidden: additionalProperties and properties are "
            "mutual exclusive"
        ],
    ),
    "metadata beyond names": (
        {
            "type": "object",
            "properties": {"metadata": {"type": "object", "properties": {"labels": STRING}}},
        },
        [
            f"{PATH}.properties[metadata]: Forbidden: must not specify anything other than name "
            "and generateName, but metadata is implicitly specified"
        ],
    ),
    "restriction of an unspecified field at the root": (
        {"type": "object", "anyOf": [{"properties": {"b": {"minimum": 1}}}]},
        [
            f"{PATH}.properties[b]: Required value: because it is defined in "
            f"{PATH}.anyOf[0].properties[b]"
        ],
    ),
    "structure below a junctor": (
        with_a({"type": "string", "not": {"nullable": True, "default": "x", "title": "t"}}),
        [
            f"{A}.not.default: Forbidden: must be undefined to be structural",
            f"{A}.not.nullable: Forbidden: must be false to be structural",
            f"{A}.not.title: Forbidden: must be empty to be structural",
        ],
    ),
    "pattern that Go does not know": (
        with_a({"type": "string", "pattern": "(?=x)"}),
        [
            f'{A}.pattern: Invalid value: "(?=x)": must be a valid regular expression, but '
            "isn't: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"
        ],
    ),
    "list type of a text": (
        with_a({"type": "string", "x-kubernetes-list-type": "set"}),
        [
            f'{A}.type: Invalid value: "string": must be array if x-kubernetes-list-type is '
            "specified"
        ],
    ),
    "keyed list without keys": (
        with_a(
            {"type": "array", "x-kubernetes-list-type": "map", "items": {"type": "object"}},
        ),
        [
            f"{A}.x-kubernetes-list-map-keys: Required value: must not be empty if "
            "x-kubernetes-list-type is map"
        ],
    ),
    "key that may be absent": (
        with_a(
            {
                "type": "array",
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": STRING}},
            }
        ),
        [
            f"{A}.items.properties[k].default: Required value: this property is in "
            "x-kubernetes-list-map-keys, so it must have a default or be a required property"
        ],
    ),
    "preserving that is switched off": (
        with_a({"type": "object", "x-kubernetes-preserve-unknown-fields": False}),
        [
            f"{A}.x-kubernetes-preserve-unknown-fields: Invalid value: false: must be true or "
            "undefined"
        ],
    ),
    "default of the wrong type": (
        with_a({"type": "integer", "default": "text"}),
        [
            f'{A}.default: Invalid value: "string":  in body must be of type integer: "string"',
        ],
    ),
    "default out of bounds": (
        with_a({"type": "integer", "maximum": 5, "default": 6}),
        [f"{A}.default: Invalid value: 6:  in body should be less than or equal to 5"],
    ),
    "default with unknown fields": (
        with_a({"type": "object", "properties": {"x": STRING}, "default": {"y": 1}}),
        [f'{A}.default: Invalid value: {{"y":1}}: must not have unknown fields'],
    ),
    "default in metadata": (
        {
            "type": "object",
            "properties": {
                "metadata": {
                    "type": "object",
                    "properties": {"name": {"type": "string", "default": "x"}},
                }
            },
        },
        [
            f"{PATH}.properties[metadata].properties[name].default: Forbidden: must not be set "
            "in top-level metadata"
        ],
    ),
    "empty rule": (
        with_rule(rule=" "),
        [f"{RULE}.rule: Required value: rule is not specified"],
    ),
    "unknown reason": (
        with_rule(rule="true", reason="Because"),
        [
            f'{RULE}.reason: Unsupported value: "Because": supported values: '
            '"FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", '
            '"FieldValueRequired"'
        ],
    ),
    "field path to nowhere": (
        with_rule(rule="true", fieldPath=".zz"),
        [f'{RULE}.fieldPath: Invalid value: ".zz": must be a valid path'],
    ),
}


@pytest.mark.parametrize(("schema", "expected"), REFUSED.values(), ids=REFUSED.keys())
def test_is_refused_with_these_causes(schema: Any, expected: list[str]) -> None:
    assert refusal(schema) == expected


ACCEPTED: dict[str, dict[str, Any]] = {
    "preserving everything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    "int-or-string": with_a({"x-kubernetes-int-or-string": True}),
    "int-or-string, spelt out": with_a(
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
        }
    ),
    "int-or-string with more conditions": with_a(
        {
            "x-kubernetes-int-or-string": True,
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"maxLength": 3}],
        }
    ),
    "names in metadata": {
        "type": "object",
        "properties": {
            "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    },
    "null as no default": with_a({"type": "integer", "default": None}),
    "a nested default": with_spec(
        {"type": "object", "default": {}, "properties": {"a": {"type": "integer", "default": 1}}}
    ),
    "restriction of a specified field": with_spec(
        {
            "type": "object",
            "properties": {"b": {"type": "integer"}},
            "anyOf": [{"properties": {"b": {"minimum": 1}}}, {"required": ["b"]}],
        }
    ),
}


@pytest.mark.parametrize("schema", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_is_accepted(schema: dict[str, Any]) -> None:
    StructuralSchema.parse(schema)


def test_causes_show_where_the_caller_found_the_schema() -> None:
    with pytest.raises(SchemaError) as caught:
        StructuralSchema.parse({}, path="spec.versions[1].schema.openAPIV3Schema")

    assert caught.value.causes[0].field == "spec.versions[1].schema.openAPIV3Schema.type"


def test_the_status_subresource_restricts_the_root() -> None:
    schema = {"type": "object", "minProperties": 1, "oneOf": [{"required": ["spec"]}, {}]}

    StructuralSchema.parse(schema)
    with pytest.raises(SchemaError, match="if the status subresource is enabled"):
        StructuralSchema.parse(schema, has_status=True)


def test_a_status_is_validated_alone_and_the_rules_of_the_object_with_it() -> None:
    status = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    limit = "!has(self.status) || !has(self.status.n) || self.status.n < 10"
    rule = {"rule": limit, "message": "too many"}
    schema = StructuralSchema.parse(
        {
            "type": "object",
            "required": ["spec"],
            "properties": {"status": status, "l": {**SET_OF_TEXTS}},
            "x-kubernetes-validations": [rule],
        }
    )
    old = {"status": {"n": 1}}

    def fields(value: dict[str, Any], before: dict[str, Any] = old) -> list[str]:
        return [str(error) for error in schema.validate_status(value, before)]

    assert fields({"status": {"n": 2}}) == []
    assert fields({}) == []
    assert fields({"status": {}})[0] == "status.n: Required value"
    assert fields({"status": {"n": 11}}) == ["<nil>: Invalid value: too many"]
    assert fields({"status": {}}, {"status": {}}) == []
    twice = {"l": ["a", "a"], "status": {"n": 1}}
    assert fields(twice) == ['l[1]: Duplicate value: "a"']
    assert fields(twice, twice) == []


SET_OF_TEXTS = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
