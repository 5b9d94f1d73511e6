"""What the handlers of a shared informer are called with."""

from __future__ import annotations

import pytest

from clientgo.cache import REAL_FIFO, QueueChoice
from clientgo.testing import FakeClock
from clientgo.testing.fake_source import FakeSource
from tests.cache.builders import Foo, foo, ref
from tests.cache.informer.making import informer_of, relist, synced
from tests.cache.running import Notes, RecordingHandler, running


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

    def test_can_be_asked_for_at_any_time(self, source: FakeSource, queue: QueueChoice) -> None:
        """RSY-07."""
        source.add(foo("a"))
        clock, often, never = FakeClock(), RecordingHandler(), RecordingHandler()
        informer = informer_of(
            source, queue=queue, clock=clock, resync_period=10.0, stream_initial_list=False
        )
        informer.resync()  # it does not run yet
        informer.add_event_handler(often)
        informer.add_event_handler(never, resync_period=0.0)
        with running(informer) as stop:
            synced(stop, informer)
            clock.wait_for(lambda: clock.next_deadline() == 10.0)
            clock.step(10.0)
            often.calls.wait_for_count(2)
            informer.resync()
            often.calls.wait_for_count(3)
            never.calls.wait_for_count(2)
        assert often.notes == ["+a@1!", "a@1→a@1", "a@1→a@1"]
        assert never.notes == ["+a@1!", "a@1→a@1"]

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
