"""Something that becomes true once and stays true, with a name to wait for it by.

Upstream: ``tools/cache`` DoneChecker, IsDone.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DoneChecker:
    """``done`` is set when what ``name`` stands for has happened. Thread-safe."""

    name: str
    done: threading.Event

    def is_done(self) -> bool:
        """Tell, without blocking, whether it has happened."""
        return self.done.is_set()
