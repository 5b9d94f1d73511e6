"""What expressions evaluate to."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.cel import (
    DYN,
    BudgetExceededError,
    CelEvaluationError,
    Environment,
    NoSuchOverloadError,
)
from clientgo.testcluster.cel.types import INT, STRING, list_of, map_of

VARIABLES = {
    "x": INT,
    "text": STRING,
    "numbers": list_of(INT),
    "labels": map_of(STRING, STRING),
    "object": DYN,
}
VALUES: dict[str, Any] = {
    "x": 7,
    "text": "Hello, wörld",
    "numbers": [3, 1, 2],
    "labels": {"app": "web", "a.b/c": "d"},
    "object": {"metadata": {"name": "a"}, "spec": {"n": 3, "f": 1.5, "items": [{"k": 1}]}},
}


def evaluate(expression: str) -> Any:
    return Environment(VARIABLES).compile(expression).evaluate(VALUES)


TRUE = [
    # arithmetic and order
    "1 + 2 * 3 == 7",
    "(1 + 2) * 3 == 9",
    "-7 / 2 == -3 && -7 % 2 == -1",
    "7.0 / 2.0 == 3.5",
    "1.0 / 0.0 > 1e308",
    "2u + 3u == 5u",
    "0x10 == 16",
    "-9223372036854775808 < 0",
    "1 < 2.5 && 2u < 3 && 3.0 >= 3",
    "'a' < 'b' && b'a' < b'b' && false < true",
    "!!true && --x == 7",
    "'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
    # equality and membership
    "{'a': [1, 2]} == {'a': [1, 2]}",
    "[1, 2] != [2, 1]",
    "dyn(1) == dyn(1.0) && dyn(1) != dyn('1') && dyn(1) != dyn(true)",
    "2 in numbers && !(5 in numbers)",
    "'app' in labels && !('x' in labels)",
    "object.spec.missing == 1 || true",
    "false && object.spec.missing == 1 ? false : true",
    "x > 5 ? text.startsWith('H') : object.nope",
    # literals
    r"""'\n\t\x41\u00e4\101\'' == "\n\tAäA'" """,
    r"r'\d' == '\\d'",
    "b'\\x00\\xff' == b'\\000\\377'",
    '"""a\nb""".size() == 3',
    "size('wörld') == 5 && size(b'\\xc3\\xb6') == 2 && size(numbers) == 3 && labels.size() == 2",
    "true // a comment",
    # access
    "labels.app == 'web' && labels['a.b/c'] == 'd'",
    "object.metadata.name == 'a' && object.spec.items[0].k == 1",
    "has(labels.app) && !has(labels.x) && has(object.spec.n) && !has(object.spec.m)",
    "numbers[1] == 1 && numbers[dyn(1.0)] == 1",
    # loops
    "numbers.all(n, n > 0) && !numbers.all(n, n > 1)",
    "numbers.exists(n, n == 2) && !numbers.exists(n, n == 5)",
    "numbers.exists_one(n, n > 2) && !numbers.exists_one(n, n > 1)",
    "numbers.exists_one(i, n, n > 2) && !numbers.existsOne(i, n, n > 1)",
    "{'a': 1, 'a': 2} == {'a': 2} && {1.5: 'a'}[1.5] == 'a'",
    "[,].size() + {,}.size() == 0",
    "int(duration('1us')) == 1000",
    "text.indexOf('', 99) == 99 && text.indexOf('x', 99) == -1",
    "text.lastIndexOf('', 99) == 99 && text.lastIndexOf('x', 99) == -1",
    "timestamp('2024-01-01T00:00:00,5Z').getMilliseconds() == 500",
    "timestamp('2024-01-01T00:00:00Z').getHours('+25:00') == 1",
    "timestamp('2024-01-01T00:00:00Z').getHours('') == 0",
    "timestamp('2024-01-02T3:04:05Z').getHours() == 3",
    "!isURL('http://a%20b/') && !isURL('http://a%zz/') && isURL('http://a%25b%c3%bc/')",
    "isURL('http://[fe80::1%25a%20b]/') && !isURL('http://[fe80%20::1]/')",
    "url('/?a=%zz&b=1;c=2&d=1+2%21&&%q=1&d').getQuery() == {'d': ['1 2!', '']}",
    "isSemver('1.2.18446744073709551615') && !isSemver('1.2.18446744073709551616')",
    "isSemver('1.0.0-1.a') && !isSemver('1.0.0-18446744073709551616')",
    "semver('1.2.18446744073709551615').patch() == -1",
    "quantity('1e1000').isGreaterThan(quantity('1e999')) && quantity('1e1000') != quantity('1')",
    "isURL('bogus:') && isURL('*') && quantity('Gi') == quantity('0')",
    "numbers.map(n, n * 2) == [6, 2, 4]",
    "numbers.map(n, n > 1, n * 2) == [6, 4]",
    "numbers.filter(n, n > 1) == [3, 2]",
    "labels.all(name, labels[name] != '')",
    "labels.map(name, name).size() == 2",
    "[[1], [2, 3]].exists(inner, inner.exists(n, n == x - 4))",
    "numbers.all(i, n, i < n + 2)",
    "labels.exists(name, value, value == 'web')",
    "numbers.transformList(i, n, i + n) == [3, 2, 4]",
    "labels.transformMap(name, value, value.size())['app'] == 3",
    "numbers.transformMapEntry(i, n, {string(n): i})['1'] == 1",
    "[0, 2].exists(n, 4 / n == 2)",
    "![0, 2].all(n, 4 / n == 1)",
    "numbers.sortBy(n, -n) == [3, 2, 1]",
    # text
    "text.contains('wör') && text.endsWith('ld') && text.matches('^H.*d$')",
    "text.charAt(1) == 'e' && text.charAt(12) == ''",
    "text.indexOf('l') == 2 && text.indexOf('l', 4) == 10 && text.indexOf('z') == -1",
    "text.lastIndexOf('l') == 10 && text.lastIndexOf('l', 4) == 3",
    "'ÄbC'.lowerAscii() == 'Äbc' && 'äbC'.upperAscii() == 'äBC'",
    "'aaa'.replace('a', 'b') == 'bbb' && 'aaa'.replace('a', 'b', 2) == 'bba'",
    "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
    "'abc'.split('') == ['a', 'b', 'c'] && 'a,b'.split(',', 0) == []",
    "text.substring(7) == 'wörld' && text.substring(0, 5) == 'Hello'",
    "'  a b\\t'.trim() == 'a b'",
    "['a', 'b'].join('-') == 'a-b' && ['a', 'b'].join() == 'ab'",
    "'%s: %d, %.2f, %x, %b, %%'.format([dyn('n'), 42, 1.5, 255, 5]) == 'n: 42, 1.50, ff, 101, %'",
    'strings.quote("a\\"b") == "\\"a\\\\\\"b\\""',
    "'abc 123'.find('[0-9]+') == '123' && 'a1b22'.findAll('[0-9]+') == ['1', '22']",
    "'a1b22'.findAll('[0-9]+', 1) == ['1'] && 'abc'.find('x') == ''",
    # lists and sets
    "[1, 2, 3].isSorted() && !numbers.isSorted()",
    "numbers.sum() == 6 && numbers.min() == 1 && numbers.max() == 3",
    "[1.5, 2.5].sum() == 4.0 && [].sum() == 0 && ['b', 'a'].min() == 'a'",
    "numbers.indexOf(2) == 2 && [1, 2, 1].lastIndexOf(1) == 2 && numbers.indexOf(9) == -1",
    "numbers.slice(1, 3) == [1, 2] && numbers.reverse() == [2, 1, 3]",
    "numbers.sort() == [1, 2, 3]",
    "[[1], [2, 3]].flatten() == [1, 2, 3] && lists.range(3) == [0, 1, 2]",
    "[dyn(1), dyn([dyn(2), dyn([3])])].flatten(2) == [1, 2, 3] && [1, 2, 1].distinct() == [1, 2]",
    "numbers.first().value() == 3 && [].last() == optional.none()",
    "sets.contains([1, 2, 3], [2]) && sets.intersects([1], [1, 2])",
    "sets.equivalent([1, 2], [2, 1, 1])",
    # conversions and types
    "int('12') == 12 && int(3.9) == 3 && int(-3.9) == -3 && int(4u) == 4",
    "double('1.5') == 1.5 && double(2) == 2.0 && uint(3) == 3u",
    "string(1) == '1' && string(1.5) == '1.5' && string(true) == 'true' && string(b'a') == 'a'",
    "string(1000000.0) == '1e+06'",
    "bool('true') && !bool('f') && bytes('a') == b'a'",
    "type(1) == int && type('a') == string && type(numbers) == list && type(type(1)) == type",
    "type(null) == null_type && type(object) == map && type(1.0) != int",
    "type(timestamp('2024-01-02T03:04:05Z')) == google.protobuf.Timestamp",
    # time
    "timestamp('2024-01-02T03:04:05.5Z').getMilliseconds() == 500",
    "duration('1h2m3s4ms').getMilliseconds() == 3723004",
    "string(timestamp('2024-01-02T05:04:05+02:00') + duration('1h')).endsWith('06:04:05+02:00')",
    "timestamp('2024-01-02T05:04:05+02:00') == timestamp('2024-01-02T03:04:05Z')",
    "optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')) == optional.none()",
    "optional.ofNonZeroValue(timestamp('1970-01-01T00:00:00Z')).hasValue()",
    "timestamp('2024-01-02T03:04:05Z').getFullYear() == 2024",
    "timestamp('2024-03-01T00:00:00Z').getMonth() == 2",
    "timestamp('2024-03-01T00:00:00Z').getDayOfYear() == 60",
    "timestamp('2024-03-01T00:00:00Z').getDate() == 1",
    "timestamp('2024-03-03T00:00:00Z').getDayOfWeek() == 0",
    "timestamp('2024-01-02T03:04:05Z').getHours('02:00') == 5",
    "timestamp('2024-01-02T03:04:05Z').getHours('Europe/Vienna') == 4",
    "timestamp('2024-01-02T03:04:05Z') + duration('1h') == timestamp('2024-01-02T04:04:05Z')",
    "timestamp('2024-01-02T03:04:05Z') - timestamp('2024-01-02T03:04:04Z') == duration('1s')",
    "duration('90m').getHours() == 1 && duration('-90m').getMinutes() == -90",
    "string(duration('1h0.5s')) == '3600.5s' && duration('1m') < duration('1h')",
    "string(timestamp('2024-01-02T05:04:05+02:00')) == '2024-01-02T05:04:05+02:00'",
    "int(timestamp('1970-01-01T00:00:10Z')) == 10",
    # optionals
    "object.?spec.?missing.orValue(5) == 5 && object.?spec.?n.orValue(5) == 3",
    "!object.?spec.missing.hasValue() && object.?spec.n.hasValue()",
    "labels[?'x'].orValue('none') == 'none' && numbers[?9] == optional.none()",
    "optional.of(1).value() == 1 && optional.of(1).or(optional.of(2)).value() == 1",
    "optional.none().or(optional.of(2)).value() == 2",
    "!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue('a').hasValue()",
    "optional.of(2).optMap(v, v * 2).value() == 4 && !optional.none().optMap(v, v).hasValue()",
    "optional.of(2).optFlatMap(v, optional.of(v + 1)).value() == 3",
    "[1, ?labels[?'x'].optMap(v, 2), ?optional.of(3)] == [1, 3]",
    "{'a': 1, ?'b': optional.none()} == {'a': 1}",
    "has(object.?spec.n)",
    # quantities, URLs, networks, formats, versions
    "quantity('1Gi').isGreaterThan(quantity('1G')) && quantity('500m').isLessThan(quantity('1'))",
    "quantity('1k') == quantity('1000') && quantity('1e3').asInteger() == 1000",
    "quantity('1').add(quantity('500m')).compareTo(quantity('1.5')) == 0",
    "sign(quantity('3').sub(5)) == -1 && !quantity('1.5').isInteger()",
    "quantity('1.5').asApproximateFloat() == 1.5 && isQuantity('1Mi') && !isQuantity('1X')",
    "url('https://a.example:80/p/q?x=1&x=2').getHost() == 'a.example:80'",
    "url('https://[::1]:80/p').getHostname() == '::1' && url('https://a:80/p').getPort() == '80'",
    "url('https://a/p%20q?x=1').getEscapedPath() == '/p%20q'",
    "url('https://a/?x=1&x=2').getQuery()['x'] == ['1', '2']",
    "isURL('/abs') && !isURL('rel') && url('https://a/').getScheme() == 'https'",
    "ip('127.0.0.1').isLoopback() && ip('::1').family() == 6 && !isIP('1.2.3')",
    "ip('10.0.0.1').isGlobalUnicast() && ip('fe80::1').isLinkLocalUnicast()",
    "ip.isCanonical('::1') && !ip.isCanonical('0:0::1') && string(ip('1.2.3.4')) == '1.2.3.4'",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && !cidr('10.0.0.0/8').containsIP(ip('11.0.0.1'))",
    "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16') && !isCIDR('10.0.0.0')",
    "cidr('10.1.2.3/8').masked() == cidr('10.0.0.0/8') && cidr('10.0.0.0/8').prefixLength() == 8",
    "cidr('10.1.2.3/8').ip() == ip('10.1.2.3')",
    "!format.dns1123Label().validate('a-1').hasValue()",
    "format.dns1123Label().validate('A').hasValue()",
    "format.named('qualifiedName').value().validate('/').hasValue()",
    "!format.named('nope').hasValue()",
    # numbers of several types: as upstream, large integers lose digits beside doubles
    "dyn(9223372036854775807) >= 9223372036854775808.0 && dyn(1) == 1.0 && dyn(1u) == 1",
    "double('Infinity') > 1.0 && double('-inf') < 0.0 && double('0x1p-2') == 0.25",
    "!(dyn(true) in {1: 'a'}) && dyn(true) in {true: 'a'} && dyn(1.0) in {1: 'a'}",
    # lists
    "[b'b', b'a'].max() == b'b' && [b'b', b'a'].sort().isSorted()",
    "[[[1]], [[2]]].flatten() == [[1], [2]] && [[[1]]].flatten(2) == [1]",
    # text, with the spaces of Go
    "'\\u0085\\u2003a '.trim() == 'a' && '\\u001ca'.trim() == '\\u001ca'",
    "url('http://a/b?c=d#e').getQuery() == {'c': ['d']} && url('/a#b').getEscapedPath() == '/a'",
    "url('/a#b') != url('/a')",
    "isURL('//bad host/x') && !isURL('http://u x@h/') && isURL('http://a<b>/')",
    "url('/a%2Fb').getEscapedPath() == '/a%2Fb' && url('*').getEscapedPath() == '*'",
    "!isSemver('1.0-alpha', true) && isSemver('v1.2.03-rc', true) && isSemver('00', true)",
    # names
    "[7].exists(x, x == .x) && ![8].exists(x, x == .x)",
    "type(ip('::1')) == net.IP && type(cidr('::/0')) == net.CIDR",
    "semver('1.2.3').isLessThan(semver('1.10.0')) && semver('1.0.0-rc.1') != semver('1.0.0')",
    "semver('1.0.0-rc.1').isLessThan(semver('1.0.0')) && semver('1.2.3').minor() == 2",
    "isSemver('1.2.3') && !isSemver('v1.2') && isSemver('v1.2', true)",
]


@pytest.mark.parametrize("expression", TRUE)
def test_is_true(expression: str) -> None:
    assert evaluate(expression) is True


FAILS = [
    ("9223372036854775807 + x", "integer overflow"),
    ("-x - 9223372036854775807", "integer overflow"),
    ("1u - 2u", "unsigned integer overflow"),
    ("x / 0", "division by zero"),
    ("x % 0", "modulus by zero"),
    ("object.spec.missing", "no such key: missing"),
    ("labels['x']", "no such key: x"),
    ("numbers[9]", "index out of bounds: 9"),
    ("numbers[-1]", "index out of bounds: -1"),
    ("int(text)", "type conversion error"),
    ("int('9' + '0'.replace('0', '99999999999999999999'))", "integer overflow"),
    ("uint('+' + '1')", "type conversion error"),
    ("int(dyn(1e30) + 0.0)", "integer overflow"),
    ("int(dyn(-9223372036854775808.0) + 0.0)", "integer overflow"),
    ("uint(dyn(-0.5) + 0.0)", "unsigned integer overflow"),
    ("double('1e' + '999')", "type conversion error"),
    ("dyn(double('NaN')) < 1", "NaN values cannot be ordered"),
    ("{1: 'a'}[dyn(true)]", "no such key"),
    ("text.matches('(' + '')", "error parsing regexp"),
    ("text.substring(9, 2)", "invalid substring range"),
    ("text.substring(99)", "index out of range: 99"),
    ("[].min()", "min called on empty list"),
    ("duration('x' + '')", "invalid duration"),
    ("timestamp('x' + '')", "is not a time"),
    ("timestamp(253402300800 + x - x)", "timestamp overflow"),
    ("timestamp('0001-01-01T00:00:00+01:' + '00')", "timestamp overflow"),
    ("timestamp('9999-12-31T23:59:59Z') + duration('1s')", "timestamp overflow"),
    ("timestamp('0001-01-01T00:00:00Z') - duration('1ns')", "timestamp overflow"),
    ("optional.none().value()", "dereference"),
    ("quantity('x')", "quantities must match"),
    ("ip('x')", "parse error"),
    ("object.spec.missing == 1 && true", "no such key"),
    ("[0, 1].all(n, 4 / n == 4)", "division by zero"),
    ("[0, 1].exists_one(n, 4 / n == 4)", "division by zero"),
]


@pytest.mark.parametrize(("expression", "problem"), FAILS)
def test_has_no_value(expression: str, problem: str) -> None:
    with pytest.raises(CelEvaluationError, match=problem):
        evaluate(expression)


@pytest.mark.parametrize(
    "expression",
    [
        *("object.spec.n + 'a' == 'a'", "object.metadata.name > 1", "object.spec.n.all(i, i)"),
        *("object.spec.n && true", "object.spec.n ? 1 : 2", "object.spec.n.field", "object > 1"),
        *("[1, 2].map(n, dyn('a') * n)", "object.spec[1]['a']"),
    ],
)
def test_types_known_only_at_run_time_are_checked_then(expression: str) -> None:
    with pytest.raises(CelEvaluationError):
        evaluate(expression)


def test_a_value_of_the_wrong_type_is_no_such_overload() -> None:
    with pytest.raises(NoSuchOverloadError, match="no such overload"):
        evaluate("object.spec.n.startsWith('a')")


def test_nested_loops_are_bounded_as_a_whole() -> None:
    digits = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]"
    loops = "".join(f"{digits}.all({name}, " for name in "abcdefg")

    with pytest.raises(BudgetExceededError):
        evaluate(loops + "true" + ")" * 7)


@pytest.mark.parametrize(
    "body",
    ["text.contains(x)", "text.matches('c' + x)", "text + x == ''", "text.replace('a', x) == ''"],
)
def test_turns_that_look_at_long_texts_cost_more(body: str) -> None:
    program = Environment(VARIABLES).compile(f"object.items.all(x, {body} || true)")
    items = ["b"] * 1_000

    assert program.evaluate({"text": "a" * 100, "object": {"items": items}}) is True
    with pytest.raises(BudgetExceededError):
        program.evaluate({"text": "a" * 100_000, "object": {"items": items}})


def test_comparing_every_pair_of_long_lists_is_refused_before_it_begins() -> None:
    numbers = list(range(2_000))

    with pytest.raises(BudgetExceededError):
        Environment(VARIABLES).compile("numbers.distinct() == []").evaluate({"numbers": numbers})


def test_evaluation_does_not_change_its_values() -> None:
    values = {"x": 1, "text": "", "numbers": [2, 1], "labels": {}, "object": {"a": [1]}}

    Environment(VARIABLES).compile(
        "numbers.sort() == numbers + [3] || object.a.map(x, x + 1) == [2]"
    ).evaluate(values)

    assert values == {"x": 1, "text": "", "numbers": [2, 1], "labels": {}, "object": {"a": [1]}}


def test_a_program_knows_which_variables_it_uses() -> None:
    program = Environment(VARIABLES).compile("numbers.all(x, x > 1) && text == ''")

    assert program.variables == {"numbers", "text"}
