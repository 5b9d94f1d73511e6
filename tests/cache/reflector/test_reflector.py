"""What a reflector does: requests, streams, pauses, reports."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from clientgo.cache import ListWatch, Reflector, new_namespace_keyed_reflector
from clientgo.cache.reflector.reflector import LONGEST_SILENCE, QUICK_RESTART
from clientgo.cache.reflector.timers import DEADLINE
from clientgo.meta import (
    ForbiddenError,
    ListMeta,
    ListOptions,
    ObjectList,
    ObjectMeta,
    Status,
    Undecodable,
    Unstructured,
    WatchEvent,
)
from clientgo.observe.metrics.names import (
    REFLECTOR_ITEMS_PER_LIST,
    REFLECTOR_LAST_RESOURCE_VERSION,
    REFLECTOR_LISTS,
)
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource, FakeStream
from clientgo.util.wait import Backoff, BackoffManager
from tests.cache.builders import Foo, foo
from tests.cache.metrics import RecordingProvider
from tests.cache.running import Notes, RecordingStore, no_delays, running

EXPIRED = WatchEvent("ERROR", Status(code=410, reason="Expired"))
FORBIDDEN = ForbiddenError.of("no")


@pytest.fixture
def source() -> FakeSource:
    return FakeSource([foo("a")], supports_watch_list=False)


@pytest.fixture
def store() -> RecordingStore:
    return RecordingStore()


def reflector(source: Any, store: Any, **options: Any) -> Reflector:
    defaults = {"description": "foos", "expected": Foo, "delays": no_delays()}
    return Reflector(source, store, **(defaults | options))


def test_it_lists_and_then_watches(source: FakeSource, store: RecordingStore) -> None:
    """RFL-04, RFL-15, RFL-16."""
    with running(reflector(source, store)):
        source.wait_for_watch()
        source.add(foo("b"))
        store.calls.wait_for_count(2)
    assert store.calls.notes == ["replace a@1 at 1", "add b@2"]


def test_a_streamed_list_needs_no_list_request(store: RecordingStore) -> None:
    """WLS-01, WLS-05: it counts as a list all the same."""
    source, provider = FakeSource([foo("a")]), RecordingProvider()
    subject = reflector(source, store, metrics=provider)
    with running(subject):
        source.wait_for_watch()
        source.add(foo("b"))
        store.calls.wait_for_count(2)
        statistics = subject.statistics()
    assert store.calls.notes == ["replace a@1 at 1", "add b@2"]
    assert [verb for verb, _ in source.requests] == ["watch"]
    assert statistics.lists == 1
    assert provider.values[REFLECTOR_LISTS.name, "foos"] == [1.0]
    assert provider.values[REFLECTOR_ITEMS_PER_LIST.name, "foos"] == [1.0]


def test_a_source_that_cannot_stream_is_not_asked_to(store: RecordingStore) -> None:
    """LWT-05, WLS-01."""
    source = FakeSource(supports_watch_list=False)
    with running(reflector(source, store)):
        source.wait_for_requests(1)
    assert source.requests[0][0] == "list"


@pytest.mark.parametrize(("asked", "least"), [(0.0, 300), (100.0, 300), (900.0, 900)])
def test_the_server_is_asked_to_end_watches_at_random_times(
    source: FakeSource, store: RecordingStore, asked: float, least: int
) -> None:
    """RFL-16, RFL-17."""
    with running(reflector(source, store, min_watch_timeout=asked)):
        source.wait_for_watch()
    timeout = source.requests[-1][1].timeout_seconds
    assert timeout is not None
    assert least <= timeout <= 2 * least


class TestStopping:
    def test_while_listing(self, store: RecordingStore) -> None:
        """RFL-08: no request is made after it, and no error is reported."""
        listing, errors, requests = Notes(), Notes(), Notes()

        def list_(options: Any, stop: threading.Event) -> ObjectList[Any]:
            listing("began")
            stop.wait()
            raise ConnectionAbortedError

        source = ListWatch(
            list_, lambda options, stop: requests(options), supports_watch_list=False
        )
        with running(reflector(source, store, on_error=errors)) as stop:
            listing.wait_for_count(1)
            stop.set()
        assert (errors.notes, requests.notes, store.calls.notes) == ([], [], [])

    def test_while_watching_ends_the_stream(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-08, RFL-29."""
        errors = Notes()
        with running(reflector(source, store, on_error=errors)):
            source.wait_for_watch()
        assert errors.notes == []
        with pytest.raises(TimeoutError):
            source.wait_for_watch(timeout=0.0)

    def test_while_pausing(self, source: FakeSource, store: RecordingStore) -> None:
        """RFL-08, WLS-11."""
        source.fail("list", FORBIDDEN)
        errors = Notes()
        for_ever = BackoffManager(Backoff(duration=3600.0))
        with running(reflector(source, store, on_error=errors, delays=for_ever)):
            errors.wait_for_count(1)

    def test_before_the_start_makes_no_request(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-08."""
        stop = threading.Event()
        stop.set()
        reflector(source, store).run(stop)
        assert source.requests == []

    def test_a_stream_that_opens_too_late_is_ended_too(self, store: RecordingStore) -> None:
        """FIELD-05: the stop is seen although the stream opened after it."""
        stop, stream = threading.Event(), FakeStream()

        def watch(options: Any, _: threading.Event) -> FakeStream:
            stop.set()
            return stream

        empty: ObjectList[Any] = ObjectList(metadata=ListMeta(resource_version="1"), items=[])
        source = ListWatch(lambda *_: empty, watch, supports_watch_list=False)
        reflector(source, store).run(stop)
        assert stream.is_stopped


class TestAStoreThatTakesNoBatches:
    """Every event of one read is delivered by itself."""

    @staticmethod
    def _watched_by(
        store: RecordingStore, events: list[WatchEvent[Any]], errors: Notes | None = None
    ) -> list[Any]:
        """Read ``events`` in one go; return the versions of the watches that were opened."""
        streams = iter([FakeStream(), FakeStream(), FakeStream()])
        versions: list[Any] = []
        listed: ObjectList[Any] = ObjectList(
            metadata=ListMeta(resource_version="10"), items=[foo("a")]
        )

        def watch(options: Any, _: threading.Event) -> FakeStream:
            stream = next(streams)
            if not versions:
                stream.put(events)
            versions.append(options.resource_version)
            return stream

        source = ListWatch(lambda *_: listed, watch, supports_watch_list=False)
        subject = reflector(source, store, on_error=errors or Notes())
        with running(subject) as stop:
            store.calls.wait_for(lambda notes: notes.count("replace a@1 at 10") == 2)
            assert not stop.is_set()
        return versions

    def test_gets_no_event_after_one_that_it_refused_but_a_list(
        self, store: RecordingStore
    ) -> None:
        """RFL-25: the reflector continues, and the rest of the batch comes with the list."""
        store.fails_on["update"] = ValueError("once")
        errors = Notes()
        events = [
            WatchEvent("ADDED", foo("b", rv=11)),
            WatchEvent("MODIFIED", foo("b", rv=12)),
            WatchEvent("ADDED", foo("c", rv=13)),
        ]
        self._watched_by(store, events, errors)
        assert store.calls.notes[1:4] == ["add b@11", "update b@12", "replace a@1 at 10"]
        assert [str(error) for error in errors.notes] == ["the store refused an event: once"]

    def test_gets_no_event_after_an_error_of_the_server(self, store: RecordingStore) -> None:
        """RFL-22."""
        events = [
            WatchEvent("ADDED", foo("b", rv=11)),
            EXPIRED,
            WatchEvent("ADDED", foo("c", rv=12)),
        ]
        self._watched_by(store, events)
        assert store.calls.notes[1:3] == ["add b@11", "replace a@1 at 10"]


class TestErrors:
    def test_are_reported_before_the_pause_and_the_list_is_tried_again(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-04, RFL-32."""
        source.fail("list", FORBIDDEN)
        errors = Notes()
        with running(reflector(source, store, on_error=errors)):
            store.calls.wait_for_count(1)
        assert [str(error) for error in errors.notes] == ["failed to list foos: no"]

    def test_a_failing_error_handler_disturbs_nothing(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-32."""
        source.fail("list", FORBIDDEN)

        def fail(error: Exception) -> None:
            raise ValueError("in the handler")

        with running(reflector(source, store, on_error=fail)):
            store.calls.wait_for_count(1)

    def test_are_logged_once_each_time_the_situation_changes(
        self, source: FakeSource, store: RecordingStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        """RFL-32."""
        caplog.set_level(logging.INFO)
        source.fail("list", FORBIDDEN, FORBIDDEN, FORBIDDEN, ConnectionRefusedError("refused"))
        with running(reflector(source, store, name="foos")):
            source.wait_for_watch()
        assert [record.getMessage() for record in caplog.records] == [
            "foos: failed to list foos: no; trying again until it works",
            "foos: failed to list foos: refused; trying again until it works",
            "foos: it works again",
        ]

    def test_an_expired_watch_is_not_reported(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-22."""
        errors = Notes()
        with running(reflector(source, store, on_error=errors)):
            source.wait_for_watch()
            source.send(EXPIRED)
            store.calls.wait_for_count(2)
        assert errors.notes == []

    def test_a_refused_event_is_reported_and_comes_with_the_next_list(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-25, FIELD-12."""
        errors = Notes()
        store.fails_on["add"] = ValueError("once")
        with running(reflector(source, store, on_error=errors)):
            source.wait_for_watch()
            source.add(foo("b"))
            store.calls.wait_for_count(3)
        assert store.calls.notes[1:] == ["add b@2", "replace a@1 b@2 at 2"]
        assert str(errors.notes[0]) == "the store refused an event: once"

    def test_the_server_says_how_long_to_leave_it_alone(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """FIELD-02."""
        busy = ForbiddenError.of("busy")
        busy.status.details.retry_after_seconds = 7
        source.fail("list", busy)
        clock = FakeClock()
        with running(reflector(source, store, clock=clock)):
            clock.wait_for_waiters(1)
            clock.step(6.9)
            assert len(source.requests) == 1
            clock.step(0.1)
            store.calls.wait_for_count(1)


def test_a_slow_list_is_worth_a_line(
    store: RecordingStore, caplog: pytest.LogCaptureFixture
) -> None:
    """RFL-34."""
    clock = FakeClock()

    def list_slowly(*_: Any) -> ObjectList[Any]:
        clock.step(11.0)
        return ObjectList(metadata=ListMeta(resource_version="1"), items=[foo("a")])

    source = ListWatch(list_slowly, lambda *_: FakeStream(), supports_watch_list=False)
    with running(reflector(source, store, name="foos", clock=clock)):
        store.calls.wait_for_count(1)
    assert "foos: a list of 1 items took 11 s" in caplog.text


def test_what_does_not_decode_is_left_out_and_logged_once(
    source: FakeSource, store: RecordingStore, caplog: pytest.LogCaptureFixture
) -> None:
    """FIELD-13."""
    broken = Undecodable("spec: not a number", b"{}", ObjectMeta(name="x", namespace="ns"))
    subject = reflector(source, store)
    with running(subject):
        source.wait_for_watch()
        source.send(WatchEvent("ADDED", broken))
        source.send(WatchEvent("MODIFIED", broken))
        source.add(foo("b"))
        store.calls.wait_for_count(2)
    assert subject.statistics().quarantined == 2
    assert len(caplog.records) == 1
    assert "ns/x" in caplog.records[0].getMessage()
    assert "spec: not a number" in caplog.records[0].getMessage()


def test_one_call_lists_once_and_raises_what_went_wrong(
    source: FakeSource, store: RecordingStore
) -> None:
    """RFL-04."""
    source.fail("list", FORBIDDEN)
    with pytest.raises(Exception, match="failed to list foos: no"):
        reflector(source, store).list_and_watch(threading.Event())
    assert len(source.requests) == 1


class TestResync:
    def test_it_comes_every_period_if_it_is_wanted(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-30."""
        clock, wanted = FakeClock(), iter([True, False, True])
        subject = reflector(
            source, store, clock=clock, resync_period=10.0, should_resync=lambda: next(wanted)
        )
        with running(subject):
            for _ in range(3):
                clock.wait_for_waiters(1)
                clock.step(10.0)
            store.calls.wait_for_count(3)
        assert store.calls.notes == ["replace a@1 at 1", "resync", "resync"]

    def test_it_keeps_its_beat_over_lists(self, source: FakeSource, store: RecordingStore) -> None:
        """FIELD-10."""
        clock = FakeClock()
        pauses = BackoffManager(Backoff(duration=1.0), clock=clock)
        with running(reflector(source, store, clock=clock, resync_period=10.0, delays=pauses)):
            source.wait_for_watch()
            clock.wait_for_waiters(1)
            clock.step(9.0)
            source.send(EXPIRED)
            clock.wait_for_waiters(2)
            clock.step(1.0)
            store.calls.wait_for(lambda notes: "resync" in notes)

    def test_a_store_that_refuses_it_is_listed_again(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-30."""
        clock, errors = FakeClock(), Notes()
        store.fails_on["resync"] = ValueError("no")
        pauses = BackoffManager(Backoff(duration=1.0), clock=clock)
        subject = reflector(
            source, store, clock=clock, resync_period=10.0, delays=pauses, on_error=errors
        )
        with running(subject):
            source.wait_for_watch()
            clock.wait_for_waiters(1)
            clock.step(10.0)
            clock.wait_for_waiters(2)
            clock.step(1.0)
            store.calls.wait_for_count(3)
        assert store.calls.notes == ["replace a@1 at 1", "resync", "replace a@1 at 1"]
        assert str(errors.notes[0]) == "the store refused to resync: no"


def test_a_streamed_list_that_never_ends_is_given_up(
    store: RecordingStore, caplog: pytest.LogCaptureFixture
) -> None:
    """WLS-09, FIELD-33."""
    clock = FakeClock()
    stream = FakeStream()
    listed: ObjectList[Any] = ObjectList(metadata=ListMeta(resource_version="5"), items=[foo("a")])
    source = ListWatch(lambda *_: listed, lambda *_: stream)
    with running(reflector(source, store, clock=clock)):
        for _ in range(int(DEADLINE / 10)):
            clock.wait_for_waiters(1)
            clock.step(10.0)
        store.calls.wait_for_count(1)
    assert store.calls.notes == ["replace a@1 at 5"]
    assert "has not ended after 10 s" in caplog.records[0].getMessage()


class _Replaceable:
    """A server that can be replaced by one with another state, as by one from a backup.

    A real server accepts a watch from a version that it does not have yet, and is silent.
    """

    supports_watch_list = False

    def __init__(self, server: FakeSource) -> None:
        self.server = server
        self.opened = Notes()
        self.refusals = 0

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        return self.server.list(options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> FakeStream:
        if self.refusals:
            self.refusals -= 1
            raise ConnectionRefusedError
        is_ahead = int(options.resource_version) > int(self.server.resource_version)
        stream = FakeStream() if is_ahead else self.server.watch(options, stop)
        self._stream = stream
        self.opened(options.resource_version)
        return stream

    def close_watch_after(self, seconds: float, clock: FakeClock) -> None:
        clock.step(seconds)
        self._stream.stop()


class TestAServerThatWentBack:
    """A server whose versions have gone back is silent on the watches that are resumed."""

    def test_is_listed_again_when_the_next_watch_is_opened(
        self, store: RecordingStore, caplog: pytest.LogCaptureFixture
    ) -> None:
        """kubernetes/kubernetes#107457."""
        source = _Replaceable(FakeSource([foo("a"), foo("b"), foo("c")]))
        clock = FakeClock()
        with running(reflector(source, store, clock=clock, name="foos")):
            source.opened.wait_for_count(1)
            source.server = FakeSource([foo("a")])
            source.close_watch_after(1.0, clock)
            source.opened.wait_for_count(2)
            source.server.add(foo("new"))
            source.close_watch_after(LONGEST_SILENCE, clock)
            clock.wait_for_waiters(1)
            clock.step(0.001)
            store.calls.wait_for_count(2)
            source.opened.wait_for_count(3)
        assert store.calls.notes == ["replace a@1 b@2 c@3 at 3", "replace a@1 new@2 at 2"]
        assert source.opened.notes == ["3", "3", "2"]
        asked = [options for verb, options in source.server.requests if verb == "list"]
        assert [options.resource_version for options in asked] == ["", ""]
        assert "foos: the server is at version 2 and has sent version 3 before" in caplog.text

    def test_is_listed_again_after_it_was_down(self, store: RecordingStore) -> None:
        """No five minutes of silence on the watch that is resumed."""
        source = _Replaceable(FakeSource([foo("a"), foo("b"), foo("c")]))
        clock = FakeClock()
        with running(reflector(source, store, clock=clock, name="foos")):
            source.opened.wait_for_count(1)
            source.server, source.refusals = FakeSource([foo("a")]), 1
            source.close_watch_after(1.0, clock)
            for seconds in (QUICK_RESTART, 0.001):  # after the refusal; the version went back
                clock.wait_for_waiters(1)
                clock.step(seconds)
            store.calls.wait_for_count(2)
            source.opened.wait_for_count(2)
        assert store.calls.notes == ["replace a@1 b@2 c@3 at 3", "replace a@1 at 1"]
        assert source.opened.notes == ["3", "1"]

    def test_is_looked_for_only_after_a_long_silence(self, store: RecordingStore) -> None:
        source = _Replaceable(FakeSource([foo("a")]))
        clock = FakeClock()
        with running(reflector(source, store, clock=clock)):
            source.opened.wait_for_count(1)
            source.close_watch_after(LONGEST_SILENCE - 1.0, clock)
            source.opened.wait_for_count(2)
            source.close_watch_after(1.0, clock)
            source.opened.wait_for_count(3)
            source.close_watch_after(1.0, clock)
            source.opened.wait_for_count(4)
        verbs = [verb for verb, _ in source.server.requests]
        assert verbs == ["list", "watch", "watch", "list", "watch", "watch"]
        assert source.server.requests[3][1] == ListOptions(limit=1)


class TestHealth:
    def test_a_refused_reflector_says_why(self, source: FakeSource, store: RecordingStore) -> None:
        """FIELD-32."""
        source.fail("list", *[FORBIDDEN] * 3)
        errors = Notes()
        for_ever = BackoffManager(Backoff(duration=3600.0))
        subject = reflector(source, store, on_error=errors, delays=for_ever)
        with running(subject):
            errors.wait_for_count(1)
            statistics = subject.statistics()
        assert not statistics.is_watching
        assert str(statistics.last_error) == "failed to list foos: no"
        assert statistics.seconds_since_heard is None

    def test_while_watching_they_show_the_version_and_the_age_of_the_last_event(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """FIELD-32."""
        clock = FakeClock()
        subject = reflector(source, store, clock=clock)
        with running(subject):
            source.wait_for_watch()
            source.add(foo("b"))
            source.send(WatchEvent("ADDED", Unstructured(metadata=ObjectMeta(name="x"))))
            source.add(foo("c"))
            store.calls.wait_for_count(3)
            clock.step(30.0)
            statistics = subject.statistics()
        assert (statistics.state, statistics.is_watching) == ("Watching", True)
        assert (statistics.lists, statistics.events, statistics.skipped) == (1, 3, 1)
        assert statistics.seconds_since_heard == 30.0
        assert statistics.last_error is None

    def test_a_version_that_the_server_lost_is_known_as_unavailable(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """RFL-31."""
        source.fail("list", *[ForbiddenError(Status(code=410, reason="Expired"))] * 2)
        errors = Notes()
        for_ever = BackoffManager(Backoff(duration=3600.0))
        subject = reflector(source, store, on_error=errors, delays=for_ever)
        with running(subject):
            errors.wait_for_count(1)
            assert subject.is_last_sync_resource_version_unavailable()
        assert subject.last_sync_resource_version() == ""

    def test_metrics_are_reported_by_resource_and_end_with_it(
        self, source: FakeSource, store: RecordingStore
    ) -> None:
        """CMT-04."""
        provider = RecordingProvider()
        with running(reflector(source, store, metrics=provider)):
            source.wait_for_watch()
            assert provider.in_use > 0
        assert provider.values[REFLECTOR_LISTS.name, "foos"] == [1.0]
        assert provider.values[REFLECTOR_LAST_RESOURCE_VERSION.name, "foos"] == [1.0]
        assert provider.in_use == 0


def test_a_store_of_its_own_can_be_made_with_it(source: FakeSource) -> None:
    """RFL-35."""
    store, subject = new_namespace_keyed_reflector(source, Foo, delays=no_delays())
    with running(subject):
        source.wait_for_watch()
        source.add(foo("b", namespace="other"))
        source.add(foo("c"))
        source.close_watches()
        source.wait_for_requests(3)
    assert store.index_keys("namespace", "other") == ["other/b"]
    assert sorted(store.list_keys()) == ["ns/a", "ns/c", "other/b"]
