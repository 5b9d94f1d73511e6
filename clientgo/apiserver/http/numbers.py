"""Numbers in queries and versions, as Go's strconv reads them: ASCII digits that fit 64 bits."""

from __future__ import annotations

import re

_SIGNED = re.compile(r"[+-]?[0-9]{1,19}")
_UNSIGNED = re.compile(r"[0-9]{1,20}")


def parse_signed(text: str) -> int | None:
    """A decimal number that fits an int64; None if the text is none."""
    number = int(text) if _SIGNED.fullmatch(text) else None
    return number if number is not None and -(2**63) <= number < 2**63 else None


def parse_unsigned(text: str) -> int | None:
    """A decimal number that fits an uint64; None if the text is none."""
    number = int(text) if _UNSIGNED.fullmatch(text) else None
    return number if number is not None and number < 2**64 else None
