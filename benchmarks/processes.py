"""Memory and processor time of a process, as Linux counts them."""

from __future__ import annotations

import os
from pathlib import Path


def memory(what: str, pid: int | str = "self") -> int:
    """Return bytes of a process: VmRSS now, VmHWM at most so far. 0 where Linux is not."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0
    [line] = (each for each in status.read_text().splitlines() if each.startswith(what))
    return int(line.split()[1]) * 1024


def processor_time(pid: int) -> float:
    """Return the seconds of processor time that a process has taken. Linux only."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
