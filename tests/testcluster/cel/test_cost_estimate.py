"""What rules may cost is estimated as upstream does; the figures are those of its own tests."""

from __future__ import annotations

from typing import Any

import pytest

from clientgo.testcluster.cel.cost_estimate import estimate_cost
from clientgo.testcluster.cel.environment import Environment
from clientgo.testcluster.schema.json_schema import JSONSchema
from clientgo.testcluster.schema.rules.schema_types import declare
from clientgo.testcluster.schema.rules.size_bounds import bounds_of

Schema = dict[str, Any]

NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
INT_OR_STRING: Schema = {"x-kubernetes-int-or-string": True}
DURATION: Schema = {"type": "string", "format": "duration"}
DATE: Schema = {"type": "string", "format": "date"}
TIME: Schema = {"type": "string", "format": "date-time"}
OBJECT: Schema = {
    "type": "object",
    "properties": {"required": TEXT, "optional": TEXT},
    "required": ["required"],
}


def text(length: int | None = None, **more: Any) -> Schema:
    return TEXT | more | ({} if length is None else {"maxLength": length})


def listed(items: Schema, count: int | None = None) -> Schema:
    return {"type": "array", "items": items} | ({} if count is None else {"maxItems": count})


def mapped(values: Schema, count: int | None = None) -> Schema:
    limit = {} if count is None else {"maxProperties": count}
    return {"type": "object", "additionalProperties": values} | limit


def cost_of(rule: str, schema: Schema) -> int:
    parsed = JSONSchema.parse(schema)
    bounds, declared = bounds_of(parsed), declare(parsed)
    assert bounds is not None
    assert declared is not None
    environment = Environment({"self": declared.type, "oldSelf": declared.type})
    return estimate_cost(environment.check(rule)[1], bounds)


@pytest.mark.parametrize(
    ("rule", "schema", "cost"),
    [
        ("self.all(x, true)", listed(NUMBER), 4718591),
        ("self.all(x, true)", listed(NUMBER, 10), 32),
        ("self.all(x, true)", listed(TEXT), 3145727),
        ("self.all(x, true)", listed(BOOLEAN), 1887437),
        ("self.all(x, true)", listed(listed(NUMBER)), 3145727),
        ("self.all(x, true)", listed(OBJECT), 555128),
        ("self.all(x, true)", listed(INT_OR_STRING), 4718591),
        ("self.all(x, true)", listed(DURATION), 2359295),
        ("self.all(x, true)", listed(DATE), 725936),
        ("self.all(x, true)", listed(TIME), 428963),
        ("self.all(x, true)", mapped(NUMBER), 1348169),
        ("self.all(x, true)", mapped(NUMBER, 10), 32),
        ("self.all(x, true)", mapped(TEXT), 1179647),
        ("self.all(x, true)", mapped(BOOLEAN), 943718),
        ("self.all(x, true)", mapped(TIME), 349526),
        ("has(self.x)", mapped(NUMBER), 0),
        ("self.contains('test')", text(), 314574),
        ("self.contains('test')", text(10), 5),
        ("self.startsWith('test')", text(), 2),
        ("self.endsWith('test')", text(30), 2),
        ('size(self + "hello") > size("hello")', text(), 314578),
        ('size(self + "hello") > size("hello")', text(4), 7),
        ("self[1] == 0.0", listed(NUMBER), 2),
        ("self[1] == self[1]", listed(TEXT), 314577),
        ("self.all(x, self.all(y, true))", listed(NUMBER, 10), 352),
        ("self.all(x, self.all(y, self.all(z, true)))", listed(NUMBER, 10), 3552),
        ('self.matches("x")', text(), 314574),
        ('self.matches("x")', text(50), 22),
        ('"".matches("(((((((((())))))))))[0-9]")', text(), 7),
        ('self.matches("")', text(100), 1),
        ("self.all(x, x.contains(self[x]))", mapped(TEXT), 2752507),
        ('self["x"] == 0.0', mapped(NUMBER), 2),
        ('self == "x"', text(), 2),
        ('self == "x"', text(0), 1),
        ('self == b"x"', text(format="byte"), 2),
        ("self.all(x, x == 0.0)", listed(NUMBER), 6291454),
        ("self.all(x, x == 0.0)", listed(NUMBER, 3 * 1024 * 2048), 25165826),
        ("self[0] == 5", listed(INT_OR_STRING), 3),
        ("self[0] == null", listed(OBJECT), 2),
        ("self[0][0] == -1.0", listed(listed(NUMBER)), 3),
        ("self.all(x, x.y == 25.2)", listed(mapped(NUMBER)), 6291452),
        ("self[0].x > 2.0", listed(mapped(NUMBER)), 4),
        ("self[0].getHours() == 2", listed(DURATION), 4),
        ("self.find('[0-9]+') == ''", text(), 629147),
        ("self.find('[0-9]+') == ''", text(10), 11),
        ("self.join(' ') == 'aa bb'", listed(TEXT), 329853068905),
        ("self.join(' ') == 'aa bb'", listed(text(10), 10), 43),
        ("self.isSorted() == true", listed(TEXT), 329854432052),
        ("self.isSorted() == true", listed(text(10), 10), 52),
        ("self.lowerAscii() == 'lower!'", text(), 314575),
        ("self.lowerAscii() == 'lower!'", text(10), 6),
        ("oldSelf.size() == self.size()", mapped({"type": "integer"}), 5),
        ('self["a"] == self["b"]', mapped(TIME), 8),
        ("self.contains('A')", text(enum=["A", "B", "LongValue"]), 2),
        ("self.contains('A')", text(1000, enum=["A", "B", "LongValue"]), 401),
        ("optional.of(1).hasValue()", TEXT, 2),
        ("isQuantity(self)", INT_OR_STRING, 314574),
        ("isQuantity(self)", INT_OR_STRING | {"maxLength": 20}, 9),
    ],
)
def test_a_cost_is_that_of_upstream(rule: str, schema: Schema, cost: int) -> None:
    assert cost_of(rule, schema) == cost


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("self.str.replace(self.before, self.after) == 'does not matter'", 629154),
        ("self.str.split(self.before) == []", 629160),
    ],
)
def test_the_cost_of_making_texts_is_that_of_upstream(rule: str, cost: int) -> None:
    properties = {"str": text(), "before": text(2), "after": text(4)}

    assert cost_of(rule, {"type": "object", "properties": properties}) == cost


@pytest.mark.parametrize(
    "rule",
    ["self.all(x, self.all(y, true))", "self.exists(x, self.filter(y, y == x).size() > 1)"],
)
def test_a_loop_in_a_loop_without_bounds_is_beyond_all_limits(rule: str) -> None:
    assert cost_of(rule, listed(NUMBER)) > 10**12


@pytest.mark.parametrize(
    ("rule", "schema"),
    [
        ("int('0' + string(self)) == self", {"type": "integer"}),
        ("self.transformList(i, x, string(i) + x).size() == 3", listed(text(16), 8)),
        ("self.split(',').transformList(i, x, x + string(i)) == []", text(64)),
        ("self.split('').all(x, self.contains(x))", text()),
        ("'%s'.format([self]).matches('a')", text(5)),
        ("format.uri().validate(self) == optional.none()", text(5)),
        ("lists.range(self.size()).size() == 1", listed(NUMBER, 3)),
        ("self.sort() == self", listed(NUMBER)),
        ("self.distinct() == self", listed(NUMBER)),
        ("self.sortBy(x, x) == self", listed(NUMBER)),
        ("sets.contains(self, self)", listed(NUMBER)),
        ("['a', 'b'].join(',') == 'a,b'", text(5)),
        ("self.split(',').join('') == 'ab'", text(5)),
        ("['b', 'a'].isSorted()", text(5)),
        ("self.split(',').max() == 'b'", text(5)),
        ("self.map(x, x.upperAscii()).min() == 'A'", listed(text(5), 5)),
        ("self.charAt(0) + 'b' == 'ab'", text(5)),
        ("self.charAt(0).upperAscii() == 'A'", text(5)),
        ("self.charAt(0) == self.charAt(1)", text(5)),
        ("self[?0].orValue('').contains('a')", listed(text(5), 5)),
        ("optional.of(self) == optional.of('a')", text(5)),
        ("optional.of(self).optMap(x, x + 'b').hasValue()", text(5)),
        ("quantity(self) != quantity('1')", text(5)),
        ("ip(self) != ip('10.0.0.1')", text(5)),
        ("type(self) != type('a')", text(5)),
        ("self.a.contains('b')", mapped(text(5), 5)),
        ("url(self).getQuery().all(k, k == 'a')", text(5)),
        ("[1, 2, 3].slice(2, 1) == []", text(5)),
    ],
)
def test_a_value_without_bounds_is_beyond_all_limits(rule: str, schema: Schema) -> None:
    assert cost_of(rule, schema) > 10**12


@pytest.mark.parametrize(
    ("rule", "schema"),
    [
        ("string(self) == '5'", {"type": "integer"}),
        ("self.split('').all(x, self.contains(x))", text(5)),
        ("self.split(',').all(x, x.matches('^a*$'))", text(100)),
        ("self.findAll('[a-z]', 2).exists(x, x + 'b' == 'ab')", text(64)),
        ("self.replace('ab', 'abc').contains('a')", text(64)),
        ("format.uri().validate(self).hasValue()", text(64)),
        ("lists.range(10).all(x, x >= 0)", text(64)),
        ("self.sort() == self.distinct() && sets.equivalent(self, [1.0])", listed(NUMBER, 50)),
        ("self.reverse().slice(0, 2) == self && self.sortBy(x, x) == self", listed(NUMBER, 50)),
        ("'%s!'.format([self]) == 'abc!'", text(64)),
        ("self.transformMapEntry(k, v, {string(v): k}).size() == 2", mapped(NUMBER, 6)),
        ("self.join(',') == 'a,b' && self.max() == 'b'", listed(text(5), 5)),
        ("[2, 1].max() == [1, 2].sum() && [1].isSorted()", text(5)),
        ("quantity(self) == quantity('1') && ip(self) == ip('10.0.0.1')", text(5)),
        ("url(self) == url('/a') && url(self).getHost() == 'a'", text(5)),
        ("type(self) == string && type(self) != google.protobuf.Duration", text(5)),
        ("optional.of(1) == optional.none().or(optional.of(2))", text(5)),
        ("self.map(x, x.upperAscii())[0].contains('A')", listed(text(5), 5)),
        ("self[?0] != optional.of(1.0) && dyn(self) == [1.0]", listed(NUMBER)),
        ("bytes(self) < bytes(self + 'a') && strings.quote(self) + 'a' != self", text(5)),
        ("{'a': self}['a'] + ['b', self][0] == 'ab'", text(5)),
        ("format.named('uuid').value() == format.uuid()", text(5)),
    ],
)
def test_a_text_that_is_computed_from_a_short_one_is_cheap(rule: str, schema: Schema) -> None:
    assert cost_of(rule, schema) < 100_000
