"""How the dependents of one primary are doing, for its reconciler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class DependentsOutcome:
    """``waiting`` has the names of those that are not ready, or wait for one that is not."""

    waiting: tuple[str, ...] = ()

    @property
    def all_ready(self) -> bool:
        return not self.waiting


ALL_READY: Final = DependentsOutcome()
