"""The schemas of definitions: parsed once, as they were."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.schema import SchemaError, StructuralSchema
from clientgo.testcluster.server.crds.parsed_schemas import parse_schema


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def test_equal_schemas_are_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = parse_schema(schema(a={"type": "string"}), path="spec", has_status=True)
    monkeypatch.setattr(StructuralSchema, "parse", None)

    assert parse_schema(schema(a={"type": "string"})) is first
    assert parse_schema(schema(a={"type": "string"}), has_status=True) is first


def test_a_different_schema_is_parsed() -> None:
    first = parse_schema(schema(a={"type": "integer", "minimum": 1}))

    assert parse_schema(schema(a={"type": "integer", "minimum": 2})) is not first
    assert parse_schema(schema(a={"type": "number", "minimum": 1.0})) is not first


def test_a_parsed_schema_keeps_no_part_that_its_caller_may_change() -> None:
    given = schema(a={"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    given["properties"]["a"]["default"] = {"k": "v"}
    parsed = parse_schema(given)
    given["properties"]["a"]["default"]["k"] = "changed"

    assert parsed.default({}) == {"a": {"k": "v"}}


def test_a_schema_that_is_valid_without_a_status_subresource_is_checked_with_one() -> None:
    alternatives = schema() | {"anyOf": [{"required": ["a"]}]}
    parse_schema(alternatives)

    with pytest.raises(SchemaError):
        parse_schema(alternatives, has_status=True)


def test_a_schema_that_is_not_valid_is_refused_each_time_at_its_path() -> None:
    for path in ("first", "second"):
        with pytest.raises(SchemaError) as caught:
            parse_schema(schema(a={}), path=path)
        assert all(cause.field.startswith(path) for cause in caught.value.causes)
