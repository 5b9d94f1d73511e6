"""What a full garbage collection visits."""

from __future__ import annotations

import gc
import sys
from typing import Any


def is_visited(part: Any) -> bool:
    """Return True if the collector goes through a part; a dict counts if it has such a value.

    CPython 3.14 tracks every dict, as long as it lives; before, one of untracked values is not.
    """
    if isinstance(part, dict) and sys.version_info >= (3, 14):
        return any(map(gc.is_tracked, part.values()))
    return gc.is_tracked(part)
