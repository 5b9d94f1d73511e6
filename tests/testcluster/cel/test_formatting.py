"""``format`` gives the text that version 2 of cel-go's strings library gives."""

from __future__ import annotations

import pytest

from clientgo.testcluster.cel import CelEvaluationError, Environment

NARROW_SPACE = "\N{NARROW NO-BREAK SPACE}"
TIMES = f"{NARROW_SPACE}\N{MULTIPLICATION SIGN}{NARROW_SPACE}10"


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("'%s %s'.format(['a', [1, 2.5, true, null]])", "a [1, 2.500000, true, null]"),
        ("'%s'.format([[double('NaN'), double('-inf')]])", '["NaN", "-Inf"]'),
        (
            "'%s'.format([{'k': b'x', 'd': duration('2h'), 't': timestamp(0), 'n': null}])",
            '{"d":duration("7200s"), "k":b"x", "n":null, "t":timestamp("1970-01-01T00:00:00Z")}',
        ),
        ("'%s %s'.format([2e-9, 1e6])", "2e-09 1e+06"),
        ("'%s'.format([type('a')])", "string"),
        ("'%s%%'.format([timestamp(0)])", "1970-01-01T00:00:00Z%"),
        ("'%d %d'.format([-1, 2u])", "-1 2"),
        ("'%f'.format([2.71828])", "2.718280"),
        ("'%.2f'.format([1234567.891])", "1,234,567.89"),
        ("'%.3f %.0f'.format([1.0015, 2.5])", "1.002 2"),
        ("'%f %f'.format(['NaN', '-Infinity'])", "NaN -\N{INFINITY}"),
        ("'%.6e'.format([1052.032911275])", f"1.052033{TIMES}\u2070\u00b3"),
        ("'%.1e'.format([0.0])", f"0.0{TIMES}\u2070\u2070"),
        ("'%.0e'.format([-2e-7])", f"-2{TIMES}\u207b\u2070\u2077"),
        ("'%b %b'.format([5, true])", "101 1"),
        ("'%o'.format([8])", "10"),
        ("'%x %X %x %X'.format([255, 255u, 'hi', b'hi'])", "ff FF 6869 6869"),
        ("'%x'.format([-255])", "-ff"),
    ],
)
def test_formats(call: str, expected: str) -> None:
    assert Environment({}).compile(call).evaluate({}) == expected


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (
            "'%d'.format([dyn(1.5)])",
            "decimal clause can only be used on integers, was given double",
        ),
        ("'%f'.format([dyn(1)])", "fixed-point clause can only be used on doubles, was given int"),
        ("'%e'.format(['x'])", "scientific clause can only be used on doubles, was given string"),
        ("'%x'.format([dyn(1.5)])", "can be formatted as hex, was given double"),
        ("('%d' + '').format([])", "index 0 out of range"),
        ("('%' + '').format([1])", "unexpected end of string"),
        ("('%q' + '').format([1])", 'unrecognized formatting clause "q"'),
        ("('%.f' + '').format([1.0])", "error while parsing precision"),
        ("('%.99999f' + '').format([1.0])", "exceeds maximum allowed precision"),
    ],
)
def test_refuses(call: str, problem: str) -> None:
    with pytest.raises(CelEvaluationError, match=problem):
        Environment({}).compile(call).evaluate({})
