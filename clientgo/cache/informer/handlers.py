"""Event handlers: what is called when objects in the cache change.

Promises one call at a time, in the order in which the cache changed. Objects are shared and must
not be changed. The cache may be newer. A handler should enqueue the object's key and return.

Differs from client-go (``tools/cache`` ResourceEventHandler): a resync has a method of its own. A
filter gets the object in a tombstone; a tombstone without an object passes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from clientgo.cache.hops import called
from clientgo.cache.store.changes import DeletedFinalStateUnknown
from clientgo.observe.trace import Trace

T = TypeVar("T")


class ResourceEventHandler(Generic[T]):
    """Base of event handlers; override the methods that you need."""

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:
        """An object was added, or existed when the informer or the handler started."""

    def on_update(self, old: T, new: T) -> None:
        """An object changed.

        An object that was deleted and created again while no watch was open is an update with a
        different uid.
        """

    def on_resync(self, old: T, new: T) -> None:
        """Nothing changed, but the resync period has passed: both have the same version.

        Calls :meth:`on_update`, as a controller that reads the state treats both alike.
        """
        self.on_update(old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown) -> None:
        """An object was deleted: its last state, or a tombstone if no watch saw that."""


class HandlerFuncs(ResourceEventHandler[T]):
    """A handler made of functions; those that are left out do nothing.

    ``on_add`` is called with the object alone; derive from :class:`ResourceEventHandler` to know
    whether it is in the initial list. Without ``on_resync``, resyncs call ``on_update``.
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
        """Return the functions' common qualifier, or their names, for the log."""
        functions = (self._on_add, self._on_update, self._on_resync, self._on_delete)
        given = dict.fromkeys(f for f in functions if f is not None)
        names = [str(getattr(f, "__qualname__", type(f).__name__)) for f in given]
        owners = {name.rpartition(".")[0] for name in names}
        if len(owners) == 1 and "" not in owners and names[0].split(".")[-2] != "<locals>":
            return owners.pop()
        return "+".join(names) or type(self).__name__


class FilteringHandler(ResourceEventHandler[T]):
    """Calls ``handler`` only for objects that ``accepts`` returns True for.

    An object that starts or stops to be accepted is added or deleted for the handler.
    """

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


class ViewingHandler(ResourceEventHandler[Any]):
    """Calls ``handler`` with views of the objects, also of those in tombstones."""

    def __init__(self, view: Callable[[Any], T], handler: ResourceEventHandler[T]) -> None:
        self._view = view
        self._handler = handler

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._handler.on_add(self._view(obj), is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        self._handler.on_update(self._view(old), self._view(new))

    def on_resync(self, old: Any, new: Any) -> None:
        self._handler.on_resync(self._view(old), self._view(new))

    def on_delete(self, obj: Any) -> None:
        if isinstance(obj, DeletedFinalStateUnknown):
            last = None if obj.obj is None else self._view(obj.obj)
            self._handler.on_delete(DeletedFinalStateUnknown(obj.key, last))
        else:
            self._handler.on_delete(self._view(obj))

    def __str__(self) -> str:
        return handler_name(self._handler)


class TracedHandler(ResourceEventHandler[Any]):
    """Notes every call of ``handler`` before it makes it."""

    def __init__(self, handler: ResourceEventHandler[Any], trace: Trace, of: str) -> None:
        self._handler = handler
        self._name = handler_name(handler)
        self._trace = trace
        self._of = of

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._trace.note_all(self._of, called, self._name, "add", obj)
        self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        self._trace.note_all(self._of, called, self._name, "update", new)
        self._handler.on_update(old, new)

    def on_resync(self, old: Any, new: Any) -> None:
        self._trace.note_all(self._of, called, self._name, "resync", new)
        self._handler.on_resync(old, new)

    def on_delete(self, obj: Any) -> None:
        self._trace.note_all(self._of, called, self._name, "delete", obj)
        self._handler.on_delete(obj)


def last_known_state(obj: T | DeletedFinalStateUnknown) -> T | None:
    """Return the object that ``on_delete`` was called with, from its tombstone if it is in one.

    Returns None for a tombstone without an object.
    """
    if isinstance(obj, DeletedFinalStateUnknown):
        last: T | None = obj.obj
        return last
    return obj


def handler_name(handler: object) -> str:
    """Return the name of a handler for logs; never fails."""
    cls = type(handler)
    if cls.__str__ is object.__str__:
        return cls.__name__
    try:
        return str(handler)
    except Exception:  # noqa: BLE001 - a name is not worth an error
        return cls.__name__
