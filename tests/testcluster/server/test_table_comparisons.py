"""Comparisons of tables have the results of CEL."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.cel import DYN, CelEvaluationError, Environment
from clientgo.testcluster.server.kinds.tables.comparisons import MISSING, compile_comparison

ENVIRONMENT = Environment(dict.fromkeys(("self", "item", "object"), DYN))

SOURCES = [
    "self.a == 'x'",
    "self.a != 'x'",
    "self.a.b == 'x'",
    "self.a in ['x', 'y']",
    "!(self.a in ['x', 'y'])",
    "has(self.a)",
    "!has(self.a)",
    "has(self.a.b)",
    "self.?a.orValue('') == 'x'",
    "self.?a.orValue('x') != 'x'",
    "self.a == 'x' || has(self.c)",
    "has(self.c) || self.a == 'x'",
    "self.a == 'x' && item.n == 'y'",
    "item.n != 'y' && has(self.a)",
    "self.a == 1",
    "self.a != 1 || item.n == 'y'",
    "size(self.a) == 1",
    "size(self.a) != 1 && has(self.a)",
    "size(self.a) > 0",
    "size(self.a) >= 1",
    "size(self.a) < 1",
    "size(self.a) <= 0",
    "object.kind == 'K' || self.a == 'x'",
]
VALUES: list[Any] = [
    {},
    {"a": "x"},
    {"a": "z"},
    {"a": {"b": "x"}},
    {"a": 1},
    {"a": True},
    {"c": "y"},
]


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("item", [{}, {"n": "y"}])
def test_a_comparison_is_what_cel_makes_of_it(source: str, value: Any, item: Any) -> None:
    variables = {"self": value, "item": item, "object": {"kind": "K"}}
    try:
        expected = ENVIRONMENT.compile(source).evaluate(variables)
    except CelEvaluationError:
        expected = MISSING
    compare = compile_comparison(source)

    assert compare is not None
    assert compare(variables) is expected


@pytest.mark.parametrize(
    "source",
    [
        "self.a == -1",
        "size(self.a) > -1",
        "self.a == 'x' || self.b == 'y' && has(self.c)",
        "(self.a == 'x')",
        "self.a == 'it\\'s'",
        "self.list[0] == 'x'",
    ],
)
def test_other_expressions_are_left_to_cel(source: str) -> None:
    assert compile_comparison(source) is None
