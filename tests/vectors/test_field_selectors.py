"""Field selectors do what client-go's do, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta.selectors import (
    FieldSelector,
    SelectorError,
    all_fields,
    and_field_selectors,
    escape_field_value,
    field_equals,
    field_not_equals,
    field_selector_from_fields,
    no_fields,
    parse_field_selector,
    unescape_field_value,
)
from tests.vectors.loader import params


class _RefusedFieldError(Exception):
    pass


@pytest.mark.parametrize("case", params("field_selectors"))
def test_field_selectors_behave_as_recorded(case: dict[str, Any]) -> None:
    selector = all_fields()
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
            case "transform" if expect["error"]:
                with pytest.raises(_RefusedFieldError):
                    selector.transform(_prefix_t_upper_value_drop_err)
            case "transform":
                _check(selector.transform(_prefix_t_upper_value_drop_err), expect)
            case op if expect.get("error"):
                with pytest.raises(SelectorError):
                    _BUILDERS[op](args)
            case op:
                selector = _BUILDERS[op](args)
                _check(selector, expect)


_BUILDERS = {
    "parse_selector": lambda a: parse_field_selector(a["selector"]),
    "one_term_equal_selector": lambda a: field_equals(a["field"], a["value"]),
    "one_term_not_equal_selector": lambda a: field_not_equals(a["field"], a["value"]),
    "selector_from_set": lambda a: field_selector_from_fields(a["fields"] or {}),
    "and_selectors": lambda a: and_field_selectors(map(parse_field_selector, a["selectors"])),
    "everything": lambda a: all_fields(),
    "nothing": lambda a: no_fields(),
}


def _prefix_t_upper_value_drop_err(field: str, value: str) -> tuple[str, str]:
    if field.startswith("drop"):
        return "", ""
    if field.startswith("err"):
        raise _RefusedFieldError(field)
    return f"T.{field}", value.upper()


def _check(selector: FieldSelector, expect: dict[str, Any]) -> None:
    assert selector.empty is expect["empty"]
    assert str(selector) == expect["str"]
    assert [
        {"field": r.field, "operator": r.operator, "value": r.value} for r in selector.requirements
    ] == expect["requirements"]
