"""Settings, states and events for the tests of the reflector's transitions."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from clientgo.cache.reflector.state import (
    Expected,
    Memory,
    Page,
    Received,
    Settings,
    State,
    Watching,
)
from clientgo.cache.reflector.step import step
from clientgo.meta import (
    ExpiredError,
    InternalServerError,
    ListMeta,
    ObjectList,
    Status,
    TooManyRequestsError,
    Undecodable,
    WatchEvent,
)
from clientgo.testing.fake_source import bookmark_event
from tests.cache.builders import Foo, foo

LISTS = Settings(description="foos", expected=Expected.of(Foo), stream_initial_list=False)
STREAMS = replace(LISTS, stream_initial_list=True)
SYNCED = Memory(version="10")
WATCHING = Watching(SYNCED, since=0.0)

EXPIRED = ExpiredError.of("too old")
THROTTLED = TooManyRequestsError.of("slow down")
INTERNAL = InternalServerError.of("oops")


def page(
    *objs: Any, version: str = "10", more: str = "", bad: tuple[Undecodable, ...] = ()
) -> Page:
    metadata = ListMeta(resource_version=version, continue_=more)
    return Page(ObjectList(metadata=metadata, items=list(objs), undecodable=list(bad)))


def event(kind: str, name: str = "a", rv: int = 11) -> WatchEvent[Any]:
    return WatchEvent(kind, foo(name, rv=rv))


def received(*events: WatchEvent[Any], at: float = 5.0) -> Received:
    return Received(events, at)


def bookmark(version: int, *, end: bool = False) -> WatchEvent[Any]:
    return bookmark_event(version, foo("a"), ends_initial_events=end)


def error(status: Status) -> WatchEvent[Any]:
    return WatchEvent("ERROR", status)


def after(state: State, event: Any, settings: Settings = LISTS) -> State:
    return step(settings, state, event).next
