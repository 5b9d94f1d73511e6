"""Semantic versions."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from typing import ClassVar

from clientgo.testcluster.cel.errors import CelEvaluationError
from clientgo.testcluster.cel.functions import Overload, function, method
from clientgo.testcluster.cel.types import BOOL, INT, STRING, CelType

SEMVER = CelType("kubernetes.Semver")

_NUMBER = "(0|[1-9][0-9]*)"
_MAX_NUMBER = 2**64 - 1
_IDENTIFIER = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
_SEMVER = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?"
    r"(?:\+([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


@functools.total_ordering
@dataclass(frozen=True, slots=True)
class Semver:
    """A version. Comparisons ignore the build metadata, after a plus sign."""

    cel_type: ClassVar[CelType] = SEMVER
    major: int
    minor: int
    patch: int
    prerelease: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Semver:
        """Parse a version.

        Raises:
            ValueError: it is not one.
        """
        match = _SEMVER.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} is not a semantic version")
        prerelease = tuple(match[4].split(".")) if match[4] else ()
        numbers = [int(part) for part in (*match.groups()[:3], *prerelease) if part.isdecimal()]
        if max(numbers) > _MAX_NUMBER:
            raise ValueError(f"{text!r} has a number of more than 64 bits")
        return cls(numbers[0], numbers[1], numbers[2], prerelease)

    def _order(self) -> tuple[object, ...]:
        """Return the sort key. A release is greater than its prereleases."""
        parts = tuple(
            (0, int(part), "") if part.isdecimal() else (1, 0, part) for part in self.prerelease
        )
        return (self.major, self.minor, self.patch, not self.prerelease, parts)

    def __lt__(self, other: Semver) -> bool:
        return self._order() < other._order()


def _normalized(text: str) -> str:
    """Return a version without leading v and zeros, with three numbers.

    Raises:
        ValueError: it has fewer numbers, and a prerelease or build metadata.
    """
    parts = text.removeprefix("v").split(".", 2)
    if len(parts) < 3 and re.search("[-+]", parts[-1]):
        raise ValueError("short version cannot contain PreRelease/Build meta data")
    parts = [re.sub("^0+(?=[0-9])", "", part) for part in parts]
    return ".".join([*parts, "0", "0"][: max(3, len(parts))])


def _semver(text: str, normalize: bool = False) -> Semver:
    try:
        return Semver.parse(_normalized(text) if normalize else text)
    except ValueError as error:
        raise CelEvaluationError(str(error)) from error


def _is_semver(text: str, normalize: bool = False) -> bool:
    try:
        _semver(text, normalize)
    except CelEvaluationError:
        return False
    return True


def _signed(number: int) -> int:
    """Return the integer of the same 64 bits, as upstream converts the numbers of a version."""
    return (number + 2**63) % 2**64 - 2**63


OVERLOADS: tuple[Overload, ...] = (
    function("semver", [STRING], SEMVER, _semver),
    function("semver", [STRING, BOOL], SEMVER, _semver),
    function("isSemver", [STRING], BOOL, _is_semver),
    function("isSemver", [STRING, BOOL], BOOL, _is_semver),
    method("major", SEMVER, [], INT, lambda version: _signed(version.major)),
    method("minor", SEMVER, [], INT, lambda version: _signed(version.minor)),
    method("patch", SEMVER, [], INT, lambda version: _signed(version.patch)),
    method("compareTo", SEMVER, [SEMVER], INT, lambda a, b: (a > b) - (a < b)),
    method("isLessThan", SEMVER, [SEMVER], BOOL, lambda a, b: a < b),
    method("isGreaterThan", SEMVER, [SEMVER], BOOL, lambda a, b: a > b),
)
