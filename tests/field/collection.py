"""One collection of a scripted API server, whose lists and watches misbehave separately."""

from __future__ import annotations

import select
import socket
import threading
import time
from dataclasses import dataclass
from typing import Any

from clientgo.testing.scripted_server import (
    Answer,
    RecordedRequest,
    Script,
    ScriptedServer,
    answer_json,
    answer_status,
    stay_silent,
    watch_begin,
    watch_end,
    watch_events,
)
from tests.field.objects import listing


@dataclass(frozen=True, slots=True)
class Seen:
    """A request and when it came in, on the scale of ``time.monotonic``."""

    request: RecordedRequest
    at: float


class Collection:
    """Answers lists, watches and streamed lists below one path, each in turn by their own script.

    The last answer of each stays. Streamed lists are refused unless scripted, as by a server that
    does not know them. ``changed`` is notified of every request.
    """

    def __init__(self, server: ScriptedServer, path: str, changed: threading.Condition) -> None:
        self._changed = changed
        self._answers: dict[str, list[Answer]] = {
            "list": [answer_json(listing())],
            "watch": [open_watch()],
            "stream": [answer_status(422, "Invalid", "sendInitialEvents: Forbidden")],
        }
        self._seen: dict[str, list[Seen]] = {"list": [], "watch": [], "stream": []}
        server.on(path, self._answer)

    def on_list(self, *answers: Answer) -> None:
        self._script("list", answers)

    def on_watch(self, *answers: Answer) -> None:
        self._script("watch", answers)

    def on_stream(self, *answers: Answer) -> None:
        """Script the watches that begin with the existing objects."""
        self._script("stream", answers)

    @property
    def lists(self) -> list[Seen]:
        return self._recorded("list")

    @property
    def watches(self) -> list[Seen]:
        return self._recorded("watch")

    @property
    def streams(self) -> list[Seen]:
        return self._recorded("stream")

    @property
    def requests(self) -> int:
        """How many there were of all kinds."""
        with self._changed:
            return sum(map(len, self._seen.values()))

    def _script(self, verb: str, answers: tuple[Answer, ...]) -> None:
        with self._changed:
            self._answers[verb] = list(answers)

    def _recorded(self, verb: str) -> list[Seen]:
        with self._changed:
            return list(self._seen[verb])

    def _answer(self, request: RecordedRequest) -> Script:
        verb = _verb(request)
        with self._changed:
            self._seen[verb].append(Seen(request, time.monotonic()))
            answers = self._answers[verb]
            chosen = answers.pop(0) if len(answers) > 1 else answers[0]
            self._changed.notify_all()
        return chosen(request) if callable(chosen) else chosen


def open_watch(*events: Any) -> Script:
    """A watch that says this and then nothing, for as long as the client likes."""
    return [*watch_begin(), *watch_events(*events), *stay_silent()]


def short_watch(*events: Any) -> Script:
    """A watch that says this and ends."""
    return [*watch_begin(), *watch_events(*events), *watch_end()]


def forgetful_watch(kept: int, refusal: Script) -> Answer:
    """An open watch from the only version that the server still has, a refusal from others."""

    def watch(request: RecordedRequest) -> Script:
        return open_watch() if request.query.get("resourceVersion") == str(kept) else refusal

    return watch


def stay_for(seconds: float) -> Script:
    """Say nothing for a while, as a proxy does that ends each connection at a certain age."""

    def wait(sock: socket.socket) -> None:
        select.select([sock], [], [], seconds)

    return [wait]


def _verb(request: RecordedRequest) -> str:
    if request.query.get("watch", "").lower() != "true":
        return "list"
    return "stream" if request.query.get("sendInitialEvents") == "true" else "watch"
