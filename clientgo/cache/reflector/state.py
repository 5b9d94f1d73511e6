"""What a reflector can be doing, what can happen to it, and what it then tells its store.

::

    Relist ──► ListPage ──────────► OpenWatch ──► Watching
       │                               ▲  ▲          │ the stream ended
       └─────► OpenStream ──► StreamingList └────────┘

Promises that everything here is a small immutable value: a state together with what happened is
all that :func:`~clientgo.cache.reflector_step.step` needs. Does not promise to do anything; the
:class:`~clientgo.cache.Reflector` acts.

Differs from client-go (``tools/cache`` Reflector), where the same states are positions in nested
loops. Where each error leads is written beside the states in
:mod:`clientgo.cache.reflector.step`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeAlias

from msgspec import Struct

from clientgo.cache.store.changes import Change
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
"""What the API server's own clients use; a page of large objects still fits in memory."""


class Expected(Struct, frozen=True):
    """What objects of a watch must be; others are skipped. By default anything will do.

    Listed objects are not checked: there the server answered for the whole list.
    """

    python_type: type | None = None
    api_version: str = ""
    kind: str = ""

    @classmethod
    def of(cls, expected: type | GroupVersionKind | None) -> Expected:
        """A class, or the kind of unstructured objects."""
        if isinstance(expected, GroupVersionKind):
            return cls(Unstructured, expected.api_version, expected.kind)
        return cls(expected)

    def misfit(self, obj: Any) -> str:
        """Why ``obj`` is not what is expected; empty if it is."""
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
    """What a reflector was told when it was made.

    ``page_size`` 0 decides by resource version; ``internal_error_window`` is for how many seconds
    a stream that fails with internal errors is reopened without a list.
    """

    description: str = "<unspecified>"
    expected: Expected = Expected()
    page_size: int = 0
    stream_initial_list: bool = True
    internal_error_window: float = 0.0


class InternalErrors(Struct, frozen=True):
    """When the current run of internal errors began, and its newest one."""

    first: float
    last: float


class Memory(Struct, frozen=True):
    """What a reflector remembers across its states.

    ``version`` is the resource version up to which the store has been told everything, empty
    before the first list. ``unavailable`` says that the server no longer, or not yet, has that
    version, so that the next list must ask for the newest state. ``always_page`` is set once a
    list from the watch cache came in pages: there is no watch cache. ``streams`` is cleared for
    good when streamed lists never come to their end here.
    """

    version: str = ""
    unavailable: bool = False
    always_page: bool = False
    streams: bool = True
    cut_streams: int = 0
    expiries: int = 0
    internal_errors: InternalErrors | None = None


# States


class ListPage(Struct, frozen=True):
    """Waiting for a page of a list; ``pages`` came before it.

    ``in_one_piece`` marks the list without pages that follows a continue token which expired,
    ``newest`` the list of the newest state that follows a version which the server does not have.
    """

    memory: Memory
    options: ListOptions
    pages: tuple[ObjectList[Any], ...] = ()
    in_one_piece: bool = False
    newest: bool = False


class OpenWatch(Struct, frozen=True):
    """Waiting for a watch that goes on from the memory's version."""

    memory: Memory


class Watching(Struct, frozen=True):
    """Reading a watch.

    ``accepted`` counts its events. ``initial_adds`` says that it began without a version, with
    the existing objects in no order, so that their versions say nothing about progress.
    """

    memory: Memory
    since: float
    accepted: int = 0
    initial_adds: bool = False


class OpenStream(Struct, frozen=True):
    """Waiting for a watch that begins with the existing objects: a list that is streamed."""

    memory: Memory


class StreamingList(Struct, frozen=True):
    """Reading a streamed list; nothing reaches the store before its end marker.

    ``changes`` are those of each batch so far.
    """

    memory: Memory
    since: float
    accepted: int = 0
    changes: tuple[Sequence[Change], ...] = ()


class Backoff(Struct, frozen=True):
    """Pausing before the same request is made again."""

    memory: Memory
    then: OpenWatch | OpenStream
    error: Exception


class Relist(Struct, frozen=True):
    """Pausing before everything begins anew with a list. ``expected`` errors are no news."""

    memory: Memory
    error: Exception
    expected: bool = False


State: TypeAlias = ListPage | OpenWatch | Watching | OpenStream | StreamingList | Backoff | Relist


# What happens


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
    """An open watch ended without saying why."""

    at: float


class Failed(Struct, frozen=True):
    """A request was refused, or an open watch cannot be read on."""

    error: Exception
    at: float


class Refused(Struct, frozen=True):
    """The store did not take what it was told."""

    error: Exception


class Waited(Struct, frozen=True):
    """A pause is over."""


Happening: TypeAlias = Page | Opened | Received | Closed | Failed | Refused | Waited


# What the store and the log are told


class Replace(Struct, frozen=True):
    """These objects are all there are, as of a version."""

    objects: list[Any]
    version: str


class Apply(Struct, frozen=True):
    """These changes happened, in this order."""

    changes: list[Change]


class Bookmark(Struct, frozen=True):
    """Everything up to a version has been told."""

    version: str


class Reached(Struct, frozen=True):
    """The events of a watch have been told up to a version."""

    version: str


class Skip(Struct, frozen=True):
    """An object was left out, and why."""

    obj: Any
    reason: str


class Quarantine(Struct, frozen=True):
    """An object could not be decoded and is left out."""

    obj: Undecodable


Message: TypeAlias = Replace | Apply | Bookmark | Reached | Skip | Quarantine


# Errors


class ListFailedError(Exception):
    """A list failed; the server's answer is the ``__cause__``."""


class VeryShortWatchError(Exception):
    """A watch ended within a second without a single event."""


class NoVersionError(Exception):
    """A watch ended, and neither its events nor the list before it carried a resource version."""


class UnexpectedObjectError(Exception):
    """An ERROR event whose object is no Status."""


class StreamedListOverdueError(Exception):
    """A streamed list did not come to its end in time."""


class ConsumerFailedError(Exception):
    """The consumer of the store lost a change; its error is the ``__cause__``."""


class ResyncFailedError(Exception):
    """The store refused to resync; its error is the ``__cause__``."""


class StoreRefusedError(Exception):
    """The store refused an object or a list; its error is the ``__cause__``."""
