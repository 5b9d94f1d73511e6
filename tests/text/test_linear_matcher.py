"""The linear matcher finds what Python's engine finds, and is not led astray."""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.text.go_regexp import compile_go_regexp
from clientgo.text.linear_matcher import LinearMatcher, MatchLimitError
from clientgo.text.pattern_tree import parse

LONG = 100_000

_CHARACTERS = [*"ab_ \n.", "[ab]", "[^a]", r"\d", r"\w", r"\U00000061", "(?i:A)", "(?s:.)", r"\["]
_PLACES = ["^", "$", r"\A", r"\Z", r"\b", "(?m:^)", "(?m:$)", "(?m:^a)"]
_QUANTIFIERS = ["*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?", "{2,}"]


def _larger(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.lists(parts, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.builds("({}){}".format, parts, st.sampled_from(_QUANTIFIERS)),
    )


_patterns = st.recursive(st.sampled_from(_CHARACTERS + _PLACES), _larger, max_leaves=8).map(
    # Where $ means the end of a line it is in a group that says so.
    lambda pattern: re.sub(r"(?<!\(\?m:)\$", r"\\Z", pattern)
)
_texts = st.text("abA_ \n.[1", max_size=12)


@settings(max_examples=400)
@given(_patterns, _texts)
def test_matches_where_python_matches(pattern: str, text: str) -> None:
    expected = re.compile(pattern, re.ASCII).search(text)

    assert LinearMatcher(parse(pattern)).matches(text) is (expected is not None)


# Engines differ in what they prefer where something empty is repeated: what is compared here has
# no empty parts.
_filled = st.recursive(
    st.sampled_from(_CHARACTERS),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3).map("".join),
        st.lists(parts, min_size=2, max_size=3).map(lambda some: f"(?:{'|'.join(some)})"),
        st.builds("({}){}".format, parts, st.sampled_from(["+", "+?", "{2}", "{1,2}", "{2,}"])),
        st.builds("{}({}){}".format, parts, parts, st.sampled_from(["*", "??", "*?"])),
    ),
    max_leaves=8,
)


@settings(max_examples=400)
@given(_filled, _texts, st.integers(0, 3))
def test_finds_what_python_finds(pattern: str, text: str, position: int) -> None:
    position = min(position, len(text))
    expected = re.compile(pattern, re.ASCII).search(text, position)

    found = LinearMatcher(parse(pattern)).find(text, position)

    assert found == (expected.span() if expected is not None else None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("a*b", "a" * LONG),
        ("(a+)+$", "a" * LONG + "!"),
        ("^(a|a)*$", "a" * LONG + "!"),
        ("(.*)(.*)(.*)(.*)x", "a" * LONG),
        ("^" + "a?" * 500 + "a" * 500 + "$", "a" * 499),
        (r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?\.)*x$", "a." * (LONG // 2)),
        ("(x+x+)+y", "x" * LONG),
        ("(a|b)*a(a|b){10}c", "ab" * (LONG // 2)),
    ],
)
def test_an_evil_pattern_takes_no_longer_than_the_text_is_long(pattern: str, text: str) -> None:
    began = time.process_time()

    assert not compile_go_regexp(pattern).matches(text)
    assert time.process_time() - began < 3


def test_a_pattern_with_too_many_threads_is_given_up() -> None:
    text = "".join(random.Random(1).choices("ab", k=LONG))
    began = time.process_time()

    with pytest.raises(MatchLimitError, match="takes too long"):
        compile_go_regexp("(a.{900}b|.a)+!").matches(text)
    assert time.process_time() - began < 5


def test_a_pattern_that_is_too_large_is_given_up() -> None:
    with pytest.raises(MatchLimitError, match="too large"):
        compile_go_regexp("(a*b{1000})*" * 200).matches("a" * 1000)
