"""The limit of files that a process may have open, sockets among them.

Does nothing on systems without such limits.
"""

from __future__ import annotations

import contextlib
import os
import sys

if sys.platform != "win32":
    import resource


def files_left() -> int:
    """Return how many more files this process may open."""
    if sys.platform == "win32":
        return sys.maxsize
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return sys.maxsize
    try:
        return soft - len(os.listdir("/dev/fd"))
    except FileNotFoundError:
        return soft
    except OSError:  # none is left, not even to read the directory
        return 0


def raise_file_limit(wanted: int) -> None:
    """Let this process open ``wanted`` files, or as many as the system allows it."""
    if sys.platform == "win32":
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    new = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < new:
        with contextlib.suppress(OSError, ValueError):  # macOS has a lower limit of its own
            resource.setrlimit(resource.RLIMIT_NOFILE, (new, hard))
