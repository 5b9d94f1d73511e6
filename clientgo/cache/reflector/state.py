"""The states of a reflector, the events that end them, and the messages that follow.

::

    Relist ──► ListPage ──────────► OpenWatch ──► Watching
       │                               ▲  ▲          │ the stream ended
       └─────► OpenStream ──► StreamingList └────────┘

A request that is answered with "this kind is not served" leads to Unserved, and from there to a
list, as from Relist.

All are small immutable values: :mod:`~clientgo.cache.reflector.step` decides,
:class:`~clientgo.cache.Reflector` acts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from clientgo.cache.reflector.errors import NotServedError
from clientgo.cache.store.changes import Delta
from clientgo.cache.store.parts import PartTuple
from clientgo.meta import (
    GroupVersionKind,
    ListOptions,
    ObjectList,
    Undecodable,
    Unstructured,
    WatchEvent,
    has_metadata,
    is_table,
)

DEFAULT_PAGE_SIZE: Final = 500
"""As in the API server's own clients; a page of large objects still fits in memory."""


class Expected(Struct, frozen=True):
    """What the objects of a watch must be; others are skipped. By default all are accepted.

    Listed objects are not checked: the server has answered for the whole list.
    """

    python_type: type | None = None
    api_version: str = ""
    kind: str = ""

    @classmethod
    def of(cls, expected: type | GroupVersionKind | None) -> Expected:
        """Expect a class, or a kind of unstructured objects."""
        if isinstance(expected, GroupVersionKind):
            return cls(Unstructured, expected.api_version, expected.kind)
        return cls(expected)

    def misfit(self, obj: Any) -> str:
        """Return why ``obj`` is not what is expected; empty if it is."""
        if self.python_type is not None and type(obj) is not self.python_type:
            return f"expected {self.python_type.__name__}, got {type(obj).__name__}"
        if not has_metadata(obj):
            return f"{type(obj).__name__} has no object metadata"
        if not isinstance(obj, Unstructured):
            return ""
        if self.kind and (obj.kind != self.kind or obj.api_version != self.api_version):
            return f"expected {self.api_version} {self.kind}, got {obj.api_version} {obj.kind}"
        if is_table(obj.api_version, obj.kind):
            return "got a Table, which is a printed list and no object"
        return ""


class Settings(Struct, frozen=True):
    """The options of a reflector.

    A ``page_size`` of 0 decides by resource version. ``internal_error_window`` is how many seconds
    a stream that fails with internal errors is reopened without a list.
    """

    description: str = "<unspecified>"
    expected: Expected = Expected()
    page_size: int = 0
    stream_initial_list: bool = True
    internal_error_window: float = 0.0


class InternalErrors(Struct, frozen=True):
    """When the current series of internal errors began, and its newest one."""

    first: float
    last: float


class Memory(Struct, frozen=True):
    """What a reflector remembers across its states.

    ``version`` is the resource version up to which the store has everything, empty before the
    first list. ``unavailable`` is True if the server no longer, or not yet, has that version, so
    that the next list must ask for the newest state. ``always_page`` is set once a list from the
    watch cache came in pages: there is no watch cache. ``streams`` is cleared for good if streamed
    lists do not end on this server. ``passed`` is the highest version, if events have older ones.
    """

    version: str = ""
    unavailable: bool = False
    always_page: bool = False
    streams: bool = True
    cut_streams: int = 0
    expiries: int = 0
    internal_errors: InternalErrors | None = None
    passed: str = ""

    @property
    def highest(self) -> str:
        """The highest version that the server has sent since the last list."""
        return self.passed or self.version


# States


class StreamState(Struct, frozen=True):
    """Base of the states with an open stream; ``accepted`` counts its events."""

    memory: Memory
    since: float
    accepted: int = 0


class ListPage(Struct, frozen=True):
    """Waiting for a page of a list; the objects of ``pages`` came before it.

    ``version`` is that of the first page, ``unknown`` the keys of objects that did not decode.
    ``in_one_piece`` marks the list without pages that follows an expired continue token,
    ``newest`` the list of the newest state that follows an unavailable version. ``tokens`` are the
    continue tokens that the server has sent.
    """

    memory: Memory
    options: ListOptions
    pages: PartTuple = ()
    unknown: frozenset[str] = frozenset()
    version: str = ""
    in_one_piece: bool = False
    newest: bool = False
    tokens: frozenset[str] = frozenset()


class OpenWatch(Struct, frozen=True):
    """Waiting for a watch that continues from the memory's version."""

    memory: Memory


class Watching(StreamState, frozen=True):
    """Reading a watch.

    ``initial_adds`` is True while a watch that began without a version sends the existing objects,
    in no order, so that their versions mean no progress.
    """

    initial_adds: bool = False


class OpenStream(Struct, frozen=True):
    """Waiting for a watch that begins with the existing objects: a streamed list."""

    memory: Memory


class StreamingList(StreamState, frozen=True):
    """Reading a streamed list; nothing reaches the store before its end marker.

    ``added`` holds the objects in parts, up to the first batch that does not only add; ``changes``
    those of each batch from there on, an object that did not decode as the ``Undecodable``.
    """

    added: PartTuple = ()
    changes: tuple[Sequence[Delta], ...] = ()


class Backoff(Struct, frozen=True):
    """Pausing before the same request is sent again."""

    memory: Memory
    then: OpenWatch | OpenStream
    error: Exception


class Relist(Struct, frozen=True):
    """Pausing before another list. ``expected`` errors are not reported."""

    memory: Memory
    error: Exception
    expected: bool = False


class Unserved(Relist, frozen=True):
    """Pausing before another list, because the server does not serve the kind."""


State: TypeAlias = (
    ListPage | OpenWatch | Watching | OpenStream | StreamingList | Backoff | Relist | Unserved
)


# Events


class Page(Struct, frozen=True):
    """The server answered a list."""

    content: ObjectList[Any]


class Opened(Struct, frozen=True):
    """The server accepted a watch that was requested ``at``."""

    at: float


class Received(Struct, frozen=True):
    """An open watch brought events."""

    events: Sequence[WatchEvent[Any]]
    at: float


class Closed(Struct, frozen=True):
    """An open watch ended without an error."""

    at: float


class Failed(Struct, frozen=True):
    """A request or an open watch failed."""

    error: Exception
    at: float


class NotServed(Struct, frozen=True):
    """The server does not serve the kind, and says so where it lists what it serves."""

    error: NotServedError


class Refused(Struct, frozen=True):
    """The store did not take a message."""

    error: Exception


class Waited(Struct, frozen=True):
    """A pause is over."""


Event: TypeAlias = Page | Opened | Received | Closed | Failed | NotServed | Refused | Waited


# Messages for the store and the log


class Replace(Struct, frozen=True):
    """These are all objects, as of a version, and those under ``unknown`` keys, which are unread.

    An object that cannot be decoded is not gone: the store keeps what it has of it.
    """

    objects: Sequence[Any]
    version: str
    unknown: frozenset[str] = frozenset()


class Apply(Struct, frozen=True):
    """These changes happened, in this order."""

    changes: Sequence[Delta]


class Bookmark(Struct, frozen=True):
    """The server has sent everything up to a version."""

    version: str


class Reached(Struct, frozen=True):
    """The store has the events of a watch up to a version."""

    version: str


class Skip(Struct, frozen=True):
    """An object was left out, for a reason."""

    obj: Any
    reason: str


class Quarantine(Struct, frozen=True):
    """An object could not be decoded and is left out."""

    obj: Undecodable


Message: TypeAlias = Replace | Apply | Bookmark | Reached | Skip | Quarantine
