"""Validation rules in CEL, as an API server applies them to custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.cel import environment
from clientgo.testcluster.schema import SchemaError, StructuralSchema
from clientgo.testcluster.schema.rules import cel_rules

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
RULES = "x-kubernetes-validations"


def schema_of(spec: dict[str, Any], **root: Any) -> StructuralSchema:
    return StructuralSchema.parse({"type": "object", "properties": {"spec": spec}, **root})


def spec_with(*rules: dict[str, Any], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, RULES: list(rules)}


def rule(expression: str, **more: Any) -> dict[str, Any]:
    return {"rule": expression, **more}


def problems(schema: StructuralSchema, spec: Any, old: Any = None) -> list[str]:
    old_object = None if old is None else {"spec": old}
    return [str(error) for error in schema.validate({"spec": spec}, old_object)]


def refusal(spec: dict[str, Any]) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        schema_of(spec)
    return [str(cause) for cause in caught.value.causes]


def test_a_broken_rule_is_reported_with_its_message() -> None:
    schema = schema_of(spec_with(rule("self.n > 1", message="too small"), n=INTEGER))

    assert problems(schema, {"n": 2}) == []
    assert problems(schema, {"n": 1}) == ["spec: Invalid value: too small"]


def test_a_rule_without_message_is_quoted() -> None:
    schema = schema_of(spec_with(rule(" self.n > 1 "), n=INTEGER))

    assert problems(schema, {"n": 1}) == ["spec: Invalid value: failed rule: self.n > 1"]


def test_a_rule_on_a_scalar_shows_the_value() -> None:
    schema = schema_of(spec_with(n={**INTEGER, RULES: [rule("self > 1", message="no")]}))

    assert problems(schema, {"n": 1}) == ["spec.n: Invalid value: 1: no"]


def test_a_message_expression_wins_over_the_message() -> None:
    shown = rule("self.n > 1", message="no", messageExpression="'n is %d'.format([self.n])")

    assert problems(schema_of(spec_with(shown, n=INTEGER)), {"n": 1}) == [
        "spec: Invalid value: n is 1"
    ]


@pytest.mark.parametrize("expression", ["string(1 / (self.n - 1))", "'a\\nb'", "' '"])
def test_a_message_expression_that_is_of_no_use_gives_way(expression: str) -> None:
    shown = rule("self.n > 1", message="no", messageExpression=expression)

    assert problems(schema_of(spec_with(shown, n=INTEGER)), {"n": 1}) == ["spec: Invalid value: no"]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("FieldValueForbidden", "spec.n: Forbidden: no"),
        ("FieldValueRequired", "spec.n: Required value: no"),
        ("FieldValueDuplicate", "spec.n: Duplicate value"),
        ("FieldValueInvalid", "spec.n: Invalid value: no"),
    ],
)
def test_a_rule_may_tell_reason_and_field(reason: str, text: str) -> None:
    reported = rule("self.n > 1", message="no", reason=reason, fieldPath=".n")

    assert problems(schema_of(spec_with(reported, n=INTEGER)), {"n": 1}) == [text]


def test_a_rule_at_the_root_sees_names_of_the_metadata() -> None:
    schema = schema_of(
        {"type": "object"}, **{RULES: [rule("self.metadata.name.startsWith('w-')", message="no")]}
    )

    assert schema.validate({"metadata": {"name": "w-1"}}) == []
    assert [str(error) for error in schema.validate({"metadata": {"name": "x"}})] == [
        "<nil>: Invalid value: no"
    ]


def test_rules_run_in_items_map_values_and_below() -> None:
    inner = {**INTEGER, RULES: [rule("self > 1", message="no")]}
    schema = schema_of(
        spec_with(
            l={"type": "array", "items": inner},
            m={"type": "object", "additionalProperties": inner},
        )
    )

    assert problems(schema, {"l": [2, 1], "m": {"k": 0}}) == [
        "spec.l[1]: Invalid value: 1: no",
        "spec.m[k]: Invalid value: 0: no",
    ]


def test_an_expression_that_fails_is_a_cause() -> None:
    schema = schema_of(spec_with(rule("self.n > 1", message="no"), n=INTEGER))

    assert problems(schema, {}) == [
        'spec: Invalid value: "object": no such key: n evaluating rule: no'
    ]


def test_rules_wait_until_the_object_makes_sense() -> None:
    schema = schema_of(
        spec_with(rule("self.n > 1"), n=INTEGER, m=INTEGER),
    )

    assert problems(schema, {"n": 1, "m": "x"}) == [
        'spec.m: Invalid value: "string": spec.m in body must be of type integer: "string"',
        "<nil>: Invalid value: null: some validation rules were not checked because the object "
        "was invalid; correct the existing errors to complete validation",
    ]


def test_a_transition_rule_runs_on_updates_only() -> None:
    schema = schema_of(spec_with(rule("self.n >= oldSelf.n", message="no"), n=INTEGER))

    assert problems(schema, {"n": 1}) == []
    assert problems(schema, {"n": 1}, {"n": 1}) == []
    assert problems(schema, {"n": 1}, {"n": 2}) == ["spec: Invalid value: no"]


def test_a_transition_rule_with_optional_old_self_runs_always() -> None:
    optional = rule(
        "oldSelf.hasValue() ? self.n >= oldSelf.value().n : self.n == 0",
        message="no",
        optionalOldSelf=True,
    )
    schema = schema_of(spec_with(optional, n=INTEGER))

    assert problems(schema, {"n": 1}) == ["spec: Invalid value: no"]
    assert problems(schema, {"n": 0}) == []
    assert problems(schema, {"n": 2}, {"n": 1}) == []


def test_items_of_a_keyed_list_know_their_old_value() -> None:
    item = {
        "type": "object",
        "required": ["k"],
        "properties": {"k": STRING, "n": INTEGER},
        RULES: [rule("self.n >= oldSelf.n", message="no")],
    }
    keyed = {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": item,
    }

    assert problems(
        schema_of(spec_with(l=keyed)),
        {"l": [{"k": "b", "n": 1}, {"k": "a", "n": 1}]},
        {"l": [{"k": "a", "n": 2}]},
    ) == ["spec.l[1]: Invalid value: no"]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (STRING, 1),
        (INTEGER, "x"),
        (INTEGER, True),
        ({"type": "number"}, []),
        ({"type": "boolean"}, 0),
        ({"type": "string", "format": "date-time"}, 5),
        ({"type": "array", "items": STRING}, "text"),
        ({"type": "array", "items": STRING}, [{}]),
        ({"type": "object", "additionalProperties": STRING}, ["x"]),
        ({"type": "object", "properties": {"a": STRING}}, []),
        ({"x-kubernetes-int-or-string": True}, {}),
    ],
)
def test_a_value_that_is_older_than_its_schema_fails_the_rules_that_read_it(
    schema: dict[str, Any], value: Any
) -> None:
    """Its unchanged type is no error by itself."""
    other, reading, asking = rule("self.n == 1"), rule("self.v == self.v"), rule("has(self.v)")
    spec = {"v": value, "n": 1}

    def of(*rules: dict[str, Any]) -> list[str]:
        return problems(schema_of(spec_with(*rules, v=schema, n=INTEGER)), spec, spec)

    assert of(other, asking) == []
    [problem] = of(reading)
    assert "expected a value of the type of its schema evaluating rule: self.v == self.v" in problem


def test_the_rules_of_a_value_that_is_older_than_its_schema_fail() -> None:
    schema = schema_of(spec_with(rule("has(self.n)"), n=INTEGER))

    [problem] = problems(schema, [], [])

    assert problem.endswith("the type of its schema evaluating rule: has(self.n)")


def test_an_old_value_of_another_type_fails_the_rules_that_compare_with_it() -> None:
    plain = schema_of(spec_with(n={**INTEGER, RULES: [rule("self > 1")]}))
    compared = schema_of(spec_with(n={**INTEGER, RULES: [rule("self != oldSelf")]}))

    assert problems(plain, {"n": 2}, {"n": "2"}) == []
    assert len(problems(compared, {"n": 2}, {"n": "2"})) == 1


def test_an_update_that_does_not_touch_the_broken_part_is_warned() -> None:
    strict = {**INTEGER, RULES: [rule("self > 1", message="no")]}
    schema = schema_of(spec_with(n=strict, m=INTEGER))
    warnings: list[str] = []

    errors = schema.validate(
        {"spec": {"n": 1, "m": 2}}, {"spec": {"n": 1, "m": 1}}, warn=warnings.append
    )

    assert errors == []
    assert warnings == ["spec.n: Invalid value: 1: no"]


def test_property_names_are_escaped() -> None:
    names = {"a-b": INTEGER, "c.d": INTEGER, "e/f": INTEGER, "g__h": INTEGER, "namespace": INTEGER}
    total = (
        "self.a__dash__b + self.c__dot__d + self.e__slash__f + self.g__underscores__h + "
        "self.__namespace__ == 5 && self.namespace == 1"
    )

    assert problems(schema_of(spec_with(rule(total), **names)), dict.fromkeys(names, 1)) == []


def test_values_are_of_the_type_that_the_schema_says() -> None:
    schema = schema_of(
        spec_with(
            rule("self.d / 2.0 == 1.5 && type(self.d) == double"),
            rule("self.i + 1 == 3 && type(self.i) == int"),
            rule("self.t < timestamp('2025-01-01T00:00:00Z')"),
            rule("self.s > duration('1h')"),
            rule("self.b == b'hello'"),
            rule("type(self.p) == int ? self.p > 1 : self.p == 'http'"),
            d={"type": "number"},
            i=INTEGER,
            t={"type": "string", "format": "date-time"},
            s={"type": "string", "format": "duration"},
            b={"type": "string", "format": "byte"},
            p={"x-kubernetes-int-or-string": True},
        )
    )
    spec = {"d": 3, "i": 2.0, "t": "2024-01-01T00:00:00Z", "s": "2h", "b": "aGVsbG8="}

    assert problems(schema, {**spec, "p": 80}) == []
    assert problems(schema, {**spec, "p": "http"}) == []


@pytest.mark.parametrize(
    ("schema", "expression"),
    [
        (STRING, "self.v[0].startsWith('a')"),
        (STRING, "size(self.v[0]) > 0"),
        (STRING, "self.v[0].replace('a', 'b', 1) == 'a'"),
        ({**STRING, "format": "date-time"}, "self.v[0].getHours() == 1"),
        ({**STRING, "format": "duration"}, "self.v[0] + self.v[0] == self.v[0]"),
        (INTEGER, "self.v[0] + 1 == 2"),
        ({"type": "boolean"}, "!self.v[0]"),
        ({"type": "object", "additionalProperties": STRING}, "'a' in self.v[0]"),
    ],
)
def test_a_null_is_no_argument_of_a_function(schema: dict[str, Any], expression: str) -> None:
    items = {**schema, "nullable": True, "maxLength": 9}
    nullable = schema_of(spec_with(rule(expression), v={"type": "array", "items": items}))

    (problem,) = problems(nullable, {"v": [None]})

    assert "'no such overload': call arguments did not match" in problem


def test_a_field_that_is_null_is_absent() -> None:
    nullable = {**STRING, "nullable": True}
    absent = schema_of(spec_with(rule("!has(self.v)"), v=nullable))
    assert problems(absent, {"v": None}) == []

    read = schema_of(spec_with(rule("self.v == 'a'"), v=nullable))
    (problem,) = problems(read, {"v": None})
    assert "no such key: v" in problem


def test_objects_are_equal_if_their_unknown_fields_are() -> None:
    open_object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    items = {"type": "array", "items": open_object, "maxItems": 2}
    schema = schema_of(spec_with(rule("self.v[0] == self.v[1]"), v=items))

    assert problems(schema, {"v": [{"a": 1}, {"a": 1}]}) == []
    assert len(problems(schema, {"v": [{"a": 1}, {"a": 2}]})) == 1


def test_items_of_a_keyed_list_are_found_by_keys_that_no_expression_can_name() -> None:
    item = {"type": "object", "properties": {"k!": STRING}, "required": ["k!"]}
    keyed = {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k!"]}
    lists = {"type": "array", "items": {**keyed, "items": item, "maxItems": 2}, "maxItems": 2}
    schema = schema_of(spec_with(rule("self.v[0] == self.v[1]"), v=lists))

    assert problems(schema, {"v": [[{"k!": "a"}, {"k!": "b"}], [{"k!": "b"}, {"k!": "a"}]]}) == []
    assert len(problems(schema, {"v": [[{"k!": "a"}], [{"k!": "b"}]]})) == 1


@pytest.mark.parametrize("name", ["namespace", "if", "as", "for", "package", "while", "self"])
def test_reserved_words_are_field_names_after_a_dot(name: str) -> None:
    schema = schema_of(spec_with(rule(f"has(self.{name}) && self.{name} == 1"), **{name: INTEGER}))
    assert problems(schema, {name: 1}) == []


@pytest.mark.parametrize("name", ["true", "false", "null", "in"])
def test_words_of_the_grammar_are_no_field_names(name: str) -> None:
    (problem,) = refusal(spec_with(rule(f"self.{name} == 1"), **{name: INTEGER}))
    assert "Syntax error" in problem


def test_an_embedded_resource_that_declares_its_header_shows_it() -> None:
    metadata = {"type": "object", "properties": {"name": STRING, "namespace": STRING}}
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"kind": STRING, "apiVersion": STRING, "metadata": metadata},
    }
    schema = schema_of(spec_with(rule("self.v.metadata.namespace == 'a'"), v=embedded))
    resource = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}}

    assert problems(schema, {"v": resource}) == []


def test_sets_and_keyed_lists_compare_without_order() -> None:
    unordered = {"type": "array", "x-kubernetes-list-type": "set", "items": STRING}
    schema = schema_of(spec_with(rule("self.s == oldSelf.s", message="no"), s=unordered))

    assert problems(schema, {"s": ["a", "b"]}, {"s": ["b", "a"]}) == []
    assert problems(schema, {"s": ["a", "b"]}, {"s": ["b", "c"]}) == ["spec: Invalid value: no"]


def test_preserved_unknown_fields_are_out_of_sight() -> None:
    spec = spec_with(rule("has(self.x)"), n=INTEGER)
    spec["x-kubernetes-preserve-unknown-fields"] = True

    assert "undefined field 'x'" in refusal(spec)[0]


INVALID_RULES: list[tuple[dict[str, Any], str]] = [
    (rule("self.n >"), "compilation failed: ERROR: <input>:1:9: Syntax error: mismatched input"),
    (rule("self.zz > 1"), "compilation failed: ERROR: <input>:1:5: undefined field 'zz'"),
    (rule("self.n + 1"), "cel expression must evaluate to a bool"),
    (rule("uint(-1) == 1u"), "program instantiation failed: unsigned integer overflow"),
    (rule("self.n == 1", messageExpression="'n ' + string(self.n)"), "cost exceeds budget"),
    (rule("true", messageExpression="1"), "messageExpression must evaluate to a string"),
    (rule("true", messageExpression="("), "messageExpression compilation failed"),
    (rule("true", optionalOldSelf=True), "may not be set if oldSelf is not used in rule"),
]


@pytest.mark.parametrize(("invalid", "text"), INVALID_RULES)
def test_a_rule_that_does_not_compile_is_refused(invalid: dict[str, Any], text: str) -> None:
    cause, *_ = refusal(spec_with(invalid, n=INTEGER))

    assert text in cause


def test_rules_beside_a_mistake_are_compiled_and_those_above_it_are_not() -> None:
    broken = {**INTEGER, RULES: [rule("true", fieldPath=".x")]}
    spec = spec_with(rule("nope(self)"), n=broken, m={**INTEGER, RULES: [rule("nope(self)")]})
    properties = "spec.validation.openAPIV3Schema.properties[spec].properties"

    where = [cause.split(": ")[0] for cause in refusal(spec)]

    assert where == [
        f"{properties}[n].{RULES}[0].fieldPath",
        f"{properties}[m].{RULES}[0].rule",
    ]


def test_a_rule_that_does_not_compile_uses_no_old_value() -> None:
    causes = refusal(spec_with(rule("oldSelf.nope", optionalOldSelf=True), n=INTEGER))

    assert [cause.split(": ")[0].rpartition(".")[2] for cause in causes] == [
        "rule",
        "optionalOldSelf",
    ]


def test_the_refused_rule_is_shown_as_an_api_server_shows_it() -> None:
    (cause,) = refusal(spec_with(rule("self.n + 1"), n=INTEGER))

    assert cause == (
        "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: "
        'Invalid value: {"Rule":"self.n + 1","Message":"","MessageExpression":"","Reason":null,'
        '"FieldPath":"","OptionalOldSelf":null}: cel expression must evaluate to a bool'
    )


def test_old_values_are_unknown_below_a_list_without_keys() -> None:
    items = {**INTEGER, RULES: [rule("self > oldSelf")]}

    (cause,) = refusal(spec_with(l={"type": "array", "items": items}))

    assert cause.endswith(
        "oldSelf cannot be used on the uncorrelatable portion of the schema within "
        "spec.validation.openAPIV3Schema.properties[spec].properties[l]"
    )


def test_a_default_must_keep_the_rules() -> None:
    strict = {**INTEGER, "default": 1, RULES: [rule("self > 1", message="no")]}

    assert "default: Invalid value: 1: no" in refusal(spec_with(n=strict))[0]


def test_a_rule_that_costs_too_much_is_the_last_of_its_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(environment, "EVALUATION_LIMIT", 3_000)
    expensive = "self.a.all(x, self.a.all(y, y >= 0))"
    numbers = {"type": "array", "items": INTEGER, "maxItems": 100}
    schema = schema_of(spec_with(rule(expensive), rule("false"), a=numbers))

    assert problems(schema, {"a": [1] * 100}) == [
        "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': "
        "no further validation rules will be run due to call cost exceeds limit for rule: "
        + expensive
    ]


def test_all_rules_of_an_object_share_a_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of the items' rules is cheap enough; a hundred of them are not."""
    monkeypatch.setattr(cel_rules, "OBJECT_LIMIT", 2_000)
    costly = {**STRING, RULES: [rule("lists.range(10).all(x, x >= 0)")]}
    schema = schema_of(spec_with(a={"type": "array", "items": costly, "maxItems": 100}))

    assert problems(schema, {"a": ["x"] * 60}) == []
    assert problems(schema, {"a": ["x"] * 100}) == [
        'spec.a[67]: Invalid value: "string": validation failed due to running out of cost '
        "budget, no further validation rules will be run"
    ]
