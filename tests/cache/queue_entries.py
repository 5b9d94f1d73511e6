"""What the tests of the queues share: taking entries and naming what came out."""

from __future__ import annotations

from typing import Any

from clientgo.cache import DeletedFinalStateUnknown, Delta, Deltas, Queue, Replacement
from tests.cache.builders import ref


def named(delta: Delta) -> str:
    """``Added a@1``, ``Deleted †ns/a(a@1)`` for a tombstone."""
    obj = delta.object
    match obj:
        case DeletedFinalStateUnknown():
            return f"{delta.type} †{obj.key}({ref(obj.obj) if obj.obj else ''})"
        case Replacement():
            return f"{delta.type} {' '.join(map(ref, obj.objects))} @{obj.resource_version}"
        case None | str():
            return f"{delta.type} {obj or ''}".strip()
    return f"{delta.type} {ref(obj)}"


def take(queue: Queue) -> list[str]:
    """Pop one entry."""
    return [named(delta) for delta in queue.pop(lambda deltas, initial: None)]


def drain(queue: Queue) -> list[list[str]]:
    """Pop everything, one entry after the other."""
    popped = []
    while queue.statistics().pending:
        popped.append(take(queue))
    return popped


def take_batch(queue: Queue, limit: int = 1000) -> tuple[list[list[str]], bool, str]:
    """Pop a batch: what it held, whether it was of the initial list, who processed it."""
    seen: list[tuple[list[list[str]], bool, str]] = []

    def batch(batch: list[Deltas], initial: bool) -> None:
        seen.append(([[named(delta) for delta in deltas] for deltas in batch], initial, "batch"))

    def single(deltas: Deltas, initial: bool) -> None:
        seen.append(([[named(delta) for delta in deltas]], initial, "single"))

    queue.pop_batch(batch, single, limit)
    return seen[0]


class Store:
    """The consumer's store: what was popped is put in by hand."""

    def __init__(self, *objs: Any) -> None:
        self.objects = {f"{o.metadata.namespace}/{o.metadata.name}": o for o in objs}

    def list_keys(self) -> list[str]:
        return list(self.objects)

    def get_by_key(self, key: str) -> Any | None:
        return self.objects.get(key)


def initial(queue: Queue) -> int:
    return queue.statistics().initial_remaining
