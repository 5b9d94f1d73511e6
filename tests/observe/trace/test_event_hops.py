"""The hop of an event that a controller reports, with both event APIs."""

from __future__ import annotations

from typing import Any

from clientgo.api.core_v1 import ConfigMap
from clientgo.meta import ObjectMeta
from clientgo.observe.trace import Recorder, Trace, tracing
from clientgo.record import EventRecorder, SeriesRecorder
from clientgo.util.clock import REAL_CLOCK

ABOUT = ConfigMap(metadata=ObjectMeta(name="a", namespace="default"))


def published_after(trace: Trace, recorder: Recorder, seen: list[list[str]]) -> Any:
    """Publish to a sink that would send a request: the event is noted before."""

    def publish(_event: object) -> None:
        trace.flush()
        seen.append([hop.hop for hop in recorder.hops()])

    return publish


def test_an_event_is_noted_before_it_is_sent() -> None:
    recorder, seen = Recorder(), list[list[str]]()
    with tracing(recorder) as trace:
        publish = published_after(trace, recorder, seen)
        EventRecorder(publish, "me").eventf(ABOUT, "Normal", "Scaled", "to %d", 3)
        series = SeriesRecorder(publish, "me", "host", clock=REAL_CLOCK)
        series.eventf(ABOUT, None, "Warning", "Refused", "Scale", "not %d", 4)

    assert seen == [["event.recorded"], ["event.recorded", "event.recorded"]]
    assert [(hop.of, hop.key, hop.details) for hop in recorder.hops()] == [
        ("me", "default/a", {"reason": "Scaled", "message": "to 3"}),
        ("me", "default/a", {"reason": "Refused", "message": "not 4"}),
    ]


def test_an_event_that_cannot_be_made_is_no_hop() -> None:
    recorder = Recorder()
    with tracing(recorder):
        EventRecorder(lambda event: None, "me").event(ABOUT, "No such type", "Scaled", "to 3")

    assert recorder.hops() == []
