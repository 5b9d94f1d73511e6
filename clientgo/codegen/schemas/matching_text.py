"""Random texts that a regular expression matches, for samples and fuzz tests.

Promises that the pattern is found in the text, and that the same random numbers give the same text.

Does not promise to find a text for every pattern: assertions within the pattern (look-ahead, word
boundaries) are not solved, only checked. Patterns are in Python's syntax; of Go's own the classes
of POSIX, ``\\z`` and the categories of letters and numbers are understood.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final

_TRIES: Final = 100

_LETTERS: Final = string.ascii_lowercase + string.digits + string.ascii_uppercase
_PRINTABLE: Final = _LETTERS + string.punctuation + " "

_OF_GO: Final[Mapping[str, str]] = {
    r"\z": r"\Z",
    r"\pL": "[a-zA-Z]",
    r"\p{L}": "[a-zA-Z]",
    r"\pN": "[0-9]",
    r"\p{N}": "[0-9]",
    "[:alpha:]": "a-zA-Z",
    "[:digit:]": "0-9",
    "[:alnum:]": "a-zA-Z0-9",
    "[:lower:]": "a-z",
    "[:upper:]": "A-Z",
    "[:xdigit:]": "0-9a-fA-F",
    "[:space:]": r"\s",
    "[:word:]": r"\w",
}
_GO_SYNTAX: Final = re.compile("|".join([*map(re.escape, _OF_GO), r"\\."]))

_CATEGORIES: Final[Mapping[str, re.Pattern[str]]] = {
    "CATEGORY_DIGIT": re.compile(r"[0-9]"),
    "CATEGORY_NOT_DIGIT": re.compile(r"\D"),
    "CATEGORY_SPACE": re.compile(r" "),
    "CATEGORY_NOT_SPACE": re.compile(r"\S"),
    "CATEGORY_WORD": re.compile(r"\w", re.ASCII),
    "CATEGORY_NOT_WORD": re.compile(r"\W"),
}


def text_matching(
    pattern: str,
    numbers: random.Random,
    *,
    shortest: int = 0,
    longest: int | None = None,
    repeats: int = 0,
    preferred: str | None = None,
) -> str:
    """Return a text of a length from ``shortest`` to ``longest`` that the pattern is found in.

    ``preferred`` is returned if it fits. ``repeats`` is how often more than it must what is
    repeated comes, at first: 0 for short texts. Raises ``ValueError`` if the pattern cannot be
    parsed, or no text is found.
    """
    translated = _GO_SYNTAX.sub(lambda found: _OF_GO.get(found[0], found[0]), pattern)
    try:
        compiled = re.compile(translated)
        parsed = import_module("re._parser").parse(translated)
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} cannot be parsed: {error}") from error

    def fits(text: str) -> bool:
        if len(text) < shortest or (longest is not None and len(text) > longest):
            return False
        return compiled.search(text) is not None

    if preferred is not None and fits(preferred):
        return preferred
    for number in range(_TRIES + 2 * shortest):
        more = repeats + number // 2
        text = _Writer(numbers, more, exact=number % 2 == 0).text(parsed)
        if fits(text):
            return text
        if longest is not None and len(text) > longest:
            repeats = 0  # begin with the shortest texts
    limits = f" of {shortest} to {'any' if longest is None else longest} characters"
    raise ValueError(f"no text{limits} was found for the pattern {pattern!r}")


class _Writer:
    """Writes one text; assertions are left to a check of the whole."""

    def __init__(self, numbers: random.Random, more: int, *, exact: bool) -> None:
        self._numbers = numbers
        self._more = more
        self._exact = exact
        self._groups: dict[int, str] = {}

    def text(self, parsed: Iterable[tuple[Any, Any]]) -> str:
        return "".join(self._part(str(operation), argument) for operation, argument in parsed)

    def _part(self, operation: str, argument: Any) -> str:
        match operation:
            case "LITERAL":
                return chr(argument)
            case "NOT_LITERAL":
                return self._numbers.choice(_PRINTABLE.replace(chr(argument), ""))
            case "ANY":
                return self._numbers.choice(_LETTERS)
            case "IN":
                return self._one_of(argument)
            case "BRANCH":
                return self.text(self._numbers.choice(argument[1]))
            case "SUBPATTERN":
                group, _, _, parsed = argument
                text = self.text(parsed)
                if group is not None:
                    self._groups[group] = text
                return text
            case "GROUPREF":
                return self._groups.get(argument, "")
            case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
                least, most, parsed = argument
                more = self._more if self._exact else self._numbers.randint(0, self._more)
                return "".join(self.text(parsed) for _ in range(min(least + more, int(most))))
            case "ATOMIC_GROUP":
                return self.text(argument)
        return ""  # an anchor or another assertion

    def _one_of(self, members: list[tuple[Any, Any]]) -> str:
        negated = str(members[0][0]) == "NEGATE"
        chars = [
            char
            for char in _PRINTABLE
            if any(_is_in(char, str(what), value) for what, value in members) is not negated
        ]
        if chars:
            return self._numbers.choice(chars)
        return "" if negated else chr(_first(self._numbers.choice(members)[1]))


def _is_in(char: str, what: str, value: Any) -> bool:
    match what:
        case "LITERAL":
            return bool(ord(char) == value)
        case "RANGE":
            return bool(value[0] <= ord(char) <= value[1])
        case "CATEGORY":
            return _CATEGORIES[str(value)].match(char) is not None
    return False


def _first(value: Any) -> int:
    """Return the first character of a literal or a range beyond ASCII."""
    return int(value[0] if isinstance(value, tuple) else value)
