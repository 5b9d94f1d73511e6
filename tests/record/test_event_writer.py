"""Events are written once, and tried again only while there is no answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

import pytest

from clientgo.meta import (
    AlreadyExistsError,
    DecodeError,
    NotFoundError,
    Status,
    StatusCause,
    StatusDetails,
    StatusError,
    TooManyRequestsError,
)
from clientgo.record import EventCorrelator
from clientgo.record.event_writer import EventWriter
from clientgo.testing import AutoClock
from tests.record.builders import ListSink, event


class _Scene:
    def __init__(self, fail: Callable[[], None] = lambda: None) -> None:
        self.clock = AutoClock()
        self.sink = ListSink(fail)
        self.stopping = threading.Event()
        self.writer = EventWriter(
            self.sink,
            EventCorrelator(clock=self.clock),
            stopping=self.stopping,
            clock=self.clock,
            random=lambda: 0.5,
        )

    @property
    def outcome(self) -> tuple[int, int]:
        statistics = self.writer.statistics()
        return statistics.written, statistics.given_up


def _raise(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


def _fail_first(count: int, error: Exception) -> Callable[[], None]:
    left = [error] * count

    def fail() -> None:
        if left:
            raise left.pop()

    return fail


def test_an_event_is_created_and_its_repetition_patched() -> None:
    """REC-07"""
    scene = _Scene()

    scene.writer.write(event())
    scene.writer.write(event())

    assert scene.sink.messages == ["m"]
    assert [patch["count"] for _, patch in scene.sink.patched] == [2]
    assert scene.outcome == (2, 0)


def test_an_event_that_expired_on_the_server_is_created_anew_without_its_version() -> None:
    """REC-07"""
    scene = _Scene()
    scene.writer.write(event(resource_version="5"))
    scene.sink._fail = _fail_first(1, NotFoundError.of("gone"))

    scene.writer.write(event())

    created = scene.sink.created[1]
    assert (created.count, created.metadata.resource_version) == (2, "")


@pytest.mark.parametrize(
    "error", [TooManyRequestsError.of("slow down"), ValueError("not a URL"), TypeError("no event")]
)
def test_a_refusal_or_an_unsendable_event_is_final(error: Exception) -> None:
    """REC-08"""
    scene = _Scene(_raise(error))

    scene.writer.write(event())

    assert scene.sink.tries == 1
    assert scene.outcome == (0, 1)


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), DecodeError("no event")])
def test_no_answer_is_tried_again(error: Exception) -> None:
    """REC-08"""
    scene = _Scene(_fail_first(1, error))

    scene.writer.write(event())

    assert scene.sink.tries == 2
    assert scene.outcome == (1, 0)


def test_an_event_whose_answer_was_lost_counts_as_written() -> None:
    """The next try is told that the event exists."""
    errors: list[Exception] = [AlreadyExistsError.of("there"), ConnectionResetError()]

    def fail() -> None:
        if errors:
            raise errors.pop()

    scene = _Scene(fail)
    scene.writer.write(event())
    assert scene.outcome == (1, 0)


def test_it_is_tried_twelve_times_with_ten_seconds_between() -> None:
    """REC-09"""
    scene = _Scene(_raise(ConnectionResetError()))

    scene.writer.write(event())

    assert scene.sink.tries == 12
    assert scene.clock.monotonic() == 0.5 * 10 + 10 * 10
    assert scene.outcome == (0, 1)


def test_while_stopping_an_event_gets_a_single_try() -> None:
    """REC-10"""
    scene = _Scene(_raise(ConnectionResetError()))
    scene.stopping.set()

    scene.writer.write(event())

    assert scene.sink.tries == 1


def _terminating() -> StatusError:
    details = StatusDetails(causes=[StatusCause(reason="NamespaceTerminating")])
    return StatusError(Status(reason="Forbidden", code=403, details=details))


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (AlreadyExistsError.of("there is one"), logging.DEBUG),
        (_terminating(), logging.DEBUG),
        (TooManyRequestsError.of("slow down"), logging.ERROR),
    ],
)
def test_refusals_that_are_part_of_life_are_not_logged_as_errors(
    error: StatusError, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """REC-08"""
    caplog.set_level(logging.DEBUG)

    _Scene(_raise(error)).writer.write(event())

    assert [record.levelno for record in caplog.records] == [level]


def test_a_silenced_event_is_not_written_but_said_at_debug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """REC-17, P-24"""
    caplog.set_level(logging.DEBUG)
    scene = _Scene()

    for _ in range(26):
        scene.writer.write(event())

    assert scene.sink.tries == 25
    assert "used up its budget: Normal R of Pod ns/p" in caplog.text
