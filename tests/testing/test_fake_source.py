"""The server of one kind of object, in memory."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import ListerWatcher
from clientgo.meta import (
    INITIAL_EVENTS_END,
    ExpiredError,
    ForbiddenError,
    ListOptions,
    WatchEvent,
    is_too_large_resource_version,
)
from clientgo.testing.fake_source import FakeSource, FakeStream
from tests.background import Background
from tests.cache.builders import foo, ref, refs

STOP = threading.Event()


def watch(source: FakeSource, version: str = "", **options: Any) -> FakeStream:
    return source.watch(ListOptions(resource_version=version, **options), STOP)


def events(stream: FakeStream) -> list[str]:
    return [f"{event.type} {ref(event.object)}" for event in stream.read()]


def test_every_change_gets_the_next_version() -> None:
    """UTL-03."""
    source: ListerWatcher[Any] = FakeSource([foo("a", 77)])
    assert isinstance(source, FakeSource)
    assert ref(source.add(foo("b"))) == "b@2"
    assert ref(source.update(foo("a"))) == "a@3"
    assert ref(source.delete(foo("b"))) == "b@4"
    listed = source.list(ListOptions(), STOP)
    assert (refs(listed.items), listed.metadata.resource_version) == (["a@3"], "4")
    assert (list(source.objects()), source.resource_version) == (["ns/a"], "4")


def test_the_objects_that_it_is_given_stay_untouched() -> None:
    mine = foo("a", 77)
    FakeSource([mine])
    assert ref(mine) == "a@77"


def test_a_list_comes_in_pages() -> None:
    """UTL-03."""
    source = FakeSource(foo(name) for name in "abc")
    first = source.list(ListOptions(limit=2), STOP)
    second = source.list(ListOptions(limit=2, continue_=first.metadata.continue_), STOP)
    assert (refs(first.items), refs(second.items)) == (["a@1", "b@2"], ["c@3"])
    assert second.metadata.continue_ == ""


def test_a_watch_goes_on_from_a_version() -> None:
    """UTL-03."""
    source = FakeSource([foo("a"), foo("b")])
    stream = watch(source, "1")
    source.delete(foo("a"))
    assert events(stream) == ["ADDED b@2", "DELETED a@3"]


def test_a_watch_can_begin_with_what_is_there() -> None:
    """UTL-03."""
    source = FakeSource([foo("a")])
    assert events(watch(source)) == ["ADDED a@1"]
    added, end = watch(source, send_initial_events=True).read()
    assert ref(added.object) == "a@1"
    assert end.object.metadata.annotations == {INITIAL_EVENTS_END: "true"}
    assert type(end.object) is type(added.object)


class TestMisbehaviour:
    def test_watches_miss_a_change(self) -> None:
        """UTL-03."""
        source = FakeSource([foo("a")])
        stream = watch(source, "1")
        source.update(foo("a"), unseen=True)
        source.add(foo("b"))
        assert events(stream) == ["ADDED b@3"]

    def test_history_is_gone(self) -> None:
        """UTL-03."""
        source = FakeSource([foo("a"), foo("b")])
        source.expire_history()
        with pytest.raises(ExpiredError):
            watch(source, "1")
        watch(source, "2")

    def test_a_version_is_ahead(self) -> None:
        """RFL-14."""
        with pytest.raises(Exception, match="Too large") as raised:
            watch(FakeSource(), "7")
        assert is_too_large_resource_version(raised.value)

    def test_requests_fail(self) -> None:
        """UTL-03."""
        source = FakeSource()
        source.fail("list", ForbiddenError.of("no"))
        with pytest.raises(ForbiddenError):
            source.list(ListOptions(), STOP)
        source.list(ListOptions(), STOP)
        assert [verb for verb, _ in source.requests] == ["list", "list"]

    def test_watches_end(self) -> None:
        """UTL-03: what was sent before is still read."""
        source = FakeSource()
        stream = watch(source, "0")
        source.add(foo("a"))
        source.close_watches()
        assert events(stream) == ["ADDED a@1"]
        assert events(stream) == []

    def test_watches_break(self) -> None:
        source = FakeSource([foo("a")])
        stream = watch(source)
        source.break_watches(ConnectionResetError())
        assert events(stream) == ["ADDED a@1"]
        with pytest.raises(ConnectionResetError):
            stream.read()

    def test_watches_bring_anything(self) -> None:
        source = FakeSource([foo("a")])
        stream = watch(source, "1")
        source.send(WatchEvent("ODD", foo("x")))
        source.send_bookmark()
        assert [event.type for event in stream.read()] == ["ODD", "BOOKMARK"]


def test_stopping_a_stream_ends_a_blocked_read() -> None:
    """LWT-02."""
    stream = FakeStream()
    reading = Background(stream.read)
    stream.stop()
    stream.stop()
    assert reading.result() == []


def test_waiting_for_what_does_not_happen_fails() -> None:
    source = FakeSource()
    with pytest.raises(TimeoutError, match="expected 1 requests"):
        source.wait_for_requests(1, timeout=0.0)
    with pytest.raises(TimeoutError, match="no watch"):
        source.wait_for_watch(timeout=0.0)
