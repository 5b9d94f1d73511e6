"""Texts that a pattern matches."""

from __future__ import annotations

import random
import re

import pytest

from clientgo.codegen.schemas.matching_text import text_matching
from clientgo.util.text.go_regexp import compile_go_regexp


@pytest.mark.parametrize(
    "pattern",
    [
        "^[0-9]{1,6}Gi$",
        "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        r"^(([0-9]+(\.[0-9]+){3})|[a-f:]{2,39})(/\d{1,2})?$",
        "^(a|b{2,}|[^x-z])+?end$",
        r"^\w+\s\S\D\W.$",
        r"^(?P<quote>['\"])[^'\"]*(?P=quote)$",
        "^(?=.{3,5}$)[a-z]+$",
        "(?i)^yes|no$",
        "middle",
        "",
        "[é-ü]",
        r"^\$\{[A-Z_]+\}\z",
        "^[[:alpha:]][[:alnum:]]*$",
        r"^\pL+\p{N}$",
    ],
)
def test_every_text_matches_as_the_api_server_reads_the_pattern(pattern: str) -> None:
    texts = {text_matching(pattern, random.Random(n), repeats=n % 6) for n in range(40)}
    for text in texts:
        if "(?=" in pattern or "(?P=" in pattern:  # not for an API server
            assert re.search(pattern, text)
        else:
            assert compile_go_regexp(pattern).matches(text)


def test_lengths_are_kept() -> None:
    numbers = random.Random(1)
    for least, most in ((0, 3), (60, 63), (253, 253), (1, 1)):
        for repeats in (0, 9, 90):
            text = text_matching(
                "^[a-z][a-z0-9]*$", numbers, shortest=least, longest=most, repeats=repeats
            )
            assert least <= len(text) <= most


def test_the_same_numbers_give_the_same_text_and_others_another() -> None:
    def text(seed: int) -> str:
        return text_matching("^[a-z]{8}$", random.Random(seed))

    assert text(1) == text(1) != text(2)


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(", "cannot be parsed"),
        ("^a$b", "no text of 0 to 9 characters was found for the pattern '^a$b'"),
        ("^[a-z]{10}$", "no text of 0 to 9 characters"),
    ],
)
def test_a_pattern_without_a_text_is_an_error(pattern: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        text_matching(pattern, random.Random(1), longest=9)
