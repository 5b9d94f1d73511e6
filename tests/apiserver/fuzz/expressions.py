"""CEL rules, patterns and paths of custom resource definitions, right and wrong."""

from __future__ import annotations

RULES = [
    *(
        "self == oldSelf",
        "1/0 == 1",
        "self.matches('(')",
        "self.all(x, x)",
        "'a' * 3",
        "[1][5] == 1",
    ),
    *("9223372036854775807 + 1 > 0", "timestamp(self) > timestamp('x')", "{}['a']", "self.x.y.z"),
    *(
        "size(self) > 0",
        "self.nope()",
        "(" * 300,
        "!" * 300 + "true",
        "a" * 3000,
        "",
        "self",
        "true",
    ),
    *("duration('1')", "'\\xff'", "b'a'", "self.map(x, self.map(y, self.map(z, z))) == []"),
    *(
        "[1, 'a', {}].exists(x, x == 1)",
        "has(self.size)",
        "has(self)",
        "dyn(self) in [1]",
        "1 ? 2 : 3",
    ),
    *(
        "optional.none()",
        "quantity('x').isGreaterThan(quantity('1'))",
        "isURL(self)",
        "0u - 1u == 0u",
    ),
    *(
        "string(self) + string(1.0) == ''",
        "int('99999999999999999999') == 0",
        "-(-9223372036854775808)",
    ),
    *(
        "url('::').getHost() == ''",
        "'a'.substring(5) == ''",
        "[].max() == 1",
        "'é'.charAt(99) == ''",
    ),
    *(
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!'.matches('^(a+)+$')",
        "size('a'.split('')) == 1",
        "self.list == 1",
    ),
]
PATTERNS = ["(", "[", "(a+)+$", "^\\p{L}$", "(?<n>a)", "\\", "x" * 2000, "(?i)a", "a{99999}"]
JSON_PATHS = [
    ".spec.size",
    ".spec",
    "..",
    ".a[?(@.b)]",
    "{",
    ".spec.list[0]",
    ".metadata.x",
    "",
    ".",
]

SPEC_RULES = [
    *(
        "self.size / (self.size - 1) > 0",
        "self.list[5] == 'a'",
        "self.map['x'] == 1",
        "self.size > oldSelf.size",
    ),
    *(
        "self.list.all(x, x.matches('^(a+)+$'))",
        "self.set.exists(x, x.name == self.list[0])",
        "has(self.size)",
    ),
    *(
        "self.size + 9223372036854775807 > 0",
        "-self.size < 0",
        "self.size * self.size * self.size > 0",
    ),
    *(
        "self.list.map(x, self.list.map(y, x + y)).size() > 0",
        "int(self.list[0]) > 0",
        "size(self.map) > 0",
    ),
    *(
        "timestamp(self.list[0]) > timestamp('2020-01-01T00:00:00Z')",
        "duration(self.list[0]) > duration('1s')",
    ),
    *(
        "quantity(self.list[0]).isGreaterThan(quantity('1'))",
        "url(self.list[0]).getHost() == ''",
        "self.set == []",
    ),
    *(
        "self.list[0].substring(5) == ''",
        "self.list.max() == 'a'",
        "self.list[0].charAt(99) == ''",
        "self.any == 1",
    ),
    *(
        "string(self.any) == 'x'",
        "self.any.x.y == 1",
        "self.any in self.list",
        "self.any > 1",
        "dyn(self).nope",
    ),
    *(
        "self.list[0].format([1]) == ''",
        "'%s %d'.format([self.size, self.list]) == ''",
        "self.list.isSorted()",
    ),
    *(
        "self.?size.orValue(1) == 1",
        "[self.any].exists_one(x, x == 1)",
        "type(self.any) == int",
        "self.num > 1.0",
    ),
    *(
        "double(self.list[0]) > 0.0",
        "self.num / 0.0 > 1.0",
        "int(self.num) == 1",
        "uint(self.size) > 0u",
    ),
]
