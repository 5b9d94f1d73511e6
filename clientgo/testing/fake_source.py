"""Objects of one kind to list and watch, in memory, for tests of reflectors and informers.

Promises: every change gets the next resource version; a list is as of one version, in pages if
asked; a watch goes on from a version, or begins with the existing objects, and sees every later
change once and in order. It injects faults: changes that watches miss, expired history,
requests that fail, streams that break or contain garbage.

Does not promise to be an API server: no selectors, no validation. Use
``clientgo.testcluster.server.EmbeddedAPIServer`` for that.

Upstream: ``tools/cache/testing`` FakeControllerSource.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from clientgo.meta import (
    INITIAL_EVENTS_END,
    EventType,
    ExpiredError,
    ListMeta,
    ListOptions,
    ObjectList,
    ObjectMeta,
    Resource,
    Unstructured,
    WatchEvent,
    deep_copy,
    object_key,
)
from clientgo.meta.errors import GatewayTimeoutError, StatusError
from clientgo.meta.status import Status, StatusCause, StatusDetails
from clientgo.util.copies import uncopyable

Event = WatchEvent[Any]


@uncopyable("it has locks; make one in each process")
class FakeSource:
    """Implements :class:`~clientgo.cache.ListerWatcher`. Thread-safe.

    The objects that are given to it are copied. ``requests`` logs (verb, options) of every
    request. ``sample`` is an object of the kind that it serves, for bookmarks; without it the first
    object is. ``supports_watch_list`` says whether it can stream its initial list.
    """

    def __init__(
        self,
        objs: Iterable[Any] = (),
        *,
        sample: Any = None,
        supports_watch_list: bool = True,
    ) -> None:
        self.supports_watch_list = supports_watch_list
        self._sample = sample
        self.requests: list[tuple[str, ListOptions]] = []
        self._changed = threading.Condition()
        self._objects: dict[str, Any] = {}
        self._version = 0
        self._oldest = 0
        self._history: list[tuple[int, Event]] = []
        self._streams: list[FakeStream] = []
        self._failures: dict[str, deque[Exception]] = {"list": deque(), "watch": deque()}
        for obj in objs:
            self.add(obj)

    # What happens on the server

    def add(self, obj: Any, *, unseen: bool = False) -> Any:
        """Create an object and return it as stored; watches miss it if ``unseen``."""
        return self._write(EventType.ADDED, obj, unseen)

    def update(self, obj: Any, *, unseen: bool = False) -> Any:
        """Replace an object and return it as stored; watches miss it if ``unseen``."""
        return self._write(EventType.MODIFIED, obj, unseen)

    def delete(self, obj: Any, *, unseen: bool = False) -> Any:
        """Delete what has the object's name and return its last state; watches may miss it."""
        return self._write(EventType.DELETED, obj, unseen)

    def objects(self) -> dict[str, Any]:
        """What there is, by key."""
        with self._changed:
            return dict(self._objects)

    @property
    def resource_version(self) -> str:
        """The version of the newest change."""
        with self._changed:
            return str(self._version)

    # Misbehaviour

    def fail(self, verb: str, *errors: Exception) -> None:
        """Let the next ``list`` or ``watch`` requests fail, one with each error."""
        with self._changed:
            self._failures[verb].extend(errors)

    def expire_history(self) -> None:
        """Expire all versions up to now; open watches continue."""
        with self._changed:
            self._oldest = self._version
            self._history.clear()

    def close_watches(self) -> None:
        """End all open watches cleanly."""
        for stream in self._open_streams():
            stream.stop()

    def break_watches(self, error: Exception) -> None:
        """Let the next read of every open watch raise ``error``."""
        for stream in self._open_streams():
            stream.fail(error)

    def send(self, event: Event) -> None:
        """Let every open watch bring an event that is no change: an error, a bookmark, rubbish."""
        for stream in self._open_streams():
            stream.put([event])

    def send_bookmark(self) -> None:
        """Let every open watch tell how far it has come."""
        with self._changed:
            self.send(bookmark_event(self._version, self._sample))

    # Synchronisation

    def wait_for_requests(self, count: int, timeout: float = 60.0) -> None:
        """Block until that many requests have been made; ``TimeoutError`` after real seconds."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= count, timeout):
                raise TimeoutError(f"expected {count} requests, got {self.requests}")

    def wait_for_watch(self, timeout: float = 60.0) -> None:
        """Block until a watch is open; ``TimeoutError`` after real seconds."""
        with self._changed:
            if not self._changed.wait_for(self._open_streams, timeout):
                raise TimeoutError(f"no watch was opened; requests: {self.requests}")

    # ListerWatcher

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        with self._changed:
            self._note_locked("list", options)
            start = int(options.continue_ or 0)
            self._check_not_ahead_locked(options.resource_version)
            objs = list(self._objects.values())[start:]
            page = objs[: options.limit] if options.limit else objs
            is_last = len(page) == len(objs)
            metadata = ListMeta(
                resource_version=str(self._version),
                continue_="" if is_last else str(start + len(page)),
            )
            return ObjectList(metadata=metadata, items=page)

    def watch(self, options: ListOptions, stop: threading.Event) -> FakeStream:
        with self._changed:
            self._note_locked("watch", options)
            self._check_not_ahead_locked(options.resource_version)
            stream = FakeStream()
            if options.send_initial_events or options.resource_version in ("", "0"):
                stream.put([WatchEvent(EventType.ADDED, obj) for obj in self._objects.values()])
                if options.send_initial_events:
                    end = bookmark_event(self._version, self._sample, ends_initial_events=True)
                    stream.put([end])
            else:
                since = int(options.resource_version)
                if since < self._oldest:
                    raise ExpiredError.of(f"too old resource version: {since} ({self._oldest})")
                stream.put([event for version, event in self._history if version > since])
            self._streams.append(stream)
            self._changed.notify_all()
            return stream

    def _write(self, kind: EventType, obj: Any, unseen: bool) -> Any:
        with self._changed:
            key = object_key(obj)
            stored = deep_copy(obj)
            self._sample = self._sample or stored
            self._version += 1
            stored.metadata.resource_version = str(self._version)
            if kind is EventType.DELETED:
                self._objects.pop(key, None)
            else:
                self._objects[key] = stored
            if not unseen:
                event: Event = WatchEvent(kind, stored)
                self._history.append((self._version, event))
                for stream in self._open_streams():
                    stream.put([event])
            return stored

    def _open_streams(self) -> Sequence[FakeStream]:
        with self._changed:
            self._streams = [stream for stream in self._streams if not stream.is_stopped]
            return list(self._streams)

    def _note_locked(self, verb: str, options: ListOptions) -> None:
        self.requests.append((verb, options))
        self._changed.notify_all()
        if self._failures[verb]:
            raise self._failures[verb].popleft()

    def _check_not_ahead_locked(self, version: str) -> None:
        if version and int(version) > self._version:
            raise too_large_resource_version_error(version, self._version)


class FakeStream:
    """A watch whose events are put in by the test. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._events: list[Event] = []
        self._error: Exception | None = None
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        return self._is_stopped

    def put(self, events: Iterable[Event]) -> None:
        """Add events, which one read will bring together."""
        with self._changed:
            self._events.extend(events)
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """Let the read after the events that are there raise ``error``."""
        with self._changed:
            self._error = error
            self._changed.notify_all()

    def read(self) -> Sequence[Event]:
        with self._changed:
            while not (self._events or self._error or self._is_stopped):
                self._changed.wait()
            events, self._events = self._events, []
            if not events and self._error is not None:
                self._is_stopped = True
                raise self._error
            return events

    def stop(self) -> None:
        with self._changed:
            self._is_stopped = True
            self._changed.notify_all()


def bookmark_event(
    version: int | str, sample: Any = None, *, ends_initial_events: bool = False
) -> Event:
    """A bookmark as a server sends it: an object of the kind of ``sample`` with little in it."""
    annotations = {INITIAL_EVENTS_END: "true"} if ends_initial_events else {}
    metadata = ObjectMeta(resource_version=str(version), annotations=annotations)
    if isinstance(sample, Resource):
        return WatchEvent(EventType.BOOKMARK, type(sample)(metadata=metadata))
    marker = Unstructured(metadata=metadata)
    if isinstance(sample, Unstructured):
        marker.api_version, marker.kind = sample.api_version, sample.kind
    return WatchEvent(EventType.BOOKMARK, marker)


def too_large_resource_version_error(asked: str, current: int) -> StatusError:
    """The answer to a request for a version that the server has not reached."""
    message = f"Too large resource version: {asked}, current: {current}"
    cause = StatusCause(reason="ResourceVersionTooLarge", message=message)
    details = StatusDetails(causes=[cause], retry_after_seconds=1)
    return GatewayTimeoutError(
        Status(status="Failure", reason="Timeout", code=504, message=message, details=details)
    )
