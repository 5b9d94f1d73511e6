"""Definitions are refused if their rules cost too much on a real server."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema import SchemaError, StructuralSchema

ROOT = "spec.validation.openAPIV3Schema"
RULES = "x-kubernetes-validations"
INTEGER = {"type": "integer"}


def parse(**properties: Any) -> StructuralSchema:
    return StructuralSchema.parse({"type": "object", "properties": properties})


def refusal(**properties: Any) -> list[tuple[str, str]]:
    with pytest.raises(SchemaError) as refused:
        parse(**properties)
    return [(cause.field, cause.as_cause()["message"]) for cause in refused.value.causes]


def with_rules(schema: dict[str, Any], *rules: str, **more: str) -> dict[str, Any]:
    return schema | {RULES: [{"rule": rule} | more for rule in rules]}


def numbers(**limits: int) -> dict[str, Any]:
    return {"type": "array", "items": {"type": "number"}} | limits


def text(**limits: int) -> dict[str, Any]:
    return {"type": "string"} | limits


def test_a_loop_in_a_loop_over_a_list_without_bounds_is_refused() -> None:
    nested = "self.all(x, self.all(y, x <= y))"

    (field, message), *_ = refusal(a=with_rules(numbers(), nested))

    assert field == f"{ROOT}.properties[a].{RULES}[0].rule"
    assert message == (
        "Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try "
        "simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, "
        "maps, and strings are declared)"
    )
    parse(a=with_rules(numbers(maxItems=1000), nested))


def test_a_small_excess_is_told_exactly() -> None:
    """Of 1,572,863 turns each costs three, and one more for each comparison."""
    rule = "self.all(x, x == 1.0 || x == 2.0 || x == 3.0 || x == 4.0)"

    ((_, message),) = refusal(a=with_rules(numbers(), rule))

    assert "estimated rule cost exceeds budget by factor of 1.101004x" in message


def test_a_rule_costs_as_often_as_it_may_be_evaluated() -> None:
    rule = "self.contains('x')"
    many = {"type": "array", "items": with_rules(text(maxLength=1000), rule)}

    (field, _), *_ = refusal(a=many)

    assert field == f"{ROOT}.properties[a].items.{RULES}[0].rule"
    parse(a=many | {"maxItems": 1000})
    parse(a=with_rules(text(), rule))


def test_places_multiply() -> None:
    inner = {"type": "array", "items": with_rules(text(maxLength=1000), "self.contains('x')")}
    outer = {"type": "object", "additionalProperties": inner | {"maxItems": 100}}

    refusal(a=outer)
    refusal(a=outer | {"maxProperties": 1000})
    parse(a=outer | {"maxProperties": 100})


def test_all_rules_of_a_schema_share_a_limit() -> None:
    """Six million each; the four dearest are named."""
    rule = "self.all(x, x == 0.0)"
    properties = {f"p{number}": with_rules(numbers(), rule) for number in range(16)}

    *named, (field, message) = refusal(**properties)

    assert len(named) == 4
    assert all(text.startswith("Forbidden: contributed to estimated") for _, text in named)
    assert field == ROOT
    assert "for entire OpenAPIv3 schema exceeds budget by factor of 1.006633x" in message
    parse(**dict(list(properties.items())[:15]))


def test_a_message_costs_too() -> None:
    schema = {"type": "array", "items": text()}
    rule = with_rules(schema, "true", messageExpression="self.join('')")

    (field, message), *_ = refusal(a=rule)

    assert field == f"{ROOT}.properties[a].{RULES}[0].messageExpression"
    assert "estimated messageExpression cost exceeds budget" in message
