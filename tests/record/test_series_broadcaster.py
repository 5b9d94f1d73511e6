"""Events of events.k8s.io/v1 are recorded, written and kept up to date."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from clientgo.api.events_v1 import Event
from clientgo.client import Client
from clientgo.record import NORMAL, WARNING, EventSeriesSink, SeriesBroadcaster
from clientgo.testing import FakeClock
from clientgo.testing.scripted_server import ScriptedServer, answer_json
from tests.record.builders import pod
from tests.record.test_series_writer import SeriesListSink


def _broadcaster(sink: SeriesListSink, **options: Any) -> SeriesBroadcaster:
    return SeriesBroadcaster(sink, clock=FakeClock(), **options)


def test_an_event_says_what_was_done_to_which_object() -> None:
    """EVT-01"""
    seen: list[Event] = []
    with _broadcaster(SeriesListSink()) as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        recorder = broadcaster.new_recorder("scheduler", "node-1")
        recorder.eventf(pod("web"), pod("node"), NORMAL, "Fits", "Binding", "to %s", "node")
        assert broadcaster.flush(60)

    plain = seen[0].to_dict()
    assert plain["metadata"] == {"name": "web.d234ccf52430000", "namespace": "ns"}
    assert plain["eventTime"] == "2000-01-01T00:00:00.000000Z"
    assert plain["reportingController"] == "scheduler"
    assert plain["reportingInstance"] == "scheduler-node-1"
    assert (plain["action"], plain["reason"], plain["note"]) == ("Binding", "Fits", "to node")
    assert (plain["regarding"]["name"], plain["related"]["name"]) == ("web", "node")
    assert "series" not in plain


def test_a_related_object_that_cannot_be_referred_to_is_left_out() -> None:
    """EVT-01"""
    sink = SeriesListSink()
    seen: list[Event] = []
    with _broadcaster(sink) as broadcaster:
        broadcaster.start_event_watcher(seen.append)
        broadcaster.new_recorder("c").eventf(pod(), object(), NORMAL, "R", "A", "n")
        assert broadcaster.flush(60)

    assert seen[0].related is None
    assert sink.verbs == ["create"]


@pytest.mark.parametrize(("regarding", "kind"), [(object(), NORMAL), (pod(), "Odd")])
def test_what_cannot_be_recorded_is_logged_and_dropped(
    regarding: Any, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    """EVT-01"""
    sink = SeriesListSink()
    with _broadcaster(sink) as broadcaster:
        broadcaster.new_recorder("c").eventf(regarding, None, kind, "R", "A", "n")
        assert broadcaster.flush(60)

    assert sink.calls == []
    assert "Event dropped" in caplog.text


def test_repetitions_become_a_series_over_http() -> None:
    """EVT-03"""
    path = "/apis/events.k8s.io/v1/namespaces/ns/events"
    stored = {"metadata": {"name": "p.1", "namespace": "ns"}, "eventTime": None}
    with ScriptedServer() as server, Client(server.url) as client:
        server.on(path, answer_json(stored, 201))
        clock = FakeClock()
        with SeriesBroadcaster(EventSeriesSink(client), clock=clock) as broadcaster:
            recorder = broadcaster.new_recorder("c", "h")
            recorder.eventf(pod(), None, WARNING, "R", "A", "n")
            assert broadcaster.flush(60)
            server.on(f"{path}/p.d234ccf52430000", answer_json(stored))
            recorder.eventf(pod(), None, WARNING, "R", "A", "n")
            assert broadcaster.flush(60)
            assert broadcaster.statistics().written == 2

        assert [request.method for request in server.requests] == ["POST", "PATCH"]
        assert server.requests[1].json()["series"]["count"] == 2


def test_the_end_of_a_series_is_written_in_time() -> None:
    """EVT-07, EVT-08"""
    sink = SeriesListSink()
    final = threading.Event()
    clock = FakeClock()
    with SeriesBroadcaster(sink, clock=clock) as broadcaster:
        clock.wait_for_waiters()
        recorder = broadcaster.new_recorder("c")
        for _ in range(3):
            recorder.eventf(pod(), None, NORMAL, "R", "A", "n")
        assert broadcaster.flush(60)
        sink.before = final.set

        clock.step(360)
        clock.wait_for_waiters()
        clock.step(360)

        assert final.wait(30)
    assert sorted(sink.calls) == [("create", "n"), ("patch", 2), ("patch", 3)]


def test_a_series_that_goes_on_is_rewritten_every_half_hour() -> None:
    """EVT-08: a server keeps events for an hour."""
    sink, clock = SeriesListSink(), FakeClock()
    with SeriesBroadcaster(sink, clock=clock) as broadcaster:
        clock.wait_for_waiters()
        recorder = broadcaster.new_recorder("c")
        recorder.eventf(pod(), None, NORMAL, "R", "A", "n")
        after: list[int] = []
        for _ in range(5):
            recorder.eventf(pod(), None, NORMAL, "R", "A", "n")
            assert broadcaster.flush(60)
            clock.step(360)
            clock.wait_for_waiters()
            after.append(len(sink.calls))

    assert after == [2, 2, 2, 2, 3]
    assert sink.calls[-1] == ("patch", 6)


def test_a_full_queue_drops_and_counts() -> None:
    """EVT-04"""
    gate = threading.Event()
    reached = threading.Semaphore(0)
    sink = SeriesListSink()

    def wait() -> None:
        reached.release()
        assert gate.wait(30)

    sink.before = wait
    with _broadcaster(sink, queue_size=1) as broadcaster:
        recorder = broadcaster.new_recorder("c")
        for number in range(8):
            recorder.eventf(pod(f"busy{number}"), None, NORMAL, "R", "A", "n")
            assert reached.acquire(timeout=30)
        for number in range(3):
            recorder.eventf(pod(f"more{number}"), None, NORMAL, "R", "A", "n")
        statistics = broadcaster.statistics()
        gate.set()

    assert (statistics.pending, statistics.dropped) == (9, 2)


def test_it_records_from_the_start_and_shutdown_ends_all_threads() -> None:
    """EVT-10: there is no starting twice, since there is no starting."""
    broadcaster = _broadcaster(SeriesListSink())
    broadcaster.start_event_watcher(lambda _: None)

    broadcaster.shutdown()

    assert [t.name for t in threading.enumerate() if t.name.startswith("event-")] == []
