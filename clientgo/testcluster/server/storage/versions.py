"""Resource versions in requests: ASCII digits that fit 64 bits, as Go's strconv reads them."""

from __future__ import annotations

import re

_VERSION = re.compile(r"[0-9]{1,20}")


def parse_version(text: str) -> int | None:
    """Return a resource version as a number; None if the text is no uint64."""
    number = int(text) if _VERSION.fullmatch(text) else None
    return number if number is not None and number < 2**64 else None
