"""What text from outside may not do to a line or a terminal."""

from __future__ import annotations

import sys
import unicodedata
from typing import Final

import pytest

from clientgo.util.text.escapes import escaped, escaped_lines, is_safe, quoted

VISIBLE: Final = {
    *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD,
}  # fmt: skip
"""Marks of the category Cf that are written: they stand over the numbers after them."""


def test_every_character_that_steers_or_is_not_seen_is_escaped() -> None:
    raw = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and code not in VISIBLE
        and is_safe(chr(code))
    ]

    assert raw == []


def test_every_character_that_is_seen_stays() -> None:
    changed = [
        f"U+{code:04X}"
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code))[0] in "LMNPS" and escaped(chr(code)) != chr(code)
    ]

    assert changed == []


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain größe 名前 \\ \"'", "plain größe 名前 \\ \"'"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x1b[31m\x07\x00", r"\u001b[31m\u0007\u0000"),
        ("\x7f\x85\x9b", r"\u007f\u0085\u009b"),
        ("a\u2028b\u2029c", r"a\u2028b\u2029c"),
        ("\u202eevil\u2066", r"\u202eevil\u2066"),
        ("a\u200bb\ufeffc\u200d", r"a\u200bb\ufeffc\u200d"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\udb40\udc41"),
    ],
)
def test_escapes_are_those_of_json(text: str, shown: str) -> None:
    assert escaped(text) == shown


def test_lines_may_be_kept_and_texts_quoted() -> None:
    assert escaped_lines("a\nb\x1b\n") == "a\nb\\u001b\n"
    assert quoted('say "a"\n\u2028') == r'"say \"a\"\n\u2028"'
