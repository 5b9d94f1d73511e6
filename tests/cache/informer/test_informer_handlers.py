"""Handlers of a shared informer: adding, calling and removing them."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.cache import HighWater, QueueChoice
from clientgo.testing.fake_source import FakeSource
from tests.background import Background
from tests.cache.builders import Foo, foo, refs
from tests.cache.informer.making import informer_of, synced
from tests.cache.running import TIMEOUT, Notes, RecordingHandler, running


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
