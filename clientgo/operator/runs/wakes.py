"""What asks for the next run of an object."""

from __future__ import annotations


class Wakes:
    """Events and passes since the current or last run began. Not thread-safe."""

    __slots__ = (
        "_by_others",
        "_by_own_write",
        "_priority",
        "gathers_until",
        "own_in_a_row",
        "pending",
    )

    def __init__(self) -> None:
        self.pending = False
        """True if something asked for a run."""
        self.gathers_until: float | None = None
        """Until when a debounce holds a pending run."""
        self.own_in_a_row = 0
        """How many runs in a row, the current one included, were caused by own writes alone."""
        self._priority: int | None = None
        self._by_own_write = False
        """True if the event of a write that the last run made asked for the next one."""
        self._by_others = False

    @property
    def priority(self) -> int:
        """The highest of what asked; 0 if nothing did."""
        return self._priority or 0

    def ask(self, priority: int, *, by_own_write: bool = False) -> None:
        """Ask for a run."""
        self.pending = True
        if by_own_write:
            self._by_own_write = True
        else:
            self._by_others = True
        known = self._priority
        self._priority = priority if known is None else max(known, priority)

    def wrote(self) -> None:
        """Note that a run which is due later has an own write as its cause."""
        self._by_own_write = True

    def take(self) -> int | None:
        """Begin a run for all of it; return its priority, None if nothing asked."""
        priority, self._priority = self._priority, None
        only_own = self._by_own_write and not self._by_others
        self.own_in_a_row = self.own_in_a_row + 1 if only_own else 0
        self._by_own_write = self._by_others = self.pending = False
        self.gathers_until = None
        return priority
