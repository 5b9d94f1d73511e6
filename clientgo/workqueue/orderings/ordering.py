"""The order in which a queue returns the items that are ready.

Not thread-safe: a queue calls its ordering under its lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from typing import Any, Final, Protocol, TypeVar

T = TypeVar("T", bound=Hashable)

NOTHING: Final[Any] = object()
"""Where there is no item."""


class Ordering(Protocol[T]):
    """Where a queue lists the items that are ready. Called under the queue's lock.

    Source: k8s.io/client-go/util/workqueue, Queue.
    """

    def push(self, item: T, /) -> None:
        """List an item, which is not listed."""

    def pop(self) -> T:
        """Unlist and return the item that is next. Only called when there is one."""

    def touch(self, item: T, /) -> None:
        """Take note that a listed item was added again."""

    def __len__(self) -> int: ...


class FIFO(deque[T]):
    """The default ordering: first in, first out."""

    push = deque.append
    pop = deque.popleft

    def touch(self, item: T, /) -> None:
        """Leave the item where it is."""
