"""Patterns in Go's syntax match what Go matches and are refused where Go refuses them."""

from __future__ import annotations

import pytest

from clientgo.text.go_regexp import GoRegexpError, compile_go_regexp

MATCHES = [
    ("^a$", "a"),
    (r"\Aa\z", "a"),
    ("(?i)ABC", "xabc"),
    ("a(?i)B|C", "c"),
    ("x(?i:Y)z", "xyz"),
    ("(?m)^b$", "a\nb\nc"),
    ("(?s)a.b", "a\nb"),
    ("[[:alpha:]_]+", "_x"),
    ("[[:^digit:]]", "x"),
    (r"[\w.-]+", "a-b.c"),
    (r"\pL+", "é"),
    (r"\p{Lu}", "É"),
    (r"[^\p{Lu}]", "é"),
    (r"\Qa.b\E+", "a.b"),
    (r"\x41\x{1F600}", "A😀"),
    ("(?P<n>a)(?<m>b)", "ab"),
    ("[a&&b]", "&"),
    ("[[]", "["),
    ("[]a]", "]"),
    ("a{2,3}?", "aa"),
    ("a{,2}", "a{,2}"),
    ("a{", "a{"),
    (r"\.\-\_", ".-_"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHES)
def test_matches(pattern: str, text: str) -> None:
    assert compile_go_regexp(pattern).matches(text)


DIFFERS = [
    ("^a$", "a\n"),
    ("^é$", "É"),
    (r"^\d$", "٣"),
    (r"^\w$", "é"),
    ("a.b", "a\nb"),
    ("a(?i)B|C", "b"),
    ("(?i:x)y", "XY"),
    (r"\P{L}", "é"),
]


@pytest.mark.parametrize(("pattern", "text"), DIFFERS)
def test_does_not_match(pattern: str, text: str) -> None:
    assert not compile_go_regexp(pattern).matches(text)


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?=a)", "(?!a)", "(?<=a)", "(?<!a)", "(?>a)", "(?#a)", r"(a)\1", r"\Z", r"\y", "\\"),
        *(
            "a**",
            "a++",
            "a?+",
            "a{2}{3}",
            "a{1001}",
            "a{3,2}",
            "(a{50}){50}",
            "(",
            ")",
            "[",
            "[b-a]",
            "*a",
        ),
        *("[[:nope:]]", r"\p{Nope}", r"\x{110000}", "(" * 5000 + ")" * 5000),
    ],
)
def test_is_refused(pattern: str) -> None:
    with pytest.raises(GoRegexpError):
        compile_go_regexp(pattern)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a*", "baac", ["", "aa", ""]),
        ("a|ab", "ab", ["a"]),
        ("a+?", "aa", ["a", "a"]),
        (r"\bx", "x xx", ["x", "x"]),
        ("$", "ab", [""]),
    ],
)
def test_finds_all(pattern: str, text: str, found: list[str]) -> None:
    """As ``FindAllString`` of Go does, which knows no empty match right after another."""
    assert list(compile_go_regexp(pattern).find_all(text)) == found
