"""The tree of a regular expression, and what can be said of one without matching.

Promises: `parse` gives the tree of a pattern that `go_regexp` has translated and ``re`` accepts;
`ways_to_match` bounds how many ways a matcher that goes back in the text may have to try.

Does not promise: all of Python's syntax, only what `go_regexp` writes; nor that wrong patterns are
refused.

Like Go's regexp/syntax there is a node for each construct, but characters and classes are not sets
of code points: ``re`` is asked whether one fits.
"""

from __future__ import annotations

import enum
import functools
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

_GROUP = re.compile(r"\((?:\?P<\w+>|\?([ims]*)(?:-([ims]+))?:)?")
_QUANTIFIER = re.compile(r"(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})(\??)")
_CHARACTER = re.compile(r"\\U[0-9a-f]{8}|\\.|\[\^?(?:\\.|[^\]\\])*\]|.", re.DOTALL)
_QUANTIFIER_BOUNDS: Final = {"*": (0, None), "+": (1, None), "?": (0, 1)}


class Assertion(enum.Enum):
    """What a pattern may ask of a place in the text without reading a character."""

    TEXT_START = enum.auto()
    TEXT_END = enum.auto()
    LINE_START = enum.auto()
    LINE_END = enum.auto()
    WORD_BOUNDARY = enum.auto()
    NO_WORD_BOUNDARY = enum.auto()


_ASSERTIONS: Final = {
    "^": Assertion.TEXT_START,
    "\\A": Assertion.TEXT_START,
    "$": Assertion.LINE_END,  # which is written for multi-line patterns only
    "\\Z": Assertion.TEXT_END,
    "\\b": Assertion.WORD_BOUNDARY,
    "\\B": Assertion.NO_WORD_BOUNDARY,
}


@dataclass(frozen=True, slots=True)
class Character:
    """One character for which `fits` is true."""

    fits: Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts, earlier ones first."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part so many times, as often as possible, or as seldom if lazy."""

    part: Part
    low: int
    high: int | None
    lazy: bool


Part = Character | Assertion | Sequence | Choice | Repeat


def parse(pattern: str) -> Part:
    """Return the tree of a pattern that `go_regexp` has translated and ``re`` accepts."""
    return _Parser(pattern).parse_choice(frozenset())


def ways_to_match(part: Part, length: int) -> float:
    """Return a bound of the ways to match text of this length from one place; may be infinite."""
    match part:
        case Sequence():
            return math.prod(ways_to_match(below, length) for below in part.parts)
        case Choice():
            return sum(ways_to_match(below, length) for below in part.parts)
        case Repeat():
            high = length if part.high is None else min(part.high, length)
            counts = max(high - part.low, 0) + 1
            ways = ways_to_match(part.part, length)
            if ways <= 1:
                return counts
            return counts * ways**high if high * math.log2(ways) < 64 else math.inf
    return 1


def copies(part: Part) -> int:
    """Return how many copies of a part nested counted repeats stand for."""
    match part:
        case Sequence() | Choice():
            return max(map(copies, part.parts), default=1)
        case Repeat():
            return max(part.high or part.low, 1) * copies(part.part)
    return 1


def is_anchored(part: Part) -> bool:
    """Tell whether a pattern can match at the start of the text only."""
    if isinstance(part, Sequence):
        return bool(part.parts) and is_anchored(part.parts[0])
    return part is Assertion.TEXT_START


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def parse_choice(self, flags: frozenset[str]) -> Part:
        branches = [self._parse_sequence(flags)]
        while self._pattern.startswith("|", self._at):
            self._at += 1
            branches.append(self._parse_sequence(flags))
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _parse_sequence(self, flags: frozenset[str]) -> Part:
        parts: list[Part] = []
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            part = self._parse_part(flags)
            quantifier = _QUANTIFIER.match(self._pattern, self._at)
            if quantifier is not None:
                self._at = quantifier.end()
                low, high = _bounds(quantifier)
                part = Repeat(part, low, high, lazy=bool(quantifier[5]))
            parts.append(part)
        return Sequence(tuple(parts))

    def _parse_part(self, flags: frozenset[str]) -> Part:
        group = _GROUP.match(self._pattern, self._at)
        if group is not None:
            self._at = group.end()
            part = self.parse_choice((flags | set(group[1] or "")) - set(group[2] or ""))
            self._at += 1
            return part
        character = _CHARACTER.match(self._pattern, self._at)
        assert character is not None  # it takes anything
        self._at = character.end()
        if character[0] == "^" and "m" in flags:
            return Assertion.LINE_START
        return _ASSERTIONS.get(character[0]) or Character(_fits(character[0], flags))


def _bounds(quantifier: re.Match[str]) -> tuple[int, int | None]:
    if quantifier[1]:
        return _QUANTIFIER_BOUNDS[quantifier[1]]
    low = int(quantifier[2])
    if not quantifier[3]:
        return low, low
    return low, int(quantifier[4]) if quantifier[4] else None


@functools.lru_cache(maxsize=1024)
def _fits(source: str, flags: frozenset[str]) -> Callable[[str], object]:
    """Let ``re`` decide about single characters: so the two agree on classes and cases."""
    modes = re.ASCII
    if "i" in flags:
        modes |= re.IGNORECASE
    if "s" in flags:
        modes |= re.DOTALL
    return re.compile(source, modes).fullmatch
