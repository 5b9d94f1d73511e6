"""What is told of changes: event handlers.

Promises: a handler is called by one thread at a time, in the order in which the cache changed.
What it is given is shared and must not be changed; what it returns is ignored.

Does not promise that the cache still holds what a handler is told: it may be further ahead. A
handler should put the object's key into a work queue and return.

Differs from client-go (``tools/cache`` ResourceEventHandler and its adapters): there are a base
class whose methods do nothing and an adapter for callables; a resync can be told from a change; a
filter never sees a tombstone but the object in it, and a tombstone without an object passes,
because its object may have passed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from clientgo.cache.store.changes import DeletedFinalStateUnknown

T = TypeVar("T")


class ResourceEventHandler(Generic[T]):
    """Base of event handlers; override what is of interest."""

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:
        """An object appeared, or was there when the informer or the handler started."""

    def on_update(self, old: T, new: T) -> None:
        """An object changed.

        An object that was deleted and made anew while nobody watched shows up here with a
        different uid.
        """

    def on_resync(self, old: T, new: T) -> None:
        """Nothing changed, but the resync period has passed: both are of the same version.

        Calls :meth:`on_update`, as a controller that reads the state treats both alike.
        """
        self.on_update(old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown) -> None:
        """An object is gone: its last state, or a tombstone if nobody saw that."""


class HandlerFuncs(ResourceEventHandler[T]):
    """A handler made of functions; those that are left out do nothing.

    ``on_add`` is called with the object alone; derive from :class:`ResourceEventHandler` to know
    whether it is in the initial list. Without ``on_resync``, ``on_update`` hears of resyncs.
    """

    def __init__(
        self,
        *,
        on_add: Callable[[T], object] | None = None,
        on_update: Callable[[T, T], object] | None = None,
        on_delete: Callable[[T | DeletedFinalStateUnknown], object] | None = None,
        on_resync: Callable[[T, T], object] | None = None,
    ) -> None:
        self._on_add = on_add
        self._on_update = on_update
        self._on_delete = on_delete
        self._on_resync = on_update if on_resync is None else on_resync

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:
        if self._on_add is not None:
            self._on_add(obj)

    def on_update(self, old: T, new: T) -> None:
        if self._on_update is not None:
            self._on_update(old, new)

    def on_resync(self, old: T, new: T) -> None:
        if self._on_resync is not None:
            self._on_resync(old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown) -> None:
        if self._on_delete is not None:
            self._on_delete(obj)

    def __str__(self) -> str:
        """The functions' common qualifier, or their names: what people recognise in a log."""
        functions = (self._on_add, self._on_update, self._on_resync, self._on_delete)
        given = dict.fromkeys(f for f in functions if f is not None)
        names = [str(getattr(f, "__qualname__", type(f).__name__)) for f in given]
        owners = {name.rpartition(".")[0] for name in names}
        if len(owners) == 1 and "" not in owners and names[0].split(".")[-2] != "<locals>":
            return owners.pop()
        return "+".join(names) or type(self).__name__


class FilteringHandler(ResourceEventHandler[T]):
    """Passes on what ``accepts`` accepts; an object that begins or ceases to be accepted is
    added or deleted for the wrapped handler."""

    def __init__(self, accepts: Callable[[T], bool], handler: ResourceEventHandler[T]) -> None:
        self._accepts = accepts
        self._handler = handler

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:
        if self._accepts(obj):
            self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: T, new: T) -> None:
        is_accepted, was_accepted = self._accepts(new), self._accepts(old)
        if is_accepted and was_accepted:
            self._handler.on_update(old, new)
        elif is_accepted:
            self._handler.on_add(new, False)
        elif was_accepted:
            self._handler.on_delete(old)

    def on_resync(self, old: T, new: T) -> None:
        if self._accepts(new):
            self._handler.on_resync(old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown) -> None:
        last = last_known_state(obj)
        if last is None or self._accepts(last):
            self._handler.on_delete(obj)

    def __str__(self) -> str:
        return handler_name(self._handler)


def last_known_state(obj: T | DeletedFinalStateUnknown) -> T | None:
    """The object that ``on_delete`` was called with, out of its tombstone if it is in one.

    None if the tombstone is all that is left.
    """
    if isinstance(obj, DeletedFinalStateUnknown):
        last: T | None = obj.obj
        return last
    return obj


def handler_name(handler: object) -> str:
    """What to call a handler in logs; never fails."""
    cls = type(handler)
    if cls.__str__ is object.__str__:
        return cls.__name__
    try:
        return str(handler)
    except Exception:  # noqa: BLE001 - a name is not worth an error
        return cls.__name__
