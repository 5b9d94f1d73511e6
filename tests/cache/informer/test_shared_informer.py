"""How a shared informer is made, set up and run."""

from __future__ import annotations

import math
import threading

import pytest

from clientgo.cache import (
    IndexConflictError,
    InformerStateError,
    SharedIndexInformer,
    meta_namespace_index,
)
from clientgo.meta import ExpiredError, ForbiddenError
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.informer.making import informer_of, synced
from tests.cache.running import TIMEOUT, Notes, RecordingHandler, running


class TestMaking:
    def test_starts_nothing_and_asks_for_nothing(self, source: FakeSource) -> None:
        """INF-01, INF-07, INF-08."""
        before = set(threading.enumerate())
        informer = informer_of(source)
        informer.add_event_handler(RecordingHandler())
        assert set(threading.enumerate()) <= before
        assert source.requests == []
        assert not informer.has_synced()
        assert not informer.is_watching()
        assert informer.last_sync_resource_version() == ""
        assert str(informer.last_error()).startswith("it was not started")
        assert informer.statistics().reflector is None

    def test_one_that_was_stopped_before_its_first_list_says_so(self, source: FakeSource) -> None:
        informer, stop = informer_of(source), threading.Event()
        stop.set()
        informer.run(stop)
        assert str(informer.last_error()) == "it was stopped before its first list"

    def test_a_period_that_is_not_a_number_is_refused(self, source: FakeSource) -> None:
        informer = informer_of(source)
        with pytest.raises(ValueError, match="NaN"):
            informer.add_event_handler(RecordingHandler(), resync_period=math.nan)


class TestRunning:
    def test_twice_is_refused_with_a_warning(
        self, source: FakeSource, caplog: pytest.LogCaptureFixture
    ) -> None:
        """INF-02, FIELD-17."""
        informer = informer_of(source)
        with running(informer) as stop:
            synced(stop, informer)
            informer.run(stop)
        informer.run(threading.Event())
        assert caplog.text.count("cannot be started again") == 2

    def test_by_several_threads_starts_one_loop(self, source: FakeSource) -> None:
        """FIELD-17."""
        informer, stop = informer_of(source), threading.Event()
        runs = [Background(lambda: informer.run(stop)) for _ in range(8)]
        synced(stop, informer)
        stop.set()
        for run in runs:
            run.result()
        assert [verb for verb, _ in source.requests] == ["watch"]

    def test_with_a_stop_that_is_set_returns_immediately(self, source: FakeSource) -> None:
        """INF-02, INF-07."""
        informer, stop = informer_of(source), threading.Event()
        stop.set()
        informer.run(stop)
        assert informer.is_stopped()
        assert not informer.has_synced()

    def test_ends_when_a_handler_sets_the_stop(self, source: FakeSource) -> None:
        """FIELD-16."""
        informer = informer_of(source)
        source.add(foo("a"))
        with running(informer) as stop:
            informer.add_event_handler(on_add=lambda _: stop.set())
            assert stop.wait(TIMEOUT)
        assert informer.is_stopped()


class TestAStoppedInformer:
    @pytest.fixture
    def stopped(self, source: FakeSource) -> SharedIndexInformer[Foo]:
        source.add(foo("a"))
        informer = informer_of(source)
        with running(informer) as stop:
            synced(stop, informer)
        return informer

    def test_keeps_its_last_content(self, stopped: SharedIndexInformer[Foo]) -> None:
        """INF-04."""
        assert refs(stopped.indexer.list()) == ["a@1"]
        assert stopped.is_stopped()
        assert stopped.has_synced()

    def test_takes_no_handlers_or_indexes(self, stopped: SharedIndexInformer[Foo]) -> None:
        """INF-04, IDX-14."""
        with pytest.raises(InformerStateError, match="would not be called"):
            stopped.add_event_handler(RecordingHandler())
        with pytest.raises(InformerStateError, match="no indexes"):
            stopped.add_indexers({"namespace": meta_namespace_index})


class TestSettings:
    def test_can_be_made_until_the_start(self, source: FakeSource) -> None:
        """INF-05."""
        source.fail("list", ForbiddenError.of("no"))
        source.supports_watch_list = False
        informer, overruled, errors = informer_of(source), Notes(), Notes()
        informer.set_watch_error_handler(overruled)
        informer.set_watch_error_handler(errors)
        with running(informer):
            errors.wait_for_count(1)
            assert overruled.notes == []
            with pytest.raises(InformerStateError, match="has started"):
                informer.set_watch_error_handler(errors)
            with pytest.raises(InformerStateError, match="has started"):
                informer.set_transform(lambda obj: obj)
        assert str(errors.notes[0]) == "failed to list Foo: no"

    def test_indexes_can_be_added_at_any_time(self, source: FakeSource) -> None:
        """IDX-14."""
        source.add(foo("a"))
        informer = informer_of(source)
        informer.add_indexers({"early": meta_namespace_index})
        with running(informer) as stop:
            synced(stop, informer)
            informer.add_indexers({"late": meta_namespace_index})
            with pytest.raises(IndexConflictError):
                informer.add_indexers({"late": meta_namespace_index})
        assert refs(informer.indexer.by_index("early", "ns")) == ["a@1"]
        assert refs(informer.indexer.by_index("late", "ns")) == ["a@1"]


def test_all_methods_may_be_called_concurrently(source: FakeSource) -> None:
    """INF-21."""
    informer = informer_of(source)
    recorder = RecordingHandler()
    informer.add_event_handler(recorder)

    def come_and_go() -> None:
        for _ in range(50):
            try:
                registration = informer.add_event_handler(RecordingHandler())
            except InformerStateError:
                return
            informer.statistics()
            informer.remove_event_handler(registration)

    with running(informer):
        visitors = [Background(come_and_go) for _ in range(8)]
        for number in range(500):
            source.add(foo(f"foo-{number}"))
        recorder.calls.wait_for_count(500)
        for visitor in visitors:
            visitor.result()
    assert len(recorder.notes) == 500
    assert len(informer.statistics().handlers) == 1


def test_an_expired_first_list_is_made_up_for(source: FakeSource) -> None:
    """RFL-12."""
    source.supports_watch_list = False
    source.add(foo("a"))
    source.fail("list", ExpiredError.of("too old"))
    informer = informer_of(source)
    with running(informer) as stop:
        synced(stop, informer)
    assert [options.resource_version for verb, options in source.requests[:2]] == ["0", ""]
