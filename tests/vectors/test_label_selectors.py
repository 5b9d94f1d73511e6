"""Label selectors do what client-go's do, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.meta.selectors import (
    Requirement,
    Selector,
    SelectorError,
    everything,
    format_labels,
    nothing,
    parse_label_selector,
    selector_from_labels,
    selector_from_object,
)
from tests.vectors.loader import params


@pytest.mark.parametrize("case", params("label_selectors"))
def test_label_selectors_behave_as_recorded(case: dict[str, Any]) -> None:
    selector: Selector | None = None
    for step in case["steps"]:
        args, expect = step.get("args", {}), step["expect"]
        match step["op"]:
            case "matches":
                assert selector is not None
                assert selector.matches(args["labels"]) is expect["result"], args
            case "requires_exact_match":
                assert selector is not None
                assert selector.requires_exact_match(args["label"]) == _value(expect)
            case op if op in _BUILDERS:
                selector = _checked(_BUILDERS[op], args, expect)
            case "new_requirement":
                _check_requirement(args, expect)
            case op:
                _check_function(_FUNCTIONS[op], args, expect)


_BUILDERS = {
    "parse": lambda a: parse_label_selector(a["selector"]),
    "selector_from_set": lambda a: selector_from_labels(a["labels"]),
    "validated_selector_from_set": lambda a: selector_from_labels(a["labels"], validate=True),
    "label_selector_as_selector": lambda a: selector_from_object(a["label_selector"]),
    "everything": lambda a: everything(),
    "nothing": lambda a: nothing(),
}


def _format_label_selector(args: dict[str, Any]) -> str:
    try:
        return str(selector_from_object(args["label_selector"])) or "<none>"
    except SelectorError:
        return "<error>"


_FUNCTIONS = {
    "format_label_selector": _format_label_selector,
    "merge": lambda a: a["labels1"] | a["labels2"],
    "equals": lambda a: a["labels1"] == a["labels2"],
    "set_str": lambda a: format_labels(a["labels"]),
    "format_labels": lambda a: format_labels(a["labels"]) or "<none>",
}


def _checked(build: Any, args: dict[str, Any], expect: dict[str, Any]) -> Selector | None:
    if expect.get("error"):
        with pytest.raises(SelectorError):
            build(args)
        return None
    selector: Selector = build(args)
    assert selector.empty is expect["empty"]
    assert selector.matches_nothing is not expect["selectable"]
    assert str(selector) == expect["str"]
    assert [
        {"key": r.key, "operator": r.operator, "values": sorted(set(r.values))}
        for r in selector.requirements
    ] == (expect["requirements"] or [])
    return selector


def _check_requirement(args: dict[str, Any], expect: dict[str, Any]) -> None:
    arguments = args["key"], args["operator"], args["values"]
    if expect["error"]:
        with pytest.raises(SelectorError) as raised:
            Requirement.validated(*arguments)
        reasons = [problem.reason for problem in raised.value.problems]
        assert reasons == expect["error_types"]
        return
    requirement = Requirement.validated(*arguments)
    assert str(requirement) == expect["str"]
    matches = requirement.predicate()
    assert [matches(labels) for labels in args["match_against"]] == expect["matches"]


def _check_function(function: Any, args: dict[str, Any], expect: dict[str, Any]) -> None:
    if expect.get("error"):
        with pytest.raises(SelectorError):
            function(args)
    else:
        assert function(args) == expect["result"]


def _value(expect: dict[str, Any]) -> str | None:
    return expect["value"] if expect["found"] else None
