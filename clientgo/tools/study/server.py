"""The page over HTTP, on loopback only.

Promises: a request is answered only if its path begins with the token, it is addressed to this
server by a name of loopback, and no other site is its cause. So neither a page of another site nor
another user of the machine can see or do anything.

Does not promise TLS: the bytes do not leave the machine.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator, Mapping
from dataclasses import replace
from functools import cached_property
from hmac import compare_digest
from types import TracebackType
from typing import Any, Final, Self

from clientgo.observe.serving import NOT_FOUND, Request, Response, Server
from clientgo.tools.study.actions import described
from clientgo.tools.study.lessons.live import LiveLesson
from clientgo.tools.study.lessons.page import panel
from clientgo.tools.study.page import CONTENT_TYPES, asset, exported, index
from clientgo.tools.study.recording import Recording
from clientgo.tools.study.session import ActionError, Session
from clientgo.tools.study.token import page_token

_HEARTBEAT: Final = 1.0
"""Seconds between two parts of a stream at least, by which a closed page is noticed."""

_LAST_WORDS: Final = 2.0
"""Seconds in which the open pages are told that the program ends."""

_ALIVE: Final = "<!doctype html><title>clientgo study</title>"
"""What a page that has lost its program asks for."""

_OWN_SITES: Final = frozenset({"", "same-origin", "none"})
_JSON: Final = "application/json"


class PageServer:
    """Serves the page of a recording, which is live with a ``session``. A context manager.

    With a ``lesson`` of that session, the page plays it.
    """

    def __init__(
        self,
        recording: Recording,
        *,
        title: str,
        session: Session | None = None,
        lesson: LiveLesson | None = None,
        port: int = 0,
    ) -> None:
        self._recording = recording
        self._title = title
        self._session = session
        self._lesson = lesson
        self._streams = 0
        self._streams_changed = threading.Condition()
        self._server = Server(
            f"127.0.0.1:{port}",
            {"": self._respond},
            name="study",
            methods=("GET", "HEAD", "POST"),
        )

    @cached_property
    def _token(self) -> str:
        return page_token(self._server.bound[1])

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"{self._server.url}/{self._token}/"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._recording.close()  # ends the streams
        with self._streams_changed:  # a server that stops sends no more of them
            self._streams_changed.wait_for(lambda: self._streams == 0, _LAST_WORDS)
        self._server.stop()

    # Requests

    def _respond(self, request: Request) -> Response:
        token, _, rest = request.rest.partition("/")
        if not compare_digest(token.encode(), self._token.encode()):
            return NOT_FOUND
        request = replace(request, rest=rest)
        refusal = self._refusal(request.headers)
        if refusal is not None:
            return refusal
        if request.method == "POST":
            return self._change(request)
        return self._read(request)

    def _refusal(self, headers: Mapping[str, str]) -> Response | None:
        """Return the answer to a request that a page of another site has caused."""
        port = self._server.bound[1]
        host = headers.get("host", "")
        if host not in {f"{name}:{port}" for name in ("127.0.0.1", "localhost")}:
            return Response(421, b"this server is reached by its address on loopback only\n")
        origin = headers.get("origin", f"http://{host}")
        site = headers.get("sec-fetch-site", "")
        if origin != f"http://{host}" or site not in _OWN_SITES:
            return Response(403, b"pages of other sites can't use this server\n")
        return None

    def _read(self, request: Request) -> Response:
        name = request.rest
        if name == "":
            text = "" if self._lesson is None else panel(self._lesson.lesson)
            return _text(index(self._setup(), text), "html")
        if name == "alive":
            return _text(_ALIVE, "html")
        if name == "events":
            return Response(
                200, b"retry: 1000\n\n", "text/event-stream", self._events(_position(request))
            )
        if name in ("recording", "recording.jsonl"):
            return Response(200, self._recording.text(), "application/x-ndjson")
        if name == "export.html":
            return _text(exported(self._recording, self._title), "html")
        found = asset(name)
        return NOT_FOUND if found is None else _text(found, name.rpartition(".")[2])

    def _setup(self) -> dict[str, Any]:
        actions = [] if self._session is None else self._session.target.actions
        lesson = {} if self._lesson is None else {"lesson": {"run": self._lesson.new_number()}}
        return lesson | {
            "live": self._session is not None,
            "title": "clientgo study",
            "subtitle": self._title,
            "actions": [described(action) for action in actions],
        }

    def _events(self, position: int) -> Generator[bytes, None, None]:
        """Send the lines of the recording, and what is added, as server-sent events.

        After those that there are already comes ``now``.
        """
        session = self._session
        self._count_streams(1)
        if session is not None:
            session.joined(slow=self._lesson is None)
        after, timeout = b"event: now\ndata:\n\n", 0.0
        try:
            while True:
                part = self._recording.read(position, timeout)
                timeout = _HEARTBEAT
                position = part.end
                if not part.lines and self._recording.closed:
                    yield b"event: end\ndata:\n\n"
                    return
                lines = enumerate(part.lines, position - len(part.lines) + 1)
                yield b"".join(b"id: %d\ndata: %s\n\n" % line for line in lines) + after
                after = b":\n\n"
        finally:
            if session is not None:
                session.left()
            self._count_streams(-1)

    def _count_streams(self, change: int) -> None:
        with self._streams_changed:
            self._streams += change
            self._streams_changed.notify_all()

    # Changes

    def _change(self, request: Request) -> Response:
        session = self._session
        if session is None:
            return _json(409, {"message": "this is a recording: nothing can be changed"})
        if request.headers.get("content-type") != _JSON:
            return _json(415, {"message": f"send {_JSON}"})
        try:
            asked = json.loads(request.body)
            return _json(200, self._do(session, request.rest, asked))
        except ActionError as error:
            # No failed request: a browser would write it to the console.
            return _json(200, {"message": str(error), "refused": True})
        except (KeyError, TypeError, ValueError) as error:
            return _json(400, {"message": f"this can't be done: {error}"})

    def _do(self, session: Session, what: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        if what == "pace":
            session.pace(asked["mode"])
            return {}
        if what == "step":
            held = session.step(asked.get("number"))
            return {} if held is not None else {"message": "no thread waits at a boundary"}
        if what == "act":
            return {"message": session.act(asked["action"], str(asked.get("key") or "")).message}
        if what == "lesson" and self._lesson is not None:
            if "begin" in asked:
                self._lesson.begin(int(asked["begin"]))
            else:
                self._lesson.answer()
            return {}
        raise ValueError(f"nothing is called {what!r}")


def _position(request: Request) -> int:
    last = request.headers.get("last-event-id", "0")
    return int(last) if last.isdecimal() else 0


def _text(text: str, kind: str) -> Response:
    return Response(200, text.encode(), CONTENT_TYPES[kind])


def _json(status: int, value: Mapping[str, Any]) -> Response:
    return Response(status, json.dumps(value).encode(), _JSON)
