"""Recording never troubles the caller."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from clientgo.api.core_v1 import Event, EventSource
from clientgo.record import NORMAL, WARNING, EventRecorder
from clientgo.testing import FakeClock, FakeRecorder
from tests.record.builders import pod


def _recorder(clock: FakeClock | None = None) -> tuple[EventRecorder, list[Event]]:
    published: list[Event] = []
    return EventRecorder(published.append, "comp", "host", clock=clock or FakeClock()), published


def test_an_event_says_what_who_when_and_about_which_object() -> None:
    """REC-03"""
    recorder, published = _recorder()

    recorder.event(pod("web"), NORMAL, "Started", "it runs")

    made = published[0]
    assert made.to_dict() == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "web.d234ccf52430000", "namespace": "ns"},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "web",
            "namespace": "ns",
            "uid": "uid-web",
            "resourceVersion": "7",
        },
        "type": "Normal",
        "reason": "Started",
        "message": "it runs",
        "source": {"component": "comp", "host": "host"},
        "reportingComponent": "comp",
        "reportingInstance": "host",
        "firstTimestamp": "2000-01-01T00:00:00Z",
        "lastTimestamp": "2000-01-01T00:00:00Z",
        "count": 1,
    }


def test_events_of_cluster_scoped_objects_go_to_the_default_namespace() -> None:
    """REC-03, P-29"""
    recorder, published = _recorder()

    recorder.event(pod(namespace=""), WARNING, "Lost", "no heartbeat")

    assert published[0].metadata.namespace == "default"
    assert published[0].involved_object.namespace is None


def test_a_message_takes_arguments() -> None:
    """REC-01"""
    recorder, published = _recorder()

    recorder.eventf(pod(), NORMAL, "Scaled", "from %d to %d, 100%% done", 1, 2)

    assert published[0].message == "from 1 to 2, 100% done"


def test_a_message_without_arguments_is_taken_as_it_is() -> None:
    recorder, published = _recorder()

    recorder.event(pod(), NORMAL, "Full", "disk at 100%")

    assert published[0].message == "disk at 100%"


def test_annotations_reach_the_event() -> None:
    """REC-01"""
    recorder, published = _recorder()

    recorder.annotated_event(pod(), {"a": "b"}, NORMAL, "R", "m")

    assert published[0].metadata.annotations == {"a": "b"}


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((pod(), "normal", "R", "m"), "'Normal' or 'Warning'"),
        ((None, "Normal", "R", "m"), "can't be referred to"),
        ((object(), "Normal", "R", "m"), "does not say its kind"),
        ((pod(), "Normal", "R", "%d", "x"), "a real number"),
    ],
)
def test_what_cannot_be_recorded_is_logged_and_dropped(
    arguments: Any, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    """REC-01, REC-02"""
    recorder, published = _recorder()

    recorder.eventf(*arguments)

    assert published == []
    assert problem in caplog.text
    assert caplog.records[0].levelno == logging.ERROR


def test_another_logger_can_be_had_for_the_same_recorder(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """REC-01"""
    recorder, published = _recorder()

    other = recorder.with_logger(logging.getLogger("of.the.reconcile"))
    other.event(None, NORMAL, "R", "m")
    other.event(pod(), NORMAL, "R", "m")

    assert [record.name for record in caplog.records] == ["of.the.reconcile"]
    assert published[0].source == EventSource(component="comp", host="host")


def test_the_fake_remembers_lines() -> None:
    """REC-20, P-35"""
    fake = FakeRecorder()

    fake.event(pod(), NORMAL, "Synced", "all is well")
    fake.annotated_event(pod(), {"a": "b"}, WARNING, "Failed", "not so")

    assert fake.lines() == ["Normal Synced all is well", "Warning Failed not so"]
    assert fake.lines(with_object=True, with_annotations=True) == [
        "Normal Synced all is well {kind=Pod,apiVersion=v1}",
        "Warning Failed not so {kind=Pod,apiVersion=v1} {'a': 'b'}",
    ]


def test_the_fake_does_not_block_however_much_it_is_told() -> None:
    """P-35"""
    fake = FakeRecorder()

    for _ in range(5000):
        fake.event(pod(), NORMAL, "R", "m")

    assert len(fake.recorded) == 5000
