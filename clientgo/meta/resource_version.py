"""Reading a resource version as a number, where two of them must be compared.

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
