"""Regular expressions in Go's syntax (RE2), which neither a pattern nor a text can make slow.

Promises: `compile_go_regexp` gives a pattern that matches what Go's ``regexp`` matches, and refuses
what Go refuses: look-around, back-references, possessive quantifiers, unknown escapes. Matching
takes a second or two at the very most.

Does not promise: Unicode classes by script (``\\p{Greek}``), which are refused; those by category
(``\\p{Lu}``) work. Case is ignored in ASCII only.

The two syntaxes agree but for a handful of constructs, so a pattern is translated for Python's
``re`` while being read once. That is fast, but tries one way to match after the other. So it is
used for texts on which there are at most `_MAX_WAYS` of them, counted from the repeats and choices
of the pattern; longer ones are left to `linear_matcher`.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

from clientgo.text.linear_matcher import LinearMatcher
from clientgo.text.pattern_tree import copies, is_anchored, parse, ways_to_match

_POSIX_CLASSES: Final = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": "\\x00-\\x7F",
    "blank": "\\t ",
    "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_MAX_REPEAT = 1000
_MAX_WAYS = 100_000
_LENGTHS = tuple(2**power for power in range(17, 3, -1))
_SAME_ESCAPES = frozenset("abBdDfnrsStvwWA")
_REPEAT = re.compile(r"\{(\d+)(?:,(\d*))?\}")
_GROUP_FLAGS = re.compile(r"\(\?([ims]*(?:-[ims]+)?)([:)])")
_POSIX = re.compile(r"\[:(\^?)(\w+):\]")
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_UNICODE_CLASS = re.compile(r"[pP](?:\{(\^?)([A-Za-z_]+)\}|([A-Z]))")


class GoRegexpError(ValueError):
    """The pattern is not a regular expression in Go's syntax, or uses a part not supported here."""


class GoRegexp:
    """A compiled pattern, which `compile_go_regexp` makes. May be used by any number of threads."""

    def __init__(self, translated: str) -> None:
        self._python = re.compile(translated, re.ASCII)
        self._parsed = parsed = parse(translated)
        if copies(parsed) > _MAX_REPEAT:
            raise GoRegexpError(f"error parsing regexp: invalid repeat count: `{translated}`")
        starts = 0 if is_anchored(parsed) else 1
        self._longest_for_python = next(
            (
                length
                for length in _LENGTHS
                if (length + 1) ** starts * ways_to_match(parsed, length) <= _MAX_WAYS
            ),
            0,
        )

    @functools.cached_property
    def _linear(self) -> LinearMatcher:
        return LinearMatcher(self._parsed)

    @property
    def pattern(self) -> str:
        """The pattern in Python's syntax."""
        return self._python.pattern

    def matches(self, text: str) -> bool:
        """Tell whether the pattern matches somewhere in the text.

        Raises:
            MatchLimitError: the pattern is so large that this would take too long.
        """
        if len(text) <= self._longest_for_python:
            return self._python.search(text) is not None
        return self._linear.matches(text)

    def find_all(self, text: str) -> Iterator[str]:
        """Yield the matches in the text, as they are found; an empty one right after another
        match is none.

        Raises:
            MatchLimitError: the pattern is so large that this would take too long.
        """
        position, last_end = 0, -1
        while position <= len(text):
            found = self._find(text, position)
            if found is None:
                return
            start, end = found
            if start < end or start != last_end:
                yield text[start:end]
            last_end = end
            position = end if end > position else position + 1

    def _find(self, text: str, position: int) -> tuple[int, int] | None:
        if len(text) > self._longest_for_python:
            return self._linear.find(text, position)
        found = self._python.search(text, position)
        return found.span() if found is not None else None


@functools.lru_cache(maxsize=256)
def compile_go_regexp(pattern: str) -> GoRegexp:
    """Compile a pattern written for Go.

    Raises:
        GoRegexpError: Go would refuse the pattern, or it names a Unicode script.
    """
    try:
        return GoRegexp(_Translator(pattern).translate())
    except (re.error, OverflowError) as error:
        raise GoRegexpError(f"error parsing regexp: {error}: `{pattern}`") from error
    except RecursionError:
        raise GoRegexpError(
            f"error parsing regexp: expression nests too deeply: `{pattern}`"
        ) from None


class _Translator:
    """Reads a pattern from left to right and writes Python's form of it."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self._out: list[str] = []
        # Flags set for the rest of the current group, which Python knows only for a group of their
        # own: each is one more group to close.
        self._flags: list[str] = []
        self._multiline = False  # whether ^ and $ match at line ends
        self._outer: list[tuple[list[str], bool]] = []  # the same of the groups around this one

    def translate(self) -> str:
        while self._at < len(self._pattern):
            self._step(self._pattern[self._at])
        self._out.append(")" * len(self._flags))
        return "".join(self._out)

    def _step(self, char: str) -> None:
        match char:
            case "\\":
                self._at += 1
                self._out.append(self._escape(in_class=False))
            case "[":
                self._out.append(self._class())
            case "(":
                self._open_group()
            case ")":
                self._close_group()
            case "|":
                self._at += 1
                self._out.append(")" * len(self._flags) + "|")
                self._out.extend(f"(?{flags}:" for flags in self._flags)
            case "$":
                self._at += 1
                self._out.append("$" if self._multiline else "\\Z")
            case "*" | "+" | "?":
                self._at += 1
                self._out.append(char + self._after_quantifier())
            case "{":
                self._out.append(self._repeat())
            case _:
                self._at += 1
                self._out.append(char)

    def _fail(self, problem: str) -> GoRegexpError:
        return GoRegexpError(f"error parsing regexp: {problem}")

    def _take(self, regex: re.Pattern[str]) -> re.Match[str] | None:
        match = regex.match(self._pattern, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _after_quantifier(self) -> str:
        """Read the mark of a lazy quantifier; refuse a second quantifier."""
        lazy = "?" if self._pattern.startswith("?", self._at) else ""
        self._at += len(lazy)
        following = self._pattern[self._at : self._at + 1]
        if following in ("*", "+", "?") or _REPEAT.match(self._pattern, self._at):
            raise self._fail(f"invalid nested repetition operator: `{following}`")
        return lazy

    def _repeat(self) -> str:
        match = self._take(_REPEAT)
        if match is None:
            self._at += 1
            return "\\{"
        low, high = int(match[1]), int(match[2] or match[1])
        if high > _MAX_REPEAT or low > high:
            raise self._fail(f"invalid repeat count: `{match[0]}`")
        return match[0] + self._after_quantifier()

    def _open_group(self) -> None:
        flags = _GROUP_FLAGS.match(self._pattern, self._at)
        if flags is not None and flags[2] == ")":
            self._set_flags(flags)
            return
        self._outer.append((self._flags, self._multiline))
        self._flags = []
        if flags is not None:
            self._multiline = _multiline(flags[1], self._multiline)
            self._at = flags.end()
            self._out.append(f"(?{flags[1]}:")
        elif named := self._take(re.compile(r"\(\?P?<(\w+)>")):
            self._out.append(f"(?P<{named[1]}>")
        elif self._pattern.startswith("(?", self._at):
            start = self._pattern[self._at : self._at + 3]
            raise self._fail(f"invalid or unsupported Perl syntax: `{start}`")
        else:
            self._at += 1
            self._out.append("(")

    def _set_flags(self, flags: re.Match[str]) -> None:
        self._at = flags.end()
        self._multiline = _multiline(flags[1], self._multiline)
        self._flags.append(flags[1])
        self._out.append(f"(?{flags[1]}:")

    def _close_group(self) -> None:
        if not self._outer:
            raise self._fail("unexpected )")
        self._at += 1
        self._out.append(")" * (len(self._flags) + 1))
        self._flags, self._multiline = self._outer.pop()

    def _class(self) -> str:
        start = self._at
        self._at += 1
        parts = ["["]
        if self._pattern.startswith("^", self._at):
            self._at += 1
            parts.append("^")
        first = True
        while first or not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise self._fail(f"missing closing ]: `{self._pattern[start:]}`")
            parts.append(self._class_member())
            first = False
        self._at += 1
        return "".join([*parts, "]"])

    def _class_member(self) -> str:
        posix = self._take(_POSIX)
        if posix is not None:
            if posix[2] not in _POSIX_CLASSES:
                raise self._fail(f"invalid character class range: `{posix[0]}`")
            members = _POSIX_CLASSES[posix[2]]
            return _complement(members) if posix[1] else members
        char = self._pattern[self._at]
        self._at += 1
        if char == "\\":
            return self._escape(in_class=True)
        # What Python may one day read as set operations is literal in Go.
        return f"\\{char}" if char in "[]&~|^" else char

    def _escape(self, *, in_class: bool) -> str:
        if self._at >= len(self._pattern):
            raise self._fail("trailing backslash at end of expression: ``")
        if unicode_class := self._take(_UNICODE_CLASS):
            return _category(unicode_class, in_class=in_class)
        if hexadecimal := self._take(_HEX):
            return _code_point(int(hexadecimal[1] or hexadecimal[2], 16))
        if octal := self._take(_OCTAL):
            return _code_point(int(octal[0], 8))
        char = self._pattern[self._at]
        self._at += 1
        if char == "Q" and not in_class:
            literal, _, _ = self._pattern[self._at :].partition("\\E")
            self._at = min(self._at + len(literal) + 2, len(self._pattern))
            return re.escape(literal)
        if char == "z" and not in_class:
            return "\\Z"
        if char in _SAME_ESCAPES and not (in_class and char in "AbB"):
            return f"\\{char}"
        if char.isascii() and not char.isalnum():
            return re.escape(char)
        raise self._fail(f"invalid escape sequence: `\\{char}`")


def _multiline(flags: str, before: bool) -> bool:
    on, _, off = flags.partition("-")
    return (before or "m" in on) and "m" not in off


def _code_point(code: int) -> str:
    if code > sys.maxunicode:
        raise GoRegexpError(f"error parsing regexp: invalid escape sequence: `\\x{{{code:X}}}`")
    return f"\\U{code:08x}"


def _category(match: re.Match[str], *, in_class: bool) -> str:
    name = match[2] or match[3]
    negated = match[0].startswith("P") != bool(match[1])
    members = _category_members(name)
    if not members:
        raise GoRegexpError(f"error parsing regexp: invalid character class range: `\\{match[0]}`")
    if in_class:
        return _complement(members) if negated else members
    return f"[{'^' if negated else ''}{members}]"


@functools.cache
def _category_members(name: str) -> str:
    """Return the ranges of all characters in a Unicode category (``L``, ``Lu``, ...)."""
    codes = (
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)).startswith(name)
    )
    return _ranges(codes)


def _ranges(codes: Iterable[int]) -> str:
    """Return ascending code points as the members of a character class."""
    ranges: list[tuple[int, int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1] = (ranges[-1][0], code)
        else:
            ranges.append((code, code))
    return "".join(f"{_code_point(low)}-{_code_point(high)}" for low, high in ranges)


@functools.cache
def _complement(members: str) -> str:
    """Return the ranges of all characters that the class members do not match."""
    member = re.compile(f"[{members}]")
    codes = (code for code in range(sys.maxunicode + 1) if member.match(chr(code)) is None)
    return _ranges(codes)
