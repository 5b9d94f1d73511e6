"""The types that the checker deduces."""

from __future__ import annotations

import pytest

from clientgo.testcluster.cel import BOOL, DYN, STRING, Environment
from clientgo.testcluster.cel.types import INT, CelType, list_of, map_of, optional_of

VARIABLES = {"x": INT, "a.b": map_of(STRING, INT), "a.b.c": STRING, "d": DYN}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("[]", list_of(DYN)),
        ("[[], [x]]", list_of(list_of(INT))),
        ("[[[[]]], [], [[]]]", list_of(list_of(list_of(list_of(DYN))))),
        ("[optional.none(), optional.of(x)]", list_of(optional_of(INT))),
        ("true ? [] : [x]", list_of(INT)),
        ("{'a': [], 'b': [x]}", map_of(STRING, list_of(INT))),
        ("[] + [x]", list_of(INT)),
        ("[d, dyn(x)]", list_of(DYN)),
        ("a.b.c", STRING),
        ("a.b.d", INT),
        ("a.b", map_of(STRING, INT)),
        ("[{'b': {'c': true}}].all(a, a.b.c)", BOOL),
        ("[{'b': {'c': true}}].map(a, .a.b.c)", list_of(STRING)),
        ("'%s %s %s'.format([1, 'a', [2, true]])", STRING),
    ],
)
def test_deduces(expression: str, expected: CelType) -> None:
    assert Environment(VARIABLES).compile(expression).result_type == expected


def test_a_name_with_dots_is_a_variable_where_no_loop_hides_it() -> None:
    program = Environment(VARIABLES).compile(
        "a.b.c == 'text' && a.b.d == 1 && ['x'].all(a, .a.b.c == 'text' && a == 'x')"
    )

    values = {"a.b.c": "text", "a.b": {"c": 0, "d": 1}}
    assert program.evaluate(values) is True
    assert program.variables == {"a.b", "a.b.c"}
