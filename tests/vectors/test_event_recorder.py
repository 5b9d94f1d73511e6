"""What a recorder is told reaches the sink as with client-go, call by call."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from clientgo.api.core_v1 import Event
from clientgo.meta import (
    AlreadyExistsError,
    ForbiddenError,
    InternalServerError,
    NotFoundError,
    deep_copy,
)
from clientgo.record import CorrelatorOptions, EventBroadcaster, EventWatch
from clientgo.testing import FakeClock
from tests.vectors.loader import params
from tests.vectors.test_event_correlator import assert_same_event_name

_ANSWERS: dict[str, Exception] = {
    "not_found": NotFoundError.of("no such event"),
    "already_exists": AlreadyExistsError.of("there is one"),
    "forbidden": ForbiddenError.of("not you"),
    "server_error": InternalServerError.of("oops"),
    "transport": ConnectionResetError("connection reset"),
    "construction": ValueError("not a URL"),
}
_OPTIONS = {"burst_size": "burst", "qps": "qps", "max_events": "max_events"}


class ScriptedSink:
    """Notes every call, and answers it as scripted; ``ok`` when the script is over."""

    def __init__(self) -> None:
        self.answers: list[str] = []
        self._calls: list[dict[str, Any]] = []
        self._version = 0

    def create(self, event: Event) -> Event:
        return self._answer(event, {"verb": "create"})

    def patch(self, event: Event, patch: Mapping[str, Any]) -> Event:
        return self._answer(event, {"verb": "patch", "patch": dict(patch)})

    def take_calls(self) -> list[dict[str, Any]]:
        calls, self._calls = self._calls, []
        return calls

    def _answer(self, event: Event, call: dict[str, Any]) -> Event:
        answer = self.answers.pop(0) if self.answers else "ok"
        call |= {
            "answer": answer,
            "count": event.count,
            "message": event.message,
            "name": event.metadata.name,
            "namespace": event.metadata.namespace,
            "reason": event.reason,
            "resource_version": event.metadata.resource_version,
            "type": event.type,
        }
        self._calls.append(call)
        if answer != "ok":
            raise _ANSWERS[answer]
        self._version += 1
        written = deep_copy(event)
        written.metadata.resource_version = str(self._version)
        return written


class Scene(EventBroadcaster):
    """A broadcaster on a fake clock that knows when its sink's thread has come to rest."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.time = SleepyClock()
        options = {_OPTIONS[key]: value for key, value in config.items() if key in _OPTIONS}
        super().__init__(
            clock=self.time,
            correlator=CorrelatorOptions(**options),
            retry_interval=config["sleep_duration_ns"] / 1e9,
        )
        self.outstanding = 0
        self._lock_outstanding = threading.Lock()

    def start_event_watcher(
        self, handler: Callable[[Event], object], *, name: str = "", threads: int = 1
    ) -> EventWatch:
        def handle(event: Event) -> None:
            handler(event)
            with self._lock_outstanding:
                self.outstanding -= 1
            self.time.moved.set()

        return super().start_event_watcher(handle, name=name, threads=threads)

    def publish(self, event: Event) -> None:
        if not self._stopping.is_set():
            with self._lock_outstanding:
                self.outstanding += 1
        super().publish(event)

    def settle(self) -> None:
        """Wait until every event is dealt with, or the sink's thread sleeps before a retry."""
        while self.outstanding and not self.time.asleep:
            assert self.time.moved.wait(30), "the sink's thread neither ended its work nor slept"
            self.time.moved.clear()

    def advance(self, seconds: float) -> None:
        """Move the clock from one end of a sleep to the next."""
        target = self.time.monotonic() + seconds
        while self.time.asleep:
            self.time.wait_for_waiters()
            deadline = self.time.next_deadline()
            if deadline is None or deadline > target:
                break
            self.time.asleep = False
            self.time.step(deadline - self.time.monotonic())
            self.settle()
        self.time.step(target - self.time.monotonic())


class SleepyClock(FakeClock):
    """Tells when somebody sleeps; who steps it to the sleep's end says that nobody does."""

    def __init__(self) -> None:
        super().__init__()
        self.asleep = False
        self.moved = threading.Event()

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        self.asleep = seconds > 0
        self.moved.set()
        return super().sleep(seconds, stop)


@pytest.mark.parametrize("case", params("event_recorder"))
def test_the_recorder_behaves_as_recorded(case: dict[str, Any]) -> None:
    config = case["config"]
    sink = ScriptedSink()
    scene = Scene(config)
    scene.start_recording_to_sink(sink)
    recorder = scene.new_recorder(config["source"]["component"], config["source"]["host"])

    try:
        for step in case["steps"]:
            args = step.get("args", {})
            match step["op"]:
                case "script_sink":
                    sink.answers = list(args["answers"])
                case "event":
                    recorder.event(
                        args["object"], args["event_type"], args["reason"], args["message"]
                    )
                case "advance":
                    scene.advance(args["ns"] / 1e9)
                case "shutdown":
                    scene.shutdown()
                case other:
                    pytest.fail(f"unknown operation {other}")
            scene.settle()
            if "sink_calls" in step["expect"]:
                assert_same_calls(sink.take_calls(), step["expect"]["sink_calls"])
    finally:
        scene.shutdown()


def assert_same_calls(calls: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    assert len(calls) == len(expected), (calls, expected)
    for call, expected_call in zip(calls, expected, strict=True):
        assert_same_event_name(call.pop("name"), expected_call.pop("name"))
        assert call == expected_call
