"""The transitions of a reflector: a state and an event give messages and the next state.

Promises: :func:`step` is pure, and every error leads to another attempt. The caller delivers the
messages and enters the next state only if the store took them; otherwise the state gets the event
:class:`~clientgo.cache.reflector.state.Refused`.

Differs from client-go (``tools/cache`` Reflector): a refused event leads to a list. After repeated
expiries the next list asks for the newest state. Streamed lists that are cut off or overdue are
given up. A watch never resumes from an empty version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Generic, TypeVar, get_args, get_type_hints

from msgspec import Struct
from msgspec.structs import replace

from clientgo.cache.reflector.errors import (
    ListFailedError,
    NoVersionError,
    ServerWentBackError,
    StreamedListOverdueError,
    VeryShortWatchError,
    is_overloaded,
    is_unavailable,
    store_refused,
)
from clientgo.cache.reflector.reading import (
    end_of_initial_events,
    final_objects,
    keys_of_undecodable,
    read_events,
)
from clientgo.cache.reflector.state import (
    DEFAULT_PAGE_SIZE,
    Apply,
    Backoff,
    Bookmark,
    Closed,
    Event,
    Failed,
    InternalErrors,
    ListPage,
    Memory,
    Message,
    NotServed,
    Opened,
    OpenStream,
    OpenWatch,
    Page,
    Quarantine,
    Reached,
    Received,
    Refused,
    Relist,
    Replace,
    Settings,
    Skip,
    State,
    StreamingList,
    StreamState,
    Unserved,
    Waited,
    Watching,
)
from clientgo.cache.store.changes import Delta, DeltaType
from clientgo.cache.store.parts import Parts, with_part
from clientgo.cache.store.resource_versions import is_older
from clientgo.meta import (
    ListOptions,
    StatusError,
    is_expired,
    is_internal_error,
    is_too_many_requests,
    metadata_of,
    parse_resource_version,
)
from clientgo.meta.wire.answers import repeated_token
from clientgo.util.copies import CopyableError

SHORTEST_WATCH: Final = 1.0
"""Seconds; a watch that ends sooner, without an event, was in fact refused."""

INTERNAL_ERRORS_FORGOTTEN_AFTER: Final = 60.0
"""Seconds without an internal error after which the next one begins a new series."""

MOST_EXPIRIES: Final = 8
"""Watches in a row that expire before their first event, about two minutes of them, before the
next list asks for the newest state instead of the version that the server itself gave."""

MOST_CUT_STREAMS: Final = 3
"""Streamed lists in a row that end before their end marker, before lists are used instead."""

S = TypeVar("S", covariant=True)


class Step(Struct, Generic[S], frozen=True):
    """The next state, and the messages to deliver before entering it."""

    next: S
    messages: Sequence[Message] = ()


class ImpossibleEventError(CopyableError):
    """An event that cannot happen in this state: a bug in the caller."""


_Transition = Callable[[Settings, Any, Any], Step[State]]
_transitions: dict[tuple[type, type], _Transition] = {}


def step(settings: Settings, state: State, event: Event) -> Step[State]:
    """Return what follows from ``event`` in ``state``. Pure; thread-safe; never blocks."""
    transition = _transitions.get((type(state), type(event)))
    if transition is None:
        raise ImpossibleEventError(f"{event!r:.200} cannot happen in {state!r:.200}")
    return transition(settings, state, event)


def begin(settings: Settings, memory: Memory) -> ListPage | OpenStream:
    """Return the state in which a cycle of list and watch begins."""
    if settings.stream_initial_list and memory.streams:
        return OpenStream(memory)
    return _first_page(settings, memory)


def transitions() -> list[tuple[str, str, str]]:
    """Return every (state, event, next state) of the machine, read from its code."""
    drawn = []
    for (state, event), transition in _transitions.items():
        (following,) = get_args(get_type_hints(transition)["return"])
        targets = get_args(following) or (following,)
        drawn += [(state.__name__, event.__name__, target.__name__) for target in targets]
    return drawn


def watch_options(state: OpenWatch | OpenStream) -> ListOptions:
    """Return the options of the watch that ``state`` waits for, without its timeout."""
    memory = state.memory
    if isinstance(state, OpenWatch):
        return ListOptions(resource_version=memory.version, allow_watch_bookmarks=True)
    return ListOptions(
        resource_version="" if memory.unavailable else memory.version,
        resource_version_match="NotOlderThan",
        allow_watch_bookmarks=True,
        send_initial_events=True,
    )


F = TypeVar("F", bound=_Transition)


def _on(state: type[State], event: type[Event]) -> Callable[[F], F]:
    def register(transition: F) -> F:
        _transitions[state, event] = transition
        return transition

    return register


# Lists


def _first_page(settings: Settings, memory: Memory, *, newest: bool = False) -> ListPage:
    version = "" if memory.unavailable else memory.version or "0"
    if settings.page_size:
        limit = settings.page_size
    elif memory.always_page or version in ("", "0"):
        limit = DEFAULT_PAGE_SIZE
    else:
        # The server answers a concrete version from its watch cache, without pages.
        limit = 0
    return ListPage(memory, ListOptions(resource_version=version, limit=limit), newest=newest)


@_on(ListPage, Page)
def _page_came(
    settings: Settings, state: ListPage, event: Page
) -> Step[ListPage | OpenWatch | Relist]:
    pages = (*state.pages, tuple(event.content.items))
    version = state.version if state.pages else event.content.metadata.resource_version
    messages = [Quarantine(obj) for obj in event.content.undecodable]
    unknown = state.unknown.union(keys_of_undecodable(event.content.undecodable))
    token = event.content.metadata.continue_
    if token in state.tokens:
        return Step(_failed_to_list(settings, state.memory, repeated_token(token)))
    if token:
        # A continue token implies the version; a server refuses both together.
        options = ListOptions(limit=state.options.limit, continue_=token)
        following = replace(
            state,
            options=options,
            pages=pages,
            unknown=unknown,
            version=version,
            tokens=state.tokens | {token},
        )
        return Step(following, messages)
    asked_cache = _asked_version(state) == "0"
    memory = replace(
        state.memory,
        version=version,
        passed="",
        unavailable=False,
        always_page=state.memory.always_page or (asked_cache and _was_paged(state)),
    )
    return Step(OpenWatch(memory), [*messages, Replace(Parts(pages), version, unknown)])


def _asked_version(state: ListPage) -> str:
    return "" if state.memory.unavailable else state.memory.version or "0"


def _is_not_a_number(version: str) -> bool:
    """Return True for a version that the server may have refused for its form."""
    return bool(version) and parse_resource_version(version) is None


def _was_paged(state: ListPage) -> bool:
    return bool(state.pages) or state.in_one_piece


@_on(ListPage, Failed)
def _list_failed(settings: Settings, state: ListPage, event: Failed) -> Step[ListPage | Relist]:
    error = event.error
    if state.pages and isinstance(error, StatusError) and error.reason == "Expired":
        options = ListOptions(resource_version=_asked_version(state))
        return Step(
            replace(
                state,
                options=options,
                pages=(),
                unknown=frozenset(),
                tokens=frozenset(),
                in_one_piece=True,
            )
        )
    refused = is_unavailable(error) or _is_not_a_number(_asked_version(state))
    if refused and not state.newest:
        memory = replace(state.memory, unavailable=True)
        return Step(_first_page(settings, memory, newest=True))
    return Step(_failed_to_list(settings, state.memory, error))


def _failed_to_list(settings: Settings, memory: Memory, error: Exception) -> Relist:
    failed = ListFailedError(f"failed to list {settings.description}: {error}")
    failed.__cause__ = error
    return Relist(memory, failed)


@_on(ListPage, Refused)
@_on(OpenWatch, Refused)
@_on(OpenStream, Refused)
def _list_refused(
    _settings: Settings, state: ListPage | OpenWatch | OpenStream, event: Refused
) -> Step[Relist]:
    return Step(Relist(state.memory, store_refused("a list", event.error)))


@_on(ListPage, NotServed)
@_on(OpenWatch, NotServed)
@_on(OpenStream, NotServed)
@_on(Watching, NotServed)
def _not_served(
    _settings: Settings, state: ListPage | OpenWatch | OpenStream | Watching, event: NotServed
) -> Step[Unserved]:
    """The kind may come back in another history, so the next list asks for the newest state.

    Before the first list nothing is told: a cache of a kind that is not there yet has not synced.
    """
    memory = replace(state.memory, unavailable=True)
    gone = event.error.objects_deleted and memory.version
    return Step(Unserved(memory, event.error), [Replace((), memory.version)] if gone else [])


# Watches


@_on(OpenWatch, Opened)
def _watch_opened(_settings: Settings, state: OpenWatch, event: Opened) -> Step[Watching]:
    memory = state.memory
    return Step(Watching(memory, event.at, initial_adds=memory.version in ("", "0")))


@_on(OpenWatch, Failed)
def _watch_refused(_settings: Settings, state: OpenWatch, event: Failed) -> Step[Backoff | Relist]:
    if is_overloaded(event.error):
        return Step(Backoff(state.memory, state, event.error))
    if isinstance(event.error, ServerWentBackError):
        return Step(_list_newest(state.memory, event.error))
    return Step(Relist(state.memory, event.error))


@_on(Watching, Received)
def _events_came(
    settings: Settings, state: Watching, event: Received
) -> Step[Watching | OpenWatch | Backoff | Relist]:
    reading = read_events(settings.expected, event.events)
    memory, messages = state.memory, reading.messages
    if went_back := _older_bookmark(messages, memory):
        return Step(_list_newest(memory, went_back))
    initial_adds = state.initial_adds and reading.only_adds
    if reading.accepted and not initial_adds:
        memory = replace(memory, expiries=0)
        if _can_resume_from(reading.version, memory.version):
            passed = memory.highest if is_older(reading.version, memory.highest) else ""
            memory = replace(memory, version=reading.version, passed=passed)
            messages.append(Reached(reading.version))
    watching = Watching(memory, state.since, state.accepted + reading.accepted, initial_adds)
    if reading.error is None:
        return Step(watching, messages)
    following = _after_failed_watch(settings, watching, reading.error, event.at)
    return Step(following, messages)


def _older_bookmark(messages: Sequence[Message], memory: Memory) -> ServerWentBackError | None:
    """Return an error if a bookmark is older than what was sent before.

    A bookmark is about all objects, unlike an event, so the server has no later changes.
    """
    bookmarks = (message.version for message in messages if isinstance(message, Bookmark))
    errors = (ServerWentBackError.shown_by(version, memory.highest) for version in bookmarks)
    return next(filter(None, errors), None)


def _list_newest(memory: Memory, error: ServerWentBackError) -> Relist:
    """A server that went back does not have the version that a list would ask for."""
    return Relist(replace(memory, unavailable=True), error)


def _can_resume_from(version: str, known: str) -> bool:
    """Return True if the next watch may start at the version of an event.

    An empty version would start it at the newest state and lose the deletions before that. A
    server that counts its versions refuses one that is not a number. After such an event the
    watch resumes from the version before it and receives a few events twice. A version that
    decreases is safe for the same reason.
    """
    if parse_resource_version(version) is not None:
        return True
    return bool(version) and parse_resource_version(known) is None


def is_very_short(state: StreamState, ended_at: float) -> bool:
    """Return True for a watch that the server has in fact refused."""
    return state.accepted == 0 and ended_at - state.since < SHORTEST_WATCH


@_on(Watching, Closed)
def _watch_closed(
    settings: Settings, state: Watching, event: Closed
) -> Step[OpenWatch | Backoff | Relist]:
    if is_very_short(state, event.at):
        error = VeryShortWatchError("the watch ended within a second without an event")
        return Step(_after_failed_watch(settings, state, error, event.at))
    if not state.memory.version:
        unknown = NoVersionError("the server sent no resource version to resume the watch from")
        return Step(Relist(state.memory, unknown, expected=True))
    return Step(OpenWatch(state.memory))


@_on(Watching, Failed)
def _watch_failed(
    settings: Settings, state: Watching, event: Failed
) -> Step[OpenWatch | Backoff | Relist]:
    if isinstance(event.error, OSError):
        return _watch_closed(settings, state, Closed(event.at))
    return Step(_after_failed_watch(settings, state, event.error, event.at))


@_on(Watching, Refused)
def _events_refused(_settings: Settings, state: Watching, event: Refused) -> Step[Relist]:
    return Step(Relist(state.memory, store_refused("an event", event.error)))


def _after_failed_watch(
    settings: Settings, state: Watching, error: Exception, at: float
) -> OpenWatch | Backoff | Relist:
    """Return where an established watch that failed leads, by its error."""
    memory = state.memory
    if is_too_many_requests(error):
        return Backoff(memory, OpenWatch(memory), error)
    if is_internal_error(error):
        errors = _one_more(memory.internal_errors, at)
        if 0 < settings.internal_error_window >= errors.last - errors.first:
            return OpenWatch(replace(memory, internal_errors=errors))
        return Relist(replace(memory, internal_errors=None), error)
    if is_expired(error):
        expiries = memory.expiries + 1
        unavailable = memory.unavailable or expiries >= MOST_EXPIRIES
        memory = replace(memory, expiries=expiries, unavailable=unavailable)
        return Relist(memory, error, expected=True)
    return Relist(memory, error)


def _one_more(errors: InternalErrors | None, at: float) -> InternalErrors:
    if errors is None or at - errors.last >= INTERNAL_ERRORS_FORGOTTEN_AFTER:
        return InternalErrors(at, at)
    return InternalErrors(errors.first, at)


# Streamed lists


@_on(OpenStream, Opened)
def _stream_opened(_settings: Settings, state: OpenStream, event: Opened) -> Step[StreamingList]:
    return Step(StreamingList(state.memory, event.at))


@_on(OpenStream, Failed)
def _stream_refused(
    settings: Settings, state: OpenStream, event: Failed
) -> Step[Backoff | OpenStream | ListPage]:
    return Step(_after_failed_stream(settings, state.memory, event.error))


@_on(StreamingList, Received)
def _initial_events_came(
    settings: Settings, state: StreamingList, event: Received
) -> Step[StreamingList | Watching | OpenWatch | OpenStream | Backoff | ListPage | Relist]:
    end = end_of_initial_events(event.events)
    reading = read_events(settings.expected, event.events if end is None else event.events[:end])
    reports = [m for m in reading.messages if isinstance(m, Skip | Quarantine)]
    batches = [_changes_of(m) for m in reading.messages if isinstance(m, Apply | Quarantine)]
    if reading.only_adds and not reports and not state.changes:
        added = with_part(
            state.added, tuple(change.object for batch in batches for change in batch)
        )
        state = replace(state, added=added)
    else:
        state = replace(state, changes=(*state.changes, *batches))
    if reading.error is not None:
        return Step(_after_failed_stream(settings, state.memory, reading.error), reports)
    if end is None:
        return Step(replace(state, accepted=state.accepted + reading.accepted), reports)
    version = metadata_of(event.events[end].object).resource_version
    memory = replace(state.memory, version=version, passed="", unavailable=False, cut_streams=0)
    watching = Watching(memory, event.at)
    rest = event.events[end + 1 :]
    then = _events_came(settings, watching, Received(rest, event.at))
    objects, unknown = final_objects(state.added, state.changes)
    return Step(then.next, [*reports, Replace(objects, version, unknown), *then.messages])


def _changes_of(message: Apply | Quarantine) -> Sequence[Delta]:
    """Return changes to remember until the list has ended, what did not decode included."""
    if isinstance(message, Quarantine):
        return (Delta(DeltaType.UPDATED, message.obj),)
    return message.changes


@_on(StreamingList, Closed)
def _stream_closed(
    settings: Settings, state: StreamingList, event: Closed
) -> Step[OpenStream | ListPage]:
    if is_very_short(state, event.at):
        return Step(_first_page(settings, state.memory))
    memory = replace(state.memory, cut_streams=state.memory.cut_streams + 1)
    if memory.cut_streams >= MOST_CUT_STREAMS:
        return Step(_first_page(settings, replace(memory, streams=False)))
    return Step(OpenStream(memory))


@_on(StreamingList, Failed)
def _stream_failed(
    settings: Settings, state: StreamingList, event: Failed
) -> Step[Backoff | OpenStream | ListPage]:
    if isinstance(event.error, StreamedListOverdueError):
        return Step(_first_page(settings, replace(state.memory, streams=False)))
    if isinstance(event.error, OSError):
        return _stream_closed(settings, state, Closed(event.at))
    return Step(_after_failed_stream(settings, state.memory, event.error))


@_on(StreamingList, Refused)
def _streamed_list_refused(
    settings: Settings, state: StreamingList, _event: Refused
) -> Step[ListPage]:
    return Step(_first_page(settings, state.memory))


def _after_failed_stream(
    settings: Settings, memory: Memory, error: Exception
) -> Backoff | OpenStream | ListPage:
    """Return where a streamed list that failed, or did not open, leads, by its error."""
    if is_overloaded(error):
        return Backoff(memory, OpenStream(memory), error)
    if is_unavailable(error) and memory.unavailable:
        # The newest state was asked for already. Asking again without a pause would spin.
        return Backoff(memory, OpenStream(memory), error)
    if is_unavailable(error):
        return OpenStream(replace(memory, unavailable=True))
    return _first_page(settings, memory)


# Pauses


@_on(Backoff, Waited)
def _ask_again(_settings: Settings, state: Backoff, _event: Waited) -> Step[OpenWatch | OpenStream]:
    return Step(state.then)


@_on(Relist, Waited)
@_on(Unserved, Waited)
def _begin_again(settings: Settings, state: Relist, _event: Waited) -> Step[ListPage | OpenStream]:
    return Step(begin(settings, state.memory))
