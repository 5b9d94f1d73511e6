"""What can be said of a pattern without matching it."""

from __future__ import annotations

import pytest

from clientgo.text.pattern_tree import is_anchored, parse, ways_to_match


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [("abc", 1), ("a|b", 2), ("a*", 11), ("a{2,4}", 3), ("a*b*", 121), ("(a*){2}", 121)],
)
def test_ways_to_match_are_counted(pattern: str, expected: float) -> None:
    assert ways_to_match(parse(pattern), 10) == expected


def test_only_a_pattern_that_begins_with_the_start_is_anchored() -> None:
    assert is_anchored(parse("^a|b")) is False
    assert is_anchored(parse("(^a)b")) is True
    assert is_anchored(parse("(?m:^)a")) is False
