"""An informer whose kind the server stops to serve, as far as no server is needed for that."""

from __future__ import annotations

import logging
import threading
from itertools import pairwise
from typing import Any

import pytest

from clientgo.cache import Indexer, NotServedError, QueueChoice, Reflector
from clientgo.cache.reflector.reflector import DEFAULT_DELAYS
from clientgo.informers.health import LONGEST_SILENCE
from clientgo.meta import ListOptions, NotFoundError
from clientgo.testing import AutoClock
from clientgo.testing.fake_source import FakeSource
from clientgo.util.wait import BackoffManager
from tests.cache.builders import Foo, foo
from tests.cache.informer.making import informer_of, synced
from tests.cache.running import Notes, RecordingHandler, running


class DefinedSource(FakeSource):
    """A source that answers 404 to every request while ``reason`` is set."""

    def __init__(self, *objs: Any) -> None:
        super().__init__(objs, sample=foo("sample"))
        self.reason: NotServedError | Exception | None = None
        self.asked = Notes()

    def why_not_served(self, _stop: threading.Event) -> NotServedError | None:
        self.asked(None)
        if isinstance(self.reason, NotServedError | None):
            return self.reason
        raise self.reason

    def list(self, options: ListOptions, stop: threading.Event) -> Any:
        self._check()
        return super().list(options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> Any:
        self._check()
        return super().watch(options, stop)

    def stop_serving(self, reason: NotServedError | Exception) -> None:
        self.reason = reason
        self.close_watches()

    def _check(self) -> None:
        if self.reason is not None:
            raise NotFoundError.of("404 page not found")


DELETED = NotServedError("foos", "there is no definition", objects_deleted=True)
UNKNOWN = NotServedError("foos", "its definition serves v2")


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING]


def test_a_kind_whose_definition_is_deleted_is_one_line_and_tombstones(
    queue: QueueChoice, caplog: pytest.LogCaptureFixture
) -> None:
    """k/k#79610: client-go logs a failed list every 30 to 60 s, and keeps the objects."""
    caplog.set_level(logging.INFO, "clientgo.cache")
    source, handler = DefinedSource(foo("a"), foo("b")), RecordingHandler()
    informer = informer_of(source, queue=queue)
    informer.add_event_handler(handler)
    with running(informer) as stop:
        synced(stop, informer)
        source.delete(foo("a"))
        handler.calls.wait_for_count(3)

        source.stop_serving(DELETED)
        source.delete(foo("b"), unseen=True)

        handler.calls.wait_for_count(4)
        source.asked.wait_for_count(10)
        assert [note.partition("@")[0] for note in handler.notes[2:]] == ["-a", "†b"]
        assert informer.indexer.list() == []
        assert informer.has_synced()
        assert not informer.is_watching()
        assert informer.last_error() is DELETED
        assert isinstance(DELETED.__cause__, NotFoundError)
        [line] = warnings_in(caplog)
        assert line == (
            "Foo reflector: foos is not served: there is no definition; trying again until it works"
        )

        source.reason = None
        written = source.add(foo("c"))

        handler.calls.wait_for_count(5)
        assert informer.indexer.list() == [written]
        assert handler.notes[-1].startswith("+c")
    assert len(warnings_in(caplog)) == 1
    assert caplog.messages[-1] == "Foo reflector: it works again"


def test_objects_that_may_exist_stay_cached_until_the_kind_is_served_again(
    queue: QueueChoice,
) -> None:
    source, handler = DefinedSource(foo("a"), foo("b")), RecordingHandler()
    informer = informer_of(source, queue=queue)
    informer.add_event_handler(handler)
    with running(informer) as stop:
        synced(stop, informer)
        handler.calls.wait_for_count(2)

        source.stop_serving(UNKNOWN)

        source.asked.wait_for_count(3)
        assert sorted(informer.indexer.list_keys()) == ["ns/a", "ns/b"]
        assert len(handler.notes) == 2

        source.delete(foo("a"), unseen=True)
        source.reason = None

        handler.calls.wait_for(lambda notes: any(note.startswith("†a") for note in notes))
        assert informer.indexer.list_keys() == ["ns/b"]


def test_what_was_kept_is_deleted_once_the_definition_is() -> None:
    source = DefinedSource(foo("a"))
    informer = informer_of(source)
    handler = RecordingHandler()
    informer.add_event_handler(handler)
    with running(informer) as stop:
        synced(stop, informer)
        source.stop_serving(UNKNOWN)
        source.asked.wait_for_count(2)

        source.reason = DELETED

        handler.calls.wait_for(lambda notes: any(note.startswith("†a") for note in notes))


@pytest.mark.parametrize("reason", [OSError("the network is down"), ValueError("a bug")])
def test_a_404_that_nothing_explains_is_a_failure_like_any_other(
    reason: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    source = DefinedSource(foo("a"))
    informer = informer_of(source)
    with running(informer) as stop:
        synced(stop, informer)

        source.stop_serving(reason)

        source.asked.wait_for_count(4)  # so the failure before it was noted
        assert informer.indexer.list_keys() == ["ns/a"]
        assert not isinstance(informer.last_error(), NotServedError)
        assert "404 page not found" in str(informer.last_error())


def test_a_kind_that_is_not_there_at_the_start_has_not_synced(
    queue: QueueChoice, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is known of its objects: a program must not take them for none."""
    source, handler = DefinedSource(foo("a")), RecordingHandler()
    source.reason = DELETED
    informer = informer_of(source, queue=queue)
    informer.add_event_handler(handler)
    with running(informer) as stop:
        source.asked.wait_for_count(5)
        assert not informer.has_synced()
        assert informer.last_error() is DELETED
        assert len(warnings_in(caplog)) == 1

        source.reason = None

        synced(stop, informer)
        handler.calls.wait_for_count(1)
        assert handler.notes[0].startswith("+a")
        assert handler.notes[0].endswith("!")


def test_the_server_is_asked_again_after_the_usual_pauses_and_counts_as_alive() -> None:
    clock = AutoClock()
    source = DefinedSource(foo("a"))
    source.reason = DELETED
    asked_at = Notes()
    reflector = Reflector(
        source,
        Indexer[Foo](),
        clock=clock,
        delays=BackoffManager(DEFAULT_DELAYS, clock=clock, random=lambda: 0.0),
        on_error=lambda _error: asked_at(clock.monotonic()),
    )

    with running(reflector):
        asked_at.wait_for(lambda notes: notes and notes[-1] > 2 * LONGEST_SILENCE)
        silence = reflector.statistics().seconds_since_heard

    pauses = [round(after - before, 6) for before, after in pairwise(asked_at.notes)]
    assert pauses[:8] == [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    assert set(pauses[8:]) == {30.0}
    assert silence is not None
    assert silence <= 30.0 + 1e-6


def test_a_watch_that_ends_at_once_with_its_kind_is_not_reported_as_that(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = DefinedSource()
    informer = informer_of(source)
    with running(informer) as stop:
        synced(stop, informer)

        source.stop_serving(DELETED)

        source.asked.wait_for_count(3)
    assert [line for line in warnings_in(caplog) if "not served" not in line] == []
    assert len(warnings_in(caplog)) == 1


def test_a_stop_ends_the_pause_of_an_informer_whose_kind_is_not_served() -> None:
    source = DefinedSource(foo("a"))
    source.reason = DELETED
    informer = informer_of(source, delays=BackoffManager(DEFAULT_DELAYS))
    with running(informer):
        source.asked.wait_for_count(1)
    assert informer.is_stopped()
