"""Expressions that do not compile, and what is said of them."""

from __future__ import annotations

import pytest

from clientgo.testcluster.cel import CelCompileError, Environment
from clientgo.testcluster.cel.types import INT, STRING, ObjectType, list_of, map_of

SELF = ObjectType(
    "object", fields={"n": INT, "s": STRING, "l": list_of(INT), "m": map_of(STRING, INT)}
)


def problem(expression: str) -> str:
    with pytest.raises(CelCompileError) as caught:
        Environment({"self": SELF}).compile(expression)
    return caught.value.problem


PROBLEMS = [
    ("self.zz > 1", "undefined field 'zz'"),
    ("self.n.zz", "type 'int' does not support field selection"),
    ("nope", "undeclared reference to 'nope' (in container '')"),
    ("nope(1)", "undeclared reference to 'nope' (in container '')"),
    ("self.n.nope()", "undeclared reference to 'nope' (in container '')"),
    ("self.l.flatten()", "found no matching overload for 'flatten' applied to 'list(int).()'"),
    ("[[1]].sort()", "found no matching overload for 'sort' applied to 'list(list(int)).()'"),
    (
        "self.l.sortBy(i, [i])",
        "found no matching overload for '@sortByAssociatedKeys' applied to "
        "'list(int).(list(list(int)))'",
    ),
    ("string(url('/a'))", "found no matching overload for 'string' applied to '(kubernetes.URL)'"),
    (
        "quantity('1').sign() == 1",
        "found no matching overload for 'sign' applied to 'kubernetes.Quantity.()'",
    ),
    ("self.n + 'a'", "found no matching overload for '_+_' applied to '(int, string)'"),
    ("self.s == null", "found no matching overload for '_==_' applied to '(string, null)'"),
    (
        "timestamp('2024-01-02T03:04:05Z') == [duration('1s')]",
        "found no matching overload for '_==_' applied to '(timestamp, list(duration))'",
    ),
    ("timestamp(-62135596801)", "invalid timestamp argument"),
    ("self.n == 'a'", "found no matching overload for '_==_' applied to '(int, string)'"),
    ("self.n == 1.0", "found no matching overload for '_==_' applied to '(int, double)'"),
    ("self.n < 'a'", "found no matching overload for '_<_' applied to '(int, string)'"),
    ("self.s.trim(1)", "found no matching overload for 'trim' applied to 'string.(int)'"),
    ("size(1)", "found no matching overload for 'size' applied to '(int)'"),
    ("self.l['a']", "found no matching overload for '_[_]' applied to '(list(int), string)'"),
    ("self.m[1]", "found no matching overload for '_[_]' applied to '(map(string, int), int)'"),
    ("'a' in self.l", "found no matching overload for '@in' applied to '(string, list(int))'"),
    ("self.n && true", "expected type 'bool' but found 'int'"),
    ("!self.n", "found no matching overload for '!_' applied to '(int)'"),
    ("true ? 1 : 'a'", "found no matching overload for '_?_:_' applied to '(bool, int, string)'"),
    ("[1, 'a']", "expected type 'int' but found 'string'"),
    ("{'a': 1, 'b': 'c'}", "expected type 'int' but found 'string'"),
    ("'%s'.format([[1, 'a']]) == [1, 'a'][0]", "expected type 'int' but found 'string'"),
    ("duration('x') == duration('1s')", "invalid duration argument"),
    ("timestamp('x') < timestamp(0)", "invalid timestamp argument"),
    ("self.s.matches('(')", "invalid matches argument"),
    ("self.s.find('(') == ''", "error parsing regexp: missing closing ): `(`"),
    ("uint(-1) == 1u", "unsigned integer overflow"),
    ("int(string('x')) == 1", "type conversion error from 'string' to 'int'"),
    ("self.nope && duration('x') == self.n", "undefined field 'nope'"),
    ("'%d'.format([1.5])", "error during formatting: decimal clause can only be used on integers"),
    ("'%d'.format([])", "index 0 out of range"),
    ("'%d'.format([1, 2])", "too many arguments supplied to string.format (expected 1, got 2)"),
    ("'%z'.format([1])", 'could not parse formatting clause: unrecognized formatting clause "z"'),
    ("'%.9999f'.format([1.0])", "could not parse formatting clause: error while parsing precision"),
    ("self.l.all(i, i)", "expected type 'bool' but found 'int'"),
    (
        "self.n.all(i, true)",
        "expression of type 'int' cannot be range of a comprehension "
        "(must be list, map, or dynamic)",
    ),
    ("self.l.all(1, true)", "argument is not an identifier"),
    ("self.l.all(i, i, true)", "duplicate variable name: i"),
    ("self.l.existsOne(i, true)", "undeclared reference to 'existsOne' (in container '')"),
    ("[1, dyn(1)] == []", "expected type 'int' but found 'dyn'"),
    ("{'a': dyn(1), 'b': 1} == {}", "expected type 'dyn' but found 'int'"),
    ("timestamp('2024-01-01t00:00:00z') > timestamp(0)", "invalid timestamp argument"),
    ("self.l.map(i, i).all(j, j == i)", "undeclared reference to 'i' (in container '')"),
    ("has(self)", "invalid argument to has() macro"),
    ("has(self.zz)", "undefined field 'zz'"),
    ("self.m.all(k, k > 1)", "found no matching overload for '_>_' applied to '(string, int)'"),
    ("9223372036854775808", "invalid int literal: 9223372036854775808"),
    ("9" * 5000, "invalid int literal: 999"),
    ("9" * 5000 + "u", "invalid uint literal: 999"),
    ("for", "Syntax error: reserved identifier: for"),
    ("1 +", "Syntax error: mismatched input '<EOF>' expecting "),
    ("(1", "Syntax error: mismatched input '<EOF>' expecting ')'"),
    ("1 2", "Syntax error: mismatched input '2' expecting <EOF>"),
    ("self.", "Syntax error: mismatched input '<EOF>' expecting IDENTIFIER"),
    ("self.in", "Syntax error: mismatched input 'in' expecting IDENTIFIER"),
    ("'abc", "Syntax error: token recognition error at: ''abc'"),
    ("a # b", "Syntax error: token recognition error at: '#'"),
    (r"'\q'", "unable to unescape string"),
    ("Type{a: 1}", "undeclared reference to 'Type' (in container '')"),
    ("(" * 5000, "expression recursion limit exceeded"),
    ("+".join(["1"] * 5000), "expression recursion limit exceeded"),
]


@pytest.mark.parametrize(
    ("expression", "expected"), PROBLEMS, ids=[expression[:40] for expression, _ in PROBLEMS]
)
def test_does_not_compile(expression: str, expected: str) -> None:
    assert problem(expression).startswith(expected)


def test_an_error_points_at_its_place() -> None:
    with pytest.raises(CelCompileError) as caught:
        Environment({"self": SELF}).compile("true &&\n  self.zz > 1")

    assert str(caught.value) == (
        "ERROR: <input>:2:7: undefined field 'zz'\n |   self.zz > 1\n | ......^"
    )


def test_what_is_constant_and_has_no_value_fails_where_the_program_is_made() -> None:
    with pytest.raises(CelCompileError) as caught:
        Environment({"self": SELF}).compile("self.n == 1 || uint(-1) == 1u")

    assert str(caught.value) == "unsigned integer overflow"
    assert caught.value.stage == "program instantiation failed"


def test_objects_of_two_types_have_no_type_in_common() -> None:
    other = ObjectType("object", fields={"n": INT})

    with pytest.raises(CelCompileError, match="no matching overload for '_==_'"):
        Environment({"self": SELF, "other": other}).compile("self == other")
