"""The hops of an informer, for a tracer: changes of the cache, and calls of handlers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from clientgo.cache.informer.handlers import ResourceEventHandler, handler_name
from clientgo.cache.queues.hops import versioned
from clientgo.cache.store.changes import DeletedFinalStateUnknown, Delta, DeltaType
from clientgo.cache.store.keys import deletion_handling_meta_namespace_key
from clientgo.observe.trace import Described, Trace


def updated(changes: Sequence[Delta], befores: Sequence[Any]) -> Iterator[Described]:
    """The cache was changed; a change that it refused is no hop."""
    for change, before in zip(changes, befores, strict=True):
        if not isinstance(before, Exception):
            obj, action = change.object, _action(change.type, before)
            yield "index.update", _key(obj), versioned(obj), {"action": action}


def _action(kind: DeltaType, before: object) -> str:
    if kind is DeltaType.DELETED:
        return "delete"
    return "add" if before is None else "update"


def _key(obj: Any) -> str:
    return deletion_handling_meta_namespace_key(obj)


class TracedHandler(ResourceEventHandler[Any]):
    """Notes every call of ``handler`` before it makes it."""

    def __init__(self, handler: ResourceEventHandler[Any], trace: Trace, of: str) -> None:
        self._handler = handler
        self._name = handler_name(handler)
        self._trace = trace
        self._of = of

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._note("add", obj)
        self._handler.on_add(obj, is_in_initial_list)

    def on_update(self, old: Any, new: Any) -> None:
        self._note("update", new)
        self._handler.on_update(old, new)

    def on_resync(self, old: Any, new: Any) -> None:
        self._note("resync", new)
        self._handler.on_resync(old, new)

    def on_delete(self, obj: Any) -> None:
        self._note("delete", obj)
        self._handler.on_delete(obj)

    def _note(self, event: str, obj: Any) -> None:
        self._trace.note_all(self._of, self._called, event, obj)

    def _called(self, event: str, obj: Any) -> Iterator[Described]:
        details: dict[str, Any] = {"handler": self._name, "event": event}
        if isinstance(obj, DeletedFinalStateUnknown):
            details["tombstone"] = True
        yield "handler.call", _key(obj), versioned(obj), details
