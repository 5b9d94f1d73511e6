"""Informers against random histories and a server that fails in every way it can.

Whatever happened, in the end the cache holds what the server holds, each handler has been told a
history that makes sense object by object and that ends there, and nothing is left running.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    DeletedFinalStateUnknown,
    QueueChoice,
    ResourceEventHandler,
    SharedIndexInformer,
)
from clientgo.meta import (
    DecodeError,
    ExpiredError,
    ForbiddenError,
    InternalServerError,
    ObjectMeta,
    Status,
    TooManyRequestsError,
    Undecodable,
    WatchEvent,
    object_key,
)
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import Foo, foo, ref
from tests.cache.running import Notes, no_delays, running

NAMES = st.sampled_from("abcd")
QUEUES = st.sampled_from([DELTA_FIFO, REAL_FIFO])

Action = Callable[[FakeSource], Any]


def write(name: str, deletes: bool, unseen: bool) -> Action:
    """Create, change or delete an object; watches may miss it."""

    def act(source: FakeSource) -> None:
        exists = f"ns/{name}" in source.objects()
        if deletes and exists:
            source.delete(foo(name), unseen=unseen)
        elif exists:
            source.update(foo(name), unseen=unseen)
        elif not deletes:
            source.add(foo(name), unseen=unseen)

    return act


def repeat(name: str) -> Action:
    """The newest event of all comes once more, if it is about the object.

    An older one cannot: a server sends events in the order of their versions, and the reflector
    would resume at the older version, as client-go's does.
    """

    def act(source: FakeSource) -> None:
        objects = source.objects()
        obj = objects.get(f"ns/{name}")
        if obj is not None and version(obj) == max(map(version, objects.values())):
            source.send(WatchEvent("MODIFIED", obj))

    return act


def fail_requests(verb: str, error: Exception) -> Action:
    return lambda source: source.fail(verb, error)


def break_watches(error: Exception) -> Action:
    return lambda source: source.break_watches(error)


def send_error(code: int, reason: str) -> Action:
    return lambda source: source.send(WatchEvent("ERROR", Status(code=code, reason=reason)))


BROKEN = Undecodable("garbled", b"{", ObjectMeta(name="broken", namespace="ns"))

WRITES = st.builds(write, NAMES, st.booleans(), st.just(False)) | st.builds(
    write, NAMES, st.booleans(), st.just(True)
)
FAULTS = st.one_of(
    st.builds(repeat, NAMES),
    st.builds(
        fail_requests,
        st.sampled_from(["list", "watch"]),
        st.sampled_from(
            [
                ConnectionRefusedError(),
                ExpiredError.of("too old"),
                ForbiddenError.of("no"),
                InternalServerError.of("oops"),
                TooManyRequestsError.of("slow down"),
                DecodeError("half an answer"),
            ]
        ),
    ),
    st.builds(break_watches, st.sampled_from([ConnectionResetError(), DecodeError("half a line")])),
    st.builds(
        send_error,
        st.sampled_from([410, 429, 500, 403]),
        st.just(""),
    ),
    st.just(FakeSource.close_watches),
    st.just(FakeSource.expire_history),
    st.just(FakeSource.send_bookmark),
    st.just(lambda source: source.send(WatchEvent("MODIFIED", BROKEN))),
)


class HistoryChecker(ResourceEventHandler[Any]):
    """Follows what it is told and complains about what cannot be."""

    def __init__(self) -> None:
        self.calls = Notes()
        self.state: dict[str, Any] = {}
        self.complaints: list[str] = []

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        self._expect(object_key(obj) not in self.state, "added twice", obj)
        self._now(obj)

    def on_update(self, old: Any, new: Any) -> None:
        known = self.state.get(object_key(new))
        self._expect(known is old, f"updated from {ref(old)}, not from {known}", new)
        self._expect(version(old) <= version(new), f"went back from {ref(old)}", new)
        self._now(new)

    def on_delete(self, obj: Any) -> None:
        tombstone = isinstance(obj, DeletedFinalStateUnknown)
        key = obj.key if tombstone else object_key(obj)
        self.state.pop(key, None)
        self.calls(obj)

    def _now(self, obj: Any) -> None:
        self.state[object_key(obj)] = obj
        self.calls(obj)

    def _expect(self, holds: bool, complaint: str, obj: Any) -> None:
        if not holds:
            self.complaints.append(f"{ref(obj)} {complaint}")


def version(obj: Any) -> int:
    return int(obj.metadata.resource_version)


def named(objs: Any) -> set[str]:
    return {ref(obj) for obj in objs}


@settings(max_examples=200)
@given(
    actions=st.lists(st.one_of(WRITES, WRITES, FAULTS), max_size=25),
    late=st.integers(min_value=0, max_value=25),
    queue=QUEUES,
    streams=st.booleans(),
)
def test_the_cache_and_all_handlers_come_to_agree_with_the_server(
    actions: list[Action], late: int, queue: QueueChoice, streams: bool
) -> None:
    """INF-15, INF-16, FIELD-01 to FIELD-37."""
    source = FakeSource([foo("a")], sample=foo("sample"), supports_watch_list=streams)
    informer = SharedIndexInformer(
        source, Foo, queue=queue, delays=no_delays(), on_error=lambda error: None
    )
    checkers = [HistoryChecker(), HistoryChecker()]
    informer.add_event_handler(checkers[0])
    informer.add_event_handler(checkers[1], coalesce=True)
    with running(informer):
        for number, action in enumerate(actions):
            if number == late:
                checkers.append(HistoryChecker())
                informer.add_event_handler(checkers[-1])
            source.wait_for_watch()
            action(source)
        # What watches missed shows in the next list. No watch can go on without it.
        source.add(foo("missed"), unseen=True)
        source.expire_history()
        source.close_watches()
        source.add(foo("last"))
        expected = named(source.objects().values())
        for checker in checkers:
            checker.calls.wait_for(
                lambda _, c=checker: named(list(c.state.values())) == expected  # type: ignore[misc]
            )
        assert named(informer.indexer.list()) == expected
    assert [checker.complaints for checker in checkers] == [[]] * len(checkers)
