"""The items that a queue knows: the state of each, and those that are ready, in their order.

Promises: whatever interrupts an operation half-way, `repair` makes states and order agree again.
Not thread-safe: a queue uses it under its lock.

Differs from client-go (util/workqueue, `Typed`): there an item is in up to two sets, *dirty* (it
needs work) and *processing*. Here it has one of three states, which cost one lookup where two sets
cost two or three: `READY` is dirty alone, `PROCESSING` is processing alone, `DIRTY` is both.
"""

from __future__ import annotations

import contextlib
import enum
import logging
from typing import Any, Final, Generic

from clientgo.workqueue.orderings.ordering import NOTHING, Ordering, T

_log = logging.getLogger("clientgo.workqueue")


class State(enum.Enum):
    """An item that has none of these is not known to the queue.

    ::

                  add             get                  add
        unknown ──────► READY ──────────► PROCESSING ──────► DIRTY
           ▲              ▲                   │                │
           └──────────────│────── done ───────┘                │
                          └────── done ────────────────────────┘
    """

    READY = "needs work; listed"
    PROCESSING = "being processed"
    DIRTY = "being processed, and needs work again"


# Reading a member off the enum costs more than the rest of the line that uses it.
READY, PROCESSING, DIRTY = State.READY, State.PROCESSING, State.DIRTY


class Items(Generic[T]):
    """The items of one queue. An item is in `ready` exactly if its state is `READY`."""

    def __init__(self, queue: str, ready: Ordering[T]) -> None:
        self._queue = queue
        self.states: Final[dict[T, State]] = {}
        self.ready: Final = ready

    def count(self, state: State) -> int:
        """Return how many items have this state."""
        return list(self.states.values()).count(state)

    def processed(self) -> list[T]:
        """Return the items that are being processed, in no order."""
        return [item for item, state in list(self.states.items()) if state is not READY]

    def repair(self, taken: Any = NOTHING) -> None:
        """Make states and order agree again, after an operation that has raised.

        An item `taken` by a `get` that did not return it is listed again.
        """
        with contextlib.suppress(Exception):  # an item that can't be looked up was not changed
            if self.states.get(taken, READY) is not READY:
                self.states[taken] = READY
        if len(self.ready) != self.count(READY):
            self._list_all()

    def _list_all(self) -> None:
        items = []
        while self.ready:
            items.append(self.ready.pop())
        items += [item for item, state in list(self.states.items()) if state is READY]
        listed = set()
        for item in items:
            try:
                if item not in listed:
                    self.ready.push(item)
                    self.states[item] = READY
                    listed.add(item)
            except Exception:  # noqa: BLE001 - the others must be listed
                _log.exception("work queue %r: the item %r is dropped", self._queue, item)
                with contextlib.suppress(Exception):
                    self.states.pop(item, None)
