"""A server whose every answer is a step of a recorded case, and a clock that knows who rests."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import msgspec

from clientgo.cache import ListerWatcher
from clientgo.meta import (
    EventType,
    ListMeta,
    ListOptions,
    ObjectList,
    Status,
    Unstructured,
    WatchEvent,
    error_from_status,
)
from clientgo.testing import FakeClock
from clientgo.util.clock import nanoseconds
from clientgo.util.wait import call_when_set


class StoppedError(Exception):
    """What a call raises that was under way when its stop was set."""


class RestClock(FakeClock):
    """Knows when every thread that began after it was made waits on it."""

    def __init__(self) -> None:
        super().__init__()
        self._others = set(threading.enumerate())

    def threads(self) -> list[threading.Thread]:
        """Those that the case has started."""
        return [
            thread
            for thread in threading.enumerate()
            if thread not in self._others and thread.name != "stop-watcher"
        ]

    def everybody_waits(self) -> bool:
        with self._changed:
            return len(self._waits) == len(self.threads())

    def poke(self) -> None:
        """Let whoever waits for rest look again."""
        with self._changed:
            self._changes += 1
            self._changed.notify_all()


class ScriptedStream:
    """A watch that brings what the case sends."""

    def __init__(self, source: ScriptedSource, number: int) -> None:
        self._source = source
        self._number = number
        self.events: list[WatchEvent[Any]] = []
        self.is_closed = False
        self._is_being_read = False

    def is_read_up(self) -> bool:
        """Whether its reader has seen all that it brings, its end included, or left it."""
        if self._is_being_read:
            return not (self.events or self.is_closed)
        return not self.events or self._number in self._source.stopped

    def read(self) -> Sequence[WatchEvent[Any]]:
        source = self._source
        with source.changed:
            self._is_being_read = True
            while not self.events and not self.is_closed:
                source.clock.wait(source.changed, None)
            self._is_being_read = False
            events, self.events = self.events, []
            return events

    def stop(self) -> None:
        source = self._source
        with source.changed:
            self.is_closed = True
            if self._number not in source.stopped:
                source.stopped.append(self._number)
                source.stopped_now.append(self._number)
            source.changed.notify_all()


class ScriptedSource(ListerWatcher[Unstructured]):
    """Blocks every list and watch until a step answers it."""

    supports_watch_list = True

    def __init__(self, clock: RestClock) -> None:
        self.clock = clock
        self.changed = threading.Condition()
        self.calls: list[dict[str, Any]] = []
        self.pending: str | None = None
        self.stopped: list[int] = []
        self.stopped_now: list[int] = []
        self._answer: Any = None
        self._stream: ScriptedStream | None = None

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Unstructured]:
        return self._call("list", options, stop)

    def watch(self, options: ListOptions, stop: threading.Event) -> ScriptedStream:
        return self._call("watch", options, stop)

    def nothing_is_under_way(self) -> bool:
        """Whether all that was answered and sent has been taken."""
        with self.changed:
            return self._answer is None and (self._stream is None or self._stream.is_read_up())

    def apply(self, op: str, args: dict[str, Any]) -> bool:
        """Answer or send what a step says; False if the step is none of these."""
        with self.changed:
            match op:
                case "respond_list":
                    self._answer = _list_of(args)
                case "respond_watch":
                    self._stream = ScriptedStream(self, args["watch"])
                    self._answer = self._stream
                case "respond_error":
                    self._answer = _error_of(args["error"])
                case "send":
                    self._send([args])
                case "send_many":
                    self._send(args["events"])
                case "close_watch":
                    assert self._stream is not None
                    self._stream.is_closed = True
                case _:
                    return False
            self.changed.notify_all()
        return True

    def _wake(self) -> None:
        with self.changed:
            self.changed.notify_all()

    def _send(self, events: list[dict[str, Any]]) -> None:
        assert self._stream is not None
        self._stream.events.extend(event_of(event) for event in events)

    def _call(self, verb: str, options: ListOptions, stop: threading.Event) -> Any:
        with self.changed:
            self.calls.append(_call_as_recorded(verb, options, self.clock))
            self.pending = verb
        registration = call_when_set(stop, self._wake)
        with self.changed:
            while self._answer is None and not stop.is_set():
                self.clock.wait(self.changed, None)
            answer, self._answer, self.pending = self._answer, None, None
        registration.cancel()
        if answer is None:
            raise StoppedError
        if isinstance(answer, Exception):
            raise answer
        return answer


def event_of(recorded: dict[str, Any]) -> WatchEvent[Any]:
    if recorded["type"] == EventType.ERROR:
        return WatchEvent(recorded["type"], msgspec.convert(recorded["object"], Status))
    return WatchEvent(recorded["type"], Unstructured.from_dict(recorded["object"]))


def _call_as_recorded(verb: str, options: ListOptions, clock: FakeClock) -> dict[str, Any]:
    asked: dict[str, Any] = {
        "resource_version": options.resource_version,
        "resource_version_match": options.resource_version_match,
        "limit": options.limit,
        "continue": options.continue_,
        "allow_watch_bookmarks": options.allow_watch_bookmarks,
        "send_initial_events": options.send_initial_events,
        "timeout_seconds": options.timeout_seconds,
    }
    return {
        "verb": verb,
        "at_ns": nanoseconds(clock.monotonic()),
        "options": {name: value for name, value in asked.items() if value},
    }


def _list_of(args: dict[str, Any]) -> ObjectList[Unstructured]:
    return ObjectList(
        metadata=ListMeta(
            resource_version=args["resource_version"], continue_=args.get("continue", "")
        ),
        items=[Unstructured.from_dict(item) for item in args["items"]],
    )


def _error_of(recorded: dict[str, Any]) -> Exception:
    if "status" in recorded:
        return error_from_status(msgspec.convert(recorded["status"], Status))
    if recorded.get("connection_refused"):
        return ConnectionRefusedError("connection refused")
    return RuntimeError(recorded["plain"])


def check_calls(seen: list[dict[str, Any]], expected: list[dict[str, Any]], *, times: bool) -> None:
    """Compare calls; a timeout must lie in its recorded range."""
    assert len(seen) == len(expected), (seen, expected)
    for call, recorded in zip(seen, expected, strict=True):
        options, asked = dict(call["options"]), dict(recorded["options"])
        if "timeout_seconds_between" in asked:
            low, high = asked.pop("timeout_seconds_between")
            assert low <= options.pop("timeout_seconds") <= high
        assert (call["verb"], options) == (recorded["verb"], asked)
        if times:
            assert call["at_ns"] == recorded["at_ns"]
