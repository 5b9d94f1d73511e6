"""What a queue knows, and what it knows of one item, for people who ask why nothing happens."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueueStatistics:
    """A queue at one instant.

    Items: `ready` to be taken, `processing` by workers, and `dirty`, those processed that need work
    again. Threads, or coroutines: `idle_getters` in `get`, `drains` in `shut_down_with_drain`.
    """

    name: str
    ready: int
    processing: int
    dirty: int
    idle_getters: int
    drains: int
    shutting_down: bool


@dataclass(frozen=True, slots=True)
class ItemExplanation:
    """One item at one instant. As text it is a sentence.

    ``state`` is ``unknown``, ``ready``, ``processing`` or ``dirty``: being processed, and needs
    work again. ``due``: when its delay ends; ``since``: when it was added or taken, None in a queue
    without metrics; both, as ``now``, are instants of the clock's ``monotonic()``. ``requeues``
    counts its failures; ``ready`` all items that are ready, ``idle_getters`` the workers that wait.
    ``flow`` is the item's in a queue with ``fair_by``, of which ``ready_in_flow`` items are ready.
    """

    state: str
    now: float
    since: float | None
    ready: int
    idle_getters: int
    shutting_down: bool
    due: float | None = None
    requeues: int = 0
    flow: str | None = None
    ready_in_flow: int = 0

    def __str__(self) -> str:
        parts = [self._state()]
        if self.due is not None:
            parts.append(f"it is added in {max(self.due - self.now, 0.0):.3g} s")
        if self.requeues:
            parts.append(f"it has failed {self.requeues} times")
        if self.shutting_down:
            parts.append("the queue shuts down and takes nothing")
        return "; ".join(parts)

    def _state(self) -> str:
        age = "" if self.since is None else f" for {self.now - self.since:.3g} s"
        if self.state == "processing":
            return f"being processed{age}"
        if self.state == "dirty":
            return "being processed, and added again: one more sync follows"
        if self.state == "ready":
            busy = "a worker waits" if self.idle_getters else "every worker is busy"
            beside = f"one of {self.ready}"
            if self.flow is not None:
                beside = (
                    f"one of {self.ready_in_flow} of flow {self.flow!r}, of {self.ready} in all"
                )
            return f"ready{age}, {beside}; {busy}"
        if self.due is not None:
            return "delayed"
        return "not in the queue: nothing has added it since its last sync"
