"""The shared informer: one cache, many handlers."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    REAL_FIFO_SINGLE,
    HighWater,
    IndexConflictError,
    InformerIdentity,
    InformerName,
    InformerStateError,
    QueueChoice,
    SharedIndexInformer,
    meta_namespace_index,
    wait_for_cache_sync,
)
from clientgo.meta import ExpiredError, ForbiddenError, GroupVersionResource, Status, WatchEvent
from clientgo.metrics.names import INFORMER_QUEUED_ITEMS, INFORMER_STORE_RESOURCE_VERSION
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo, ref, refs
from tests.cache.metrics import RecordingProvider
from tests.cache.running import TIMEOUT, Notes, RecordingHandler, no_delays, running

EXPIRED = WatchEvent("ERROR", Status(code=410, reason="Expired"))


@pytest.fixture
def source() -> FakeSource:
    return FakeSource(sample=foo("sample"))


@pytest.fixture(params=[DELTA_FIFO, REAL_FIFO, REAL_FIFO_SINGLE], ids=["delta", "real", "single"])
def queue(request: pytest.FixtureRequest) -> QueueChoice:
    choice: QueueChoice = request.param
    return choice


def informer_of(source: FakeSource, **options: Any) -> SharedIndexInformer[Foo]:
    return SharedIndexInformer(source, Foo, **({"delays": no_delays()} | options))


def relist(source: FakeSource) -> None:
    """Make the informer list again, as after an expired version."""
    source.expire_history()
    source.send(EXPIRED)


def synced(stop: threading.Event, *what: Any) -> None:
    wait_for_cache_sync(stop, *what, timeout=TIMEOUT).raise_for_unsynced()


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


class TestHandlers:
    def test_get_the_initial_list_and_every_change(
        self, source: FakeSource, queue: QueueChoice
    ) -> None:
        """INF-09, INF-11, INF-15."""
        source.add(foo("a"))
        informer, recorder = informer_of(source, queue=queue), RecordingHandler()
        registration = informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, registration)
            source.wait_for_watch()
            source.add(foo("b"))
            recorder.calls.wait_for_count(2)
            source.update(foo("a"))
            recorder.calls.wait_for_count(3)
            source.delete(foo("b"))
            recorder.calls.wait_for_count(4)
            assert refs(informer.indexer.list()) == ["a@3"]
        assert recorder.notes == ["+a@1!", "+b@2", "a@1→a@3", "-b@4"]

    def test_functions_can_be_handlers(self, source: FakeSource) -> None:
        """EVH-02."""
        source.add(foo("a"))
        informer, added = informer_of(source), Notes()
        informer.add_event_handler(on_add=added)
        with running(informer):
            added.wait_for_count(1)

    @pytest.mark.parametrize("both", [{}, {"handler": RecordingHandler(), "on_add": print}])
    def test_must_be_one_thing_or_the_other(self, source: FakeSource, both: dict[str, Any]) -> None:
        with pytest.raises(TypeError, match="either a handler, or functions"):
            informer_of(source).add_event_handler(**both)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"handler": print}, "no ResourceEventHandler; pass functions by name"),
            ({"on_add": print, "on_delete": 5}, "5 cannot be"),
        ],
    )
    def test_that_can_not_be_called_are_refused_at_once(
        self, source: FakeSource, arguments: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(TypeError, match=message):
            informer_of(source).add_event_handler(**arguments)

    def test_that_are_added_late_get_the_existing_objects_and_then_changes(
        self, source: FakeSource, queue: QueueChoice
    ) -> None:
        """INF-09, INF-10, FIELD-09."""
        source.add(foo("a"))
        informer, recorder = informer_of(source, queue=queue), RecordingHandler()
        with running(informer) as stop:
            synced(stop, informer)
            source.wait_for_watch()
            synced(stop, informer.add_event_handler(recorder))
            assert recorder.notes == ["+a@1!"]
            source.add(foo("b"))
            recorder.calls.wait_for_count(2)
        assert recorder.notes == ["+a@1!", "+b@2"]

    def test_of_the_same_kind_are_independent(self, source: FakeSource) -> None:
        """INF-12."""
        source.add(foo("a"))
        informer, recorder = informer_of(source), RecordingHandler()
        first = informer.add_event_handler(recorder)
        second = informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, first, second)
            informer.remove_event_handler(first)
            source.wait_for_watch()
            source.add(foo("b"))
            recorder.calls.wait_for_count(3)
            assert second.wait_until_idle(TIMEOUT)
        assert recorder.notes == ["+a@1!", "+a@1!", "+b@2"]

    def test_cannot_block_the_cache_or_each_other(self, source: FakeSource) -> None:
        """FIELD-08, LIS-01."""
        informer, recorder, released = informer_of(source), RecordingHandler(), threading.Event()
        informer.add_event_handler(on_add=lambda _: released.wait())
        informer.add_event_handler(recorder)
        with running(informer):
            for name in "abc":
                source.add(foo(name))
            recorder.calls.wait_for_count(3)
            assert len(informer.indexer.list()) == 3
            released.set()

    def test_with_too_much_waiting_for_them_are_reported(self, source: FakeSource) -> None:
        """FIELD-36: in a callback that may add handlers."""
        informer, joined, released = informer_of(source), RecordingHandler(), threading.Event()
        high_water = HighWater(2, lambda backlog: informer.add_event_handler(joined))
        informer.add_event_handler(on_add=lambda _: released.wait(), high_water=high_water)
        for name in "abc":
            source.add(foo(name))
        with running(informer):
            joined.calls.wait_for_count(3)
            released.set()

    def test_that_fail_cost_only_the_object(self, source: FakeSource) -> None:
        """LIS-03, LIS-04."""
        source.add(foo("a"))
        informer, recorder = informer_of(source), RecordingHandler()

        def fail(obj: Foo) -> None:
            raise ValueError(obj)

        failing = informer.add_event_handler(on_add=fail)
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, failing)
            recorder.calls.wait_for_count(1)
        assert failing.statistics().failed == 1


class TestRemovingAHandler:
    def test_stops_its_calls(self, source: FakeSource) -> None:
        """INF-13."""
        source.add(foo("a"))
        informer, recorder, other = informer_of(source), RecordingHandler(), RecordingHandler()
        registration = informer.add_event_handler(recorder)
        informer.add_event_handler(other)
        with running(informer) as stop:
            synced(stop, registration)
            informer.remove_event_handler(registration)
            informer.remove_event_handler(registration)
            source.wait_for_watch()
            source.add(foo("b"))
            other.calls.wait_for_count(2)
        assert recorder.notes == ["+a@1!"]

    def test_of_another_informer_does_nothing(self, source: FakeSource) -> None:
        """INF-13."""
        source.add(foo("a"))
        informer, recorder = informer_of(source), RecordingHandler()
        registration = informer.add_event_handler(recorder)
        stranger = informer_of(source)
        stranger.remove_event_handler(registration)
        stranger.shut_down_event_handler(registration)
        with running(informer):
            recorder.calls.wait_for_count(1)

    def test_takes_registrations_only(self, source: FakeSource) -> None:
        """INF-13."""
        with pytest.raises(TypeError, match="not what add_event_handler returned"):
            informer_of(source).remove_event_handler("handler")  # type: ignore[arg-type]

    def test_can_wait_for_the_call_in_progress(self, source: FakeSource) -> None:
        """INF-14."""
        informer, began, released = informer_of(source), Notes(), threading.Event()

        def hold(obj: Foo) -> None:
            began(obj)
            assert released.wait(TIMEOUT)

        registration = informer.add_event_handler(on_add=hold)
        source.add(foo("a"))
        source.add(foo("b"))
        with running(informer):
            began.wait_for_count(1)
            removal = Background(lambda: informer.shut_down_event_handler(registration))
            assert removal.is_running
            released.set()
            removal.result()
        assert len(began.notes) == 1

    def test_of_an_informer_that_never_ran_waits_for_nothing(self, source: FakeSource) -> None:
        """INF-14."""
        informer = informer_of(source)
        informer.shut_down_event_handler(informer.add_event_handler(RecordingHandler()))

    def test_is_legal_in_its_own_callback(self, source: FakeSource) -> None:
        """FIELD-35, INF-14."""
        informer, seen = informer_of(source), Notes()

        def remove_itself(obj: Foo) -> None:
            informer.shut_down_event_handler(registration)
            seen(obj)

        registration = informer.add_event_handler(on_add=remove_itself)
        source.add(foo("a"))
        source.add(foo("b"))
        with running(informer):
            seen.wait_for_count(1)
        assert len(seen.notes) == 1

    def test_is_legal_while_the_informer_stops(self, source: FakeSource) -> None:
        """FIELD-35, pitfall 16."""
        informer, seen = informer_of(source), Notes()

        def remove_once_stopped(obj: Foo) -> None:
            stop.set()
            informer.remove_event_handler(registration)
            seen(obj)

        registration = informer.add_event_handler(on_add=remove_once_stopped)
        with running(informer) as stop:
            source.add(foo("a"))
            seen.wait_for_count(1)


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


class TestATransform:
    def test_is_applied_once_before_anybody_sees_the_object(
        self, source: FakeSource, queue: QueueChoice
    ) -> None:
        """INF-20, WLS-10."""
        source.add(foo("a"))
        recorder = RecordingHandler()

        def append_t(obj: Foo) -> Foo:
            obj.metadata.resource_version += "t"
            return obj

        informer = informer_of(source, queue=queue, transform=append_t)
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, informer)
            source.wait_for_watch()
            source.add(foo("b"))
            recorder.calls.wait_for_count(2)
        assert recorder.notes == ["+a@1t!", "+b@2t"]

    def test_that_fails_costs_only_the_object(
        self, source: FakeSource, caplog: pytest.LogCaptureFixture
    ) -> None:
        """INF-20, pitfall 21."""
        source.add(foo("bad"))
        source.add(foo("a"))
        recorder = RecordingHandler()

        def refuse_bad(obj: Foo) -> Foo:
            if obj.metadata.name == "bad":
                raise ValueError("cannot be transformed")
            return obj

        informer = informer_of(source, queue=REAL_FIFO, transform=refuse_bad)
        informer.add_event_handler(recorder)
        with running(informer):
            recorder.calls.wait_for_count(1)
            source.wait_for_watch()
            source.update(foo("bad"))
            source.add(foo("b"))
            source.delete(foo("bad"))
            recorder.calls.wait_for_count(3)
        assert recorder.notes == ["+a@2!", "+b@4", "-bad@5"]
        assert informer.statistics().quarantined == 3
        assert "ns/bad: the transform failed: cannot be transformed" in caplog.text


class TestARelist:
    def test_delivers_what_was_missed(self, source: FakeSource, queue: QueueChoice) -> None:
        """INF-16, INF-18, FIELD-27."""
        source.add(foo("a"))
        source.add(foo("b"))
        informer, recorder = informer_of(source, queue=queue), RecordingHandler()
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, informer)
            source.wait_for_watch()
            source.delete(foo("a"), unseen=True)
            source.update(foo("b"), unseen=True)
            source.add(foo("c"), unseen=True)
            relist(source)
            recorder.calls.wait_for_count(5)
        assert sorted(recorder.notes[2:]) == sorted(["†a@1", "b@2→b@4", "+c@5"])

    def test_of_a_recreated_object_can_be_a_deletion_and_an_addition(
        self, source: FakeSource, queue: QueueChoice
    ) -> None:
        """FIELD-37, EVH-06."""
        source.add(foo("a", uid="u1"))
        informer, recorder = (
            informer_of(source, queue=queue, split_recreated=True),
            RecordingHandler(),
        )
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, informer)
            source.wait_for_watch()
            source.delete(foo("a"), unseen=True)
            source.add(foo("a", uid="u2"), unseen=True)
            relist(source)
            recorder.calls.wait_for_count(3)
        assert recorder.notes == ["+a@1!", "†a@1", "+a@3"]


class TestResync:
    def test_delivers_everything_again_from_the_cache(
        self, source: FakeSource, queue: QueueChoice
    ) -> None:
        """RSY-01, FIELD-11."""
        source.add(foo("a"))
        clock, often, never, resynced = FakeClock(), RecordingHandler(), RecordingHandler(), Notes()
        informer = informer_of(
            source, queue=queue, clock=clock, resync_period=10.0, stream_initial_list=False
        )
        informer.add_event_handler(often)
        informer.add_event_handler(never, resync_period=0.0)
        informer.add_event_handler(on_resync=lambda old, new: resynced((ref(old), ref(new))))
        with running(informer) as stop:
            synced(stop, informer)
            source.wait_for_watch()
            requests = len(source.requests)
            clock.wait_for(lambda: clock.next_deadline() == 10.0)
            clock.step(10.0)
            often.calls.wait_for_count(2)
            resynced.wait_for_count(1)
            never.calls.wait_for_count(1)
        assert often.notes == ["+a@1!", "a@1→a@1"]
        assert never.notes == ["+a@1!"]
        assert resynced.notes == [("a@1", "a@1")]
        assert len(source.requests) == requests

    def test_can_be_asked_for_more_often_before_the_start(self, source: FakeSource) -> None:
        """RSY-03."""
        source.add(foo("a"))
        clock, recorder = FakeClock(), RecordingHandler()
        informer = informer_of(source, clock=clock, resync_period=10.0, stream_initial_list=False)
        informer.add_event_handler(recorder, resync_period=2.0)
        with running(informer) as stop:
            synced(stop, informer)
            clock.wait_for(lambda: clock.next_deadline() == 2.0)
            clock.step(2.0)
            recorder.calls.wait_for_count(2)


class TestHealth:
    def test_says_what_keeps_it_from_syncing(self, source: FakeSource) -> None:
        """FIELD-07, FIELD-28, FIELD-32, pitfall 12."""
        source.supports_watch_list = False
        source.fail("list", *[ForbiddenError.of("you may not")] * 1000)
        informer, errors = informer_of(source, name="foos", on_error=lambda _: None), Notes()
        informer.set_watch_error_handler(errors)
        with running(informer) as stop:
            errors.wait_for_count(1)
            result = wait_for_cache_sync(stop, informer, timeout=0.0)
        assert not result
        assert str(result.as_error()) == (
            "not synced, after 0.0 s: foos (last error: failed to list Foo: you may not)"
        )

    def test_is_read_from_every_part(self, source: FakeSource) -> None:
        source.add(foo("a"))
        informer, recorder = informer_of(source, name="foos"), RecordingHandler()
        informer.add_event_handler(recorder)
        with running(informer) as stop:
            synced(stop, informer)
            recorder.calls.wait_for_count(1)
            source.wait_for_watch()
            assert informer.is_watching()
            statistics = informer.statistics()
        assert statistics.synced
        assert not statistics.stopped
        assert statistics.store.objects == 1
        assert statistics.queue is not None
        assert statistics.queue.pending == 0
        assert statistics.reflector is not None
        assert statistics.reflector.is_watching
        assert statistics.handlers[0].name == "foos handler 1 (RecordingHandler)"

    def test_metrics_are_reported_under_its_name(self, source: FakeSource) -> None:
        """CMT-01, CMT-02."""
        provider = RecordingProvider()
        name = InformerName("test")
        identity = name.with_resource(GroupVersionResource("example.com", "v1", "foos"))
        recorder = RecordingHandler()
        informer = informer_of(source, queue=REAL_FIFO, identity=identity, metrics=provider)
        registration = informer.add_event_handler(recorder)
        with running(informer):
            source.add(foo("a"))
            recorder.calls.wait_for_count(1)
            assert registration.wait_until_idle(TIMEOUT)
        name.release()
        labels = ("test", "example.com", "v1", "foos")
        assert 1.0 in provider.values[(INFORMER_STORE_RESOURCE_VERSION.name, *labels)]
        assert provider.values[(INFORMER_QUEUED_ITEMS.name, *labels)][-1] == 0

    def test_without_a_reserved_name_no_metrics_are_reported(self, source: FakeSource) -> None:
        """CMT-03."""
        provider = RecordingProvider()
        name = InformerName("test")
        resource = GroupVersionResource("example.com", "v1", "foos")
        name.with_resource(resource)
        second: InformerIdentity = name.with_resource(resource)
        informer_of(source, identity=second, metrics=provider)
        name.release()
        assert not [key for key in provider.values if key[0].startswith("informer")]


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
