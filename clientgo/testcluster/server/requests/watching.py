"""Watches: a position in a collection's log, written to a client as it moves.

Promises: a watch from a version delivers every later change of its selection, once and in order;
resuming and following read the same log. An object is encoded when it is written, not again for
each watcher; all new events are sent as one chunk. A client that does not read costs only its
position; when the log no longer has that, the watch is dropped.

Does not promise a change that the log no longer has: the stream sends a 410 and ends.

Differs from upstream (apiserver ``storage/cacher``, ``endpoints/handlers/watch.go``), where the
cacher fills a channel for each watcher.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import random
from collections.abc import Iterable, Iterator
from typing import Any

from clientgo.meta.watch_event import EventType
from clientgo.testcluster.server.http.messages import (
    JSON,
    Message,
    Receive,
    Send,
    head,
    in_protobuf,
)
from clientgo.testcluster.server.http.negotiation import Form, Representation
from clientgo.testcluster.server.http.protobuf import PROTOBUF_TYPE
from clientgo.testcluster.server.http.protobuf.encoding import encode_event
from clientgo.testcluster.server.objects.state import State
from clientgo.testcluster.server.requests.listing import Selection
from clientgo.testcluster.server.requests.options import ListQuery
from clientgo.testcluster.server.requests.rendering import make_table, partial_metadata
from clientgo.testcluster.server.resources.errors import FailedRequestError, expired, internal
from clientgo.testcluster.server.resources.resource import Resource
from clientgo.testcluster.server.storage.deep_values import encode
from clientgo.testcluster.server.storage.storage import (
    Change,
    Collection,
    StoredObject,
    decode,
)
from clientgo.testcluster.server.storage.versions import parse_version

BOOKMARK_INTERVAL = 60.0
"""Seconds between bookmarks; a real API server sends them about once a minute."""

DEFAULT_TIMEOUT = 1800.0
"""Minimum seconds of a watch without timeoutSeconds; a random time up to twice as long is used."""

_CHANGES_A_READ = 1000
"""Changes taken from the log at a time."""

_BYTES_A_CHUNK = 256 * 1024
"""Bytes from which on a chunk gets no more lines. A client that does not read costs one chunk,
beyond the kernel's buffer."""

_CONVERSIONS_A_CALL = 100
"""Objects that a conversion webhook is asked about at a time."""

_PAUSE_A_WATCHER = 50e-6
"""Seconds between two writes to a watcher, for each watcher: about the time of the writes to the
others. Without a pause, 100 watchers take 5 ms of the event loop for each change."""

_LONGEST_PAUSE = 0.02
_SHORTEST_PAUSE = 0.001

_Event = tuple[EventType, StoredObject]

_INITIAL_EVENTS_END = {"k8s.io/initial-events-end": "true"}


def parse_watch_version(text: str) -> int:
    """Return the resource version that a watch starts from; 0 if it is missing.

    Raises:
        FailedRequestError: 500 (sic), it is no number.
    """
    version = parse_version(text or "0")
    if version is None:
        raise internal(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
    return version


class WatchResponse:
    """The watch of one client. On the event loop."""

    def __init__(
        self,
        state: State,
        resource: Resource,
        selection: Selection,
        representation: Representation,
        options: ListQuery,
    ) -> None:
        """Choose the position; if the log no longer has it in `send`, the watch ends with a 410.

        Raises:
            FailedRequestError: 500, the version can't be read.
        """
        self.resource = resource
        self._storage = state.storage
        self._open_watches = state.watches
        self._collection: Collection = state.storage.collection(resource.collection_key)
        self._selection = selection
        self.headers: list[tuple[str, str]] = []
        self._representation = representation
        self._bookmarks = options.bookmarks
        self._timeout = options.timeout
        self._failure: FailedRequestError | None = None
        self._initial: Iterable[StoredObject] = ()
        self._initial_bookmark = False
        self._table_columns = True
        self._ending = False
        self._bookmark_due = False
        self._last_written = 0.0
        self._wakeup = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._position = self._collection.log_end
        self._reached = state.storage.version
        """The version up to which all events have been read, for bookmarks."""
        self._place(options)

    def _place(self, options: ListQuery) -> None:
        version = parse_watch_version(options.resource_version)
        if options.send_initial_events or (options.send_initial_events is None and not version):
            self._initial = [
                item
                for item in self._collection.scan(self._selection.namespace)
                if self._selection.matches(item)
            ]
            # Upstream: SetListOptionsDefaults, a watch from the beginning asks for its end.
            asks = options.send_initial_events or not options.match
            self._initial_bookmark = options.bookmarks and asks
        elif version:
            if version < self._collection.expired:
                self._failure = self._too_old(version)
            else:
                self._position = self._collection.position_after(version)

    def _too_old(self, version: int) -> FailedRequestError:
        return expired(f"too old resource version: {version} ({self._storage.version})")

    # -- called by the log and the server

    @property
    def position(self) -> int:
        """Return the absolute index of the next change to read."""
        return self._position

    def wake(self) -> None:
        """Continue: the log has grown."""
        self._wakeup.set()

    def drop(self) -> None:
        """Close the connection: the log no longer has the position."""
        if self._task is not None:
            self._task.cancel()

    def end(self) -> None:
        """End the stream cleanly, after what is already in the log."""
        self._ending = True
        self._wakeup.set()

    # -- sending

    async def send(self, send: Send, receive: Receive) -> None:
        """Write events until the watch times out, is ended, or the client disconnects."""

        async def send_kept(message: Message) -> None:
            await self._storage.durable()  # no client sees what could still be lost
            await send(message)

        self._task = asyncio.current_task()
        listening = asyncio.create_task(self._end_on_disconnect(receive))
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(self._lifetime(), self.end)]
        if self._bookmarks:
            timers.append(loop.call_later(BOOKMARK_INTERVAL, self._request_bookmark, loop, timers))
        if self._position < self._collection.log_start:
            # The log was cleared after the position was chosen, and could not drop this watch yet.
            self._failure = self._too_old(self._collection.expired)
        self._collection.watchers.add(self)
        self._open_watches.add(self)
        try:
            await send_kept(
                {
                    "type": "http.response.start",
                    "status": 200,
                    "headers": head(self._content_type, self.headers),
                }
            )
            await self._write_events(send_kept)
            await send_kept({"type": "http.response.body", "body": b""})
        except asyncio.CancelledError:
            pass  # dropped: after an incomplete response the HTTP server closes the connection
        finally:
            self._open_watches.discard(self)
            self._collection.watchers.discard(self)
            listening.cancel()
            for timer in timers:
                timer.cancel()

    def _lifetime(self) -> float:
        return float(self._timeout or random.uniform(DEFAULT_TIMEOUT, 2 * DEFAULT_TIMEOUT))

    async def _end_on_disconnect(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            await self._gather()
        self.end()

    def _request_bookmark(
        self, loop: asyncio.AbstractEventLoop, timers: list[asyncio.TimerHandle]
    ) -> None:
        self._bookmark_due = True
        self._wakeup.set()
        timers[1] = loop.call_later(BOOKMARK_INTERVAL, self._request_bookmark, loop, timers)

    async def _write_events(self, send: Send) -> None:
        try:
            await self._follow(send)
        except FailedRequestError as error:  # the client lists again
            line = self._line("ERROR", encode(error.status()))
            await send({"type": "http.response.body", "body": line, "more_body": True})

    async def _follow(self, send: Send) -> None:
        if self._failure is not None:
            raise self._failure
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        initial = ((EventType.ADDED, item) for item in self._initial)
        self._initial = ()
        while chunk := await self._next_chunk(initial):
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await asyncio.sleep(0)  # there may be very many: other requests have a turn
        if self._initial_bookmark:
            line = self._bookmark(_INITIAL_EVENTS_END)
            await send({"type": "http.response.body", "body": line, "more_body": True})
        while True:
            self._wakeup.clear()
            while chunk := await self._next_new_chunk():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            if self._bookmark_due:
                self._bookmark_due = False
                line = self._bookmark()
                await send({"type": "http.response.body", "body": line, "more_body": True})
            if self._ending:
                return
            await self._wakeup.wait()
            await self._gather()

    async def _gather(self) -> None:
        """Wait for more changes of a burst, if there are many watchers.

        The first change after a pause is sent immediately; with one watcher all changes are.
        """
        loop = asyncio.get_running_loop()
        shared = min(len(self._collection.watchers) * _PAUSE_A_WATCHER, _LONGEST_PAUSE)
        pause = self._last_written + shared - loop.time()
        if pause > _SHORTEST_PAUSE:
            await asyncio.sleep(pause)
        self._last_written = loop.time()

    async def _next_chunk(self, events: Iterator[_Event]) -> bytes:
        """Return the lines of the next events; empty at the end.

        Raises:
            FailedRequestError: 500, a conversion outside of the server failed.
        """
        if self.resource.converter is None:
            return _joined(self._line(kind, self._render(stored)) for kind, stored in events)
        batch = list(itertools.islice(events, _CONVERSIONS_A_CALL))
        served = await self.resource.served([stored for _, stored in batch])
        rendered = zip(batch, map(self._render, served), strict=True)
        return b"".join(self._line(kind, body) for (kind, _), body in rendered)

    async def _next_new_chunk(self) -> bytes:
        """Return the lines of the next events; at the end note the version that is reached."""
        version = self._storage.version
        chunk = await self._next_chunk(self._new_events())
        if not chunk:
            self._reached = version
        return chunk

    def _new_events(self) -> Iterator[_Event]:
        """Yield the next events, up to the end of the log; move the position."""
        selection = self._selection
        prefix = f"{selection.namespace}/" if selection.namespace else ""
        while changes := self._collection.changes_from(self._position, _CHANGES_A_READ):
            for change in changes:
                self._position += 1
                if prefix and not change.current.key.startswith(prefix):
                    continue
                if selection.selects_all:
                    yield change.type, change.current
                elif event := self._selected(change):
                    yield event

    def _selected(self, change: Change) -> _Event | None:
        """Return a change as the selection sees it: objects enter and leave it."""
        before = change.previous is not None and self._selection.matches(change.previous)
        if change.type is EventType.DELETED:
            return (EventType.DELETED, change.current) if before else None
        if self._selection.matches(change.current):
            return (EventType.MODIFIED if before else EventType.ADDED), change.current
        if before and change.previous is not None:
            return EventType.DELETED, change.previous.at_version(change.resource_version)
        return None

    @property
    def _content_type(self) -> str:
        is_protobuf = self._representation.is_protobuf
        return f"{PROTOBUF_TYPE};stream=watch" if is_protobuf else JSON

    def _line(self, kind: str, body: bytes) -> bytes:
        if self._representation.is_protobuf:
            return in_protobuf(functools.partial(encode_event, kind), decode(body))
        return b'{"type":"%s","object":%s}\n' % (kind.encode(), body)

    def _render(self, stored: StoredObject) -> bytes:
        form = self._representation.form
        if form in (Form.OBJECT, Form.METADATA_LIST):  # an event has no list, so it is not changed
            return self.resource.encoded(stored)
        obj = self.resource.decode(stored)
        if form is Form.METADATA:
            return encode(partial_metadata(obj, self._representation.version))
        version = obj["metadata"]["resourceVersion"]
        table = make_table(self.resource, [obj], {"resourceVersion": version}, self._representation)
        if not self._table_columns:
            table["columnDefinitions"] = None
        self._table_columns = False
        return encode(table)

    def _bookmark(self, annotations: dict[str, str] | None = None) -> bytes:
        metadata: dict[str, Any] = {"resourceVersion": str(self._reached)}
        if annotations:
            metadata["annotations"] = annotations
        obj = self.resource.strategy.empty_object(self.resource) | {"metadata": metadata}
        representation = self._representation
        if representation.form is Form.METADATA:
            obj = partial_metadata(obj, representation.version)
        elif representation.form is Form.TABLE:
            shown = {"resourceVersion": metadata["resourceVersion"]}
            obj = make_table(self.resource, [obj], shown, representation)
        return self._line("BOOKMARK", encode(obj))


def _joined(lines: Iterator[bytes]) -> bytes:
    """Return the next lines, joined, up to the size of a chunk; empty at the end."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        chunk.append(line)
        size += len(line)
        if size >= _BYTES_A_CHUNK:
            break
    return b"".join(chunk)
