"""How long this process has been running.

Promises the age by the operating system on Linux; elsewhere, that since this module was imported.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

_IMPORTED: Final = time.monotonic()

_START_TIME: Final = 19
"""The field of ``/proc/self/stat`` after the name of the program: clock ticks since the boot."""


def process_age(proc: Path = Path("/proc")) -> float:
    """Return the seconds since this process was started."""
    try:
        ticks = int((proc / "self/stat").read_text().rpartition(")")[2].split()[_START_TIME])
        since_boot = float((proc / "uptime").read_text().split()[0])
        return max(since_boot - ticks / os.sysconf("SC_CLK_TCK"), 0.0)
    except (AttributeError, IndexError, OSError, ValueError):
        return time.monotonic() - _IMPORTED
