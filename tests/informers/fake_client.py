"""A client of objects in memory, as far as informers use one."""

from __future__ import annotations

import threading
from typing import Any

from clientgo.cache import WatchStream
from clientgo.meta import (
    INITIAL_EVENTS_END,
    APIResource,
    ListMeta,
    ListOptions,
    NotFoundError,
    ObjectList,
    ObjectMeta,
    PartialObjectMetadata,
    WatchEvent,
    metadata_of,
    resource_of,
)


class FakeClient:
    """Hands out resource clients that answer from ``objects`` and note what they are asked."""

    def __init__(self, *objects: Any) -> None:
        self.objects = list(objects)
        self.lists: list[tuple[str, str, ListOptions]] = []
        self.watches: list[tuple[str, str, ListOptions]] = []
        self.unserved: set[str] = set()
        self._streams: list[FakeStream] = []

    def resource(self, kind: type | APIResource) -> FakeResourceClient:
        served = kind if isinstance(kind, APIResource) else resource_of(kind)
        return FakeResourceClient(self, served)

    def emit(self, event_type: str, obj: Any) -> None:
        for stream in self._streams:
            stream.put(WatchEvent(event_type, obj))

    def open(self) -> FakeStream:
        stream = FakeStream()
        self._streams.append(stream)
        return stream


class FakeResourceClient:
    def __init__(self, client: FakeClient, resource: APIResource, namespace: str = "") -> None:
        self._client = client
        self._resource = resource
        self._plural = resource.plural
        self._namespace = namespace

    def namespace(self, namespace: str) -> FakeResourceClient:
        return FakeResourceClient(self._client, self._resource, namespace)

    def list(self, options: ListOptions, *, stop: threading.Event) -> ObjectList[Any]:
        self._client.lists.append((self._plural, self._namespace, options))
        return ObjectList(metadata=ListMeta(resource_version="10"), items=self._items())

    def watch(self, options: ListOptions, *, stop: threading.Event) -> WatchStream:
        self._client.watches.append((self._plural, self._namespace, options))
        items = self._items()
        stream = self._client.open()
        if options.send_initial_events:
            for item in items:
                stream.put(WatchEvent("ADDED", item))
            stream.put(WatchEvent("BOOKMARK", _end_of_initial_events()))
        return stream

    def _items(self) -> list[Any]:
        if self._plural in self._client.unserved:
            raise NotFoundError.of(f"{self._plural} are not served")
        return [
            obj
            for obj in self._client.objects
            if getattr(obj, "__resource__", None) in (None, self._resource)
            and self._namespace in ("", metadata_of(obj).namespace)
        ]


def _end_of_initial_events() -> PartialObjectMetadata:
    return PartialObjectMetadata(
        metadata=ObjectMeta(resource_version="10", annotations={INITIAL_EVENTS_END: "true"})
    )


class FakeStream:
    """A watch that hands out what is put in, until it is stopped."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: list[WatchEvent[Any]] = []
        self._stopped = False

    def put(self, event: WatchEvent[Any]) -> None:
        with self._changed:
            self._events.append(event)
            self._changed.notify_all()

    def read(self) -> list[WatchEvent[Any]]:
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._stopped)
            events, self._events = self._events, []
            return events

    def stop(self) -> None:
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
