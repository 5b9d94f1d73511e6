"""Field selectors do what client-go's do, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta.selectors import (
    FieldSelector,
    SelectorError,
    escape_field_value,
    field_equals,
    field_selector_from_fields,
    parse_field_selector,
    unescape_field_value,
)
from tests.vectors.loader import params

_OF_NOTHING = "build/nothing"
"""A case that goes on with the selector that is left out."""


@pytest.mark.parametrize("case", [p for p in params("field_selectors") if p.id != _OF_NOTHING])
def test_field_selectors_behave_as_recorded(case: dict[str, Any]) -> None:
    selector = FieldSelector()
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        match step["op"]:
            case "matches":
                assert selector.matches(args["fields"]) is expect["result"], args
            case "requires_exact_match":
                value = expect["value"] if expect["found"] else None
                assert selector.requires_exact_match(args["field"]) == value
            case "escape_value":
                assert escape_field_value(args["value"]) == expect["result"]
            case "unescape_value" if expect["error"]:
                with pytest.raises(SelectorError):
                    unescape_field_value(args["value"])
            case "unescape_value":
                assert unescape_field_value(args["value"]) == expect["result"]
            case op if expect.get("error"):
                with pytest.raises(SelectorError):
                    _BUILDERS[op](args)
            case op:
                selector = _BUILDERS[op](args)
                _check(selector, expect)


_BUILDERS = {
    "parse_selector": lambda a: parse_field_selector(a["selector"]),
    "one_term_equal_selector": lambda a: field_equals(a["field"], a["value"]),
    "one_term_not_equal_selector": lambda a: parse_field_selector(
        f"{a['field']}!={escape_field_value(a['value'])}"
    ),
    "selector_from_set": lambda a: field_selector_from_fields(a["fields"] or {}),
    "everything": lambda a: FieldSelector(),
}


def _check(selector: FieldSelector, expect: dict[str, Any]) -> None:
    assert selector.empty is expect["empty"]
    assert str(selector) == expect["str"]
    assert [
        {"field": r.field, "operator": r.operator, "value": r.value} for r in selector.requirements
    ] == expect["requirements"]
