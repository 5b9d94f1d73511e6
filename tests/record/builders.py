"""Objects, events and sinks for the tests of this package."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from clientgo.api.core_v1 import Event, EventSource, ObjectReference
from clientgo.meta import ObjectMeta, deep_copy


def pod(name: str = "p", namespace: str = "ns") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{name}", "resourceVersion": "7"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def event(message: str = "m", *, reason: str = "R", name: str = "p", **fields: Any) -> Event:
    about = ObjectReference(
        kind="Pod", api_version="v1", namespace="ns", name=name, field_path=fields.pop("path", None)
    )
    return Event(
        metadata=ObjectMeta(name=f"{name}.1", namespace="ns", **fields),
        involved_object=about,
        type="Normal",
        reason=reason,
        message=message,
        source=EventSource(component="c"),
        first_timestamp="2000-01-01T00:00:00Z",
        last_timestamp="2000-01-01T00:00:00Z",
        count=1,
    )


class ListSink:
    """Remembers what was written; ``fail`` may raise, or block, before each write."""

    def __init__(self, fail: Callable[[], None] = lambda: None) -> None:
        self.created: list[Event] = []
        self.patched: list[tuple[str, dict[str, Any]]] = []
        self.tries = 0
        self._fail = fail
        self._lock = threading.Lock()

    def create(self, event: Event) -> Event:
        self._try()
        self.created.append(deep_copy(event))
        return event

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        self._try()
        self.patched.append((event.metadata.name, dict(patch)))
        return event

    def _try(self) -> None:
        with self._lock:
            self.tries += 1
        self._fail()

    @property
    def messages(self) -> list[str | None]:
        return [event.message for event in self.created]
