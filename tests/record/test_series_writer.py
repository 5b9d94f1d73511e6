"""Series are kept up to date on the server."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clientgo.api.events_v1 import Event
from clientgo.meta import AlreadyExistsError, ForbiddenError, NotFoundError, deep_copy
from clientgo.record.series.series_cache import SeriesCache
from clientgo.record.series.series_writer import SeriesWriter
from clientgo.testing import AutoClock
from tests.record.test_series_cache import series_event


class SeriesListSink:
    """Remembers the verbs; ``answers`` are raised, or None is, in turn, then all is well."""

    def __init__(self, *answers: Exception | None) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, Any]] = []
        self._lock = threading.Lock()
        self.before: Callable[[], None] = lambda: None

    def create(self, event: Event) -> Event:
        return self._answer("create", event, event.note)

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        return self._answer("patch", event, patch["series"]["count"])

    @property
    def verbs(self) -> list[str]:
        return [verb for verb, _ in self.calls]

    def _answer(self, verb: str, event: Event, detail: Any) -> Event:
        self.before()
        with self._lock:
            self.calls.append((verb, detail))
            answer = self.answers.pop(0) if self.answers else None
        if answer is not None:
            raise answer
        stored = deep_copy(event)
        stored.metadata.resource_version = "9"
        return stored


class _Scene:
    def __init__(self, *answers: Exception | None) -> None:
        self.clock = AutoClock()
        self.sink = SeriesListSink(*answers)
        self.cache = SeriesCache(clock=self.clock)
        self.stopping = threading.Event()
        self.writer = SeriesWriter(
            self.sink,
            self.cache,
            stopping=self.stopping,
            retry_interval=10.0,
            clock=self.clock,
            random=lambda: 0.5,
        )

    def record(self, note: str = "n") -> None:
        event = self.cache.observe(series_event(note))
        if event is not None:
            self.writer.write(event)


def test_an_event_is_created_and_its_series_patched_in() -> None:
    """EVT-03"""
    scene = _Scene()

    for note in ("a", "b", "c"):
        scene.record(note)

    assert scene.sink.calls == [("create", "a"), ("patch", 2)]
    assert (scene.writer.written, scene.writer.given_up) == (2, 0)


def test_no_answer_is_tried_twelve_times_with_jittered_pauses() -> None:
    """EVT-05"""
    scene = _Scene(*[ConnectionResetError()] * 20)

    scene.record()

    assert len(scene.sink.calls) == 12
    assert scene.clock.monotonic() == 11 * 10 * 1.125
    assert scene.writer.given_up == 1


def test_a_refusal_is_final() -> None:
    """EVT-06"""
    scene = _Scene(ForbiddenError.of("not you"))

    scene.record()

    assert scene.sink.verbs == ["create"]


def test_a_series_whose_event_is_gone_is_created_anew() -> None:
    """EVT-06"""
    scene = _Scene(None, NotFoundError.of("expired"))
    scene.record()

    scene.record()

    assert scene.sink.verbs == ["create", "patch", "create"]


def test_a_series_that_is_overtaken_by_its_own_first_event_is_tried_again() -> None:
    """EVT-06"""
    scene = _Scene(None, NotFoundError.of("not yet"), AlreadyExistsError.of("just now"))
    scene.record()

    scene.record()

    assert scene.sink.verbs == ["create", "patch", "create", "patch"]
    assert scene.writer.written == 2


def test_a_series_that_is_overtaken_by_its_own_first_event_is_written_after_a_stop() -> None:
    """EVT-06"""
    scene = _Scene(None, NotFoundError.of("not yet"), AlreadyExistsError.of("just now"))
    scene.record()
    scene.stopping.set()

    scene.record()

    assert scene.writer.written == 2


def test_a_series_that_ended_is_written_once_more_and_forgotten() -> None:
    """EVT-07"""
    scene = _Scene()
    for _ in range(5):
        scene.record()
    scene.clock.step(361)

    scene.writer.finish()
    scene.writer.finish()

    assert scene.sink.calls == [("create", "n"), ("patch", 2), ("patch", 5)]
    assert scene.cache.series() == []


def test_a_series_whose_end_gets_no_answer_is_kept_for_the_next_time() -> None:
    """EVT-07"""
    scene = _Scene(None, None, ConnectionResetError())
    scene.record()
    scene.record()
    scene.clock.step(361)

    scene.writer.finish()
    kept = scene.cache.series()
    scene.writer.finish()

    assert len(kept) == 1
    assert scene.cache.series() == []


def test_a_series_that_goes_on_is_refreshed_and_takes_the_servers_copy() -> None:
    """EVT-08"""
    scene = _Scene()
    for _ in range(4):
        scene.record()

    scene.writer.refresh()

    assert scene.sink.calls[-1] == ("patch", 4)
    assert scene.cache.series()[0].event.metadata.resource_version == "9"


def test_a_series_that_could_not_be_refreshed_is_kept() -> None:
    """EVT-08"""
    scene = _Scene(None, None, ForbiddenError.of("not you"))
    scene.record()
    scene.record()

    scene.writer.refresh()

    assert len(scene.cache.series()) == 1


@pytest.mark.parametrize(
    "write",
    [
        lambda scene: scene.writer.write(series_event()),
        lambda scene: scene.writer.refresh(),
    ],
    ids=["an event", "a series"],
)
def test_recording_goes_on_while_something_is_being_written(
    write: Callable[[_Scene], None],
) -> None:
    """EVT-09"""
    scene, recorded = _Scene(), threading.Event()
    scene.record()
    scene.record()

    def record() -> None:
        scene.cache.observe(series_event())
        recorded.set()

    def record_in_another_thread() -> None:
        threading.Thread(target=record, daemon=True).start()
        assert recorded.wait(30)

    scene.sink.before = record_in_another_thread
    write(scene)

    assert recorded.is_set()
    assert [s.event.series.count for s in scene.cache.series() if s.event.series] == [3]
