"""Resource versions as numbers, where two of them must be compared.

Upstream: apimachinery ``util/resourceversion`` (KEP-5504), which requires a decimal number.
"""

from __future__ import annotations

from typing import Final

_MOST_DIGITS: Final = 1000
"""Python refuses to convert much longer texts. A server's versions have at most 20 digits."""


def parse_resource_version(version: str) -> int | None:
    """Return a resource version as a number; None if it is empty or not a decimal number."""
    if not (version.isascii() and version.isdigit() and len(version) <= _MOST_DIGITS):
        return None
    return int(version)


def compare_resource_versions(a: str, b: str) -> int:
    """Return -1, 0 or 1: the first of two resource versions is older, the same, or newer.

    Compare only versions of one resource of one server; others say nothing about each other.
    Raises ``ValueError`` for an empty version, and for one that is not a decimal number.

    Source: k8s.io/apimachinery/pkg/util/resourceversion, CompareResourceVersion.
    """
    first, second = _number(a), _number(b)
    return (first > second) - (first < second)


def _number(version: str) -> int:
    number = parse_resource_version(version)
    if number is None:
        raise ValueError(
            f"resource version {version!r:.80} is not a decimal number, so that it cannot be "
            "compared; pass that of an object or list that you read"
        )
    return number
