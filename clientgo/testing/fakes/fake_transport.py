"""A transport without a network: requests become actions, what answers them becomes bytes.

Promises that everything a :class:`~clientgo.client.Client` does goes through here, built, encoded
and decoded by the same code as for a real server, so that an object which cannot be sent, or an
answer which does not decode, fails here as well.

Does not promise what belongs to HTTP: there are no headers, no codes, no connections to lose. What
a reactor raises arrives as it was raised.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Any, Unpack

import msgspec
from urllib3 import HTTPHeaderDict

from clientgo.cache import WatchStream
from clientgo.meta import ObjectList, Status, WatchEvent, to_plain
from clientgo.rest import Answer, Sending, whole_body
from clientgo.testing.fakes.actions import Action, action_of
from clientgo.util.wait import call_when_set


class FakeTransport:
    """Hands every request to ``react``, on the caller's thread; thread-safe if that is.

    ``react`` returns what a :data:`~clientgo.testing.fakes.reactors.Reactor` may answer with.
    """

    def __init__(self, react: Callable[[Action], Any]) -> None:
        self._react = react

    def send(self, method: str, url: str, **options: Unpack[Sending]) -> Answer:
        content_type = options["headers"].get("Content-Type", "")
        answer = self._react(action_of(method, url, whole_body(options), content_type))
        if isinstance(answer, WatchStream):
            return _WatchAnswer(method, url, answer, options.get("stop"))
        return _WholeAnswer(method, url, msgspec.json.encode(_plain(answer)))

    def close(self) -> None:
        """There is nothing to let go of."""


class _FakeAnswer(Answer):
    """An answer without a connection; refusals are raised instead."""

    __slots__ = ()

    def __init__(self, method: str, url: str) -> None:
        super().__init__(method, url, HTTPStatus.OK, HTTPHeaderDict())


class _WholeAnswer(_FakeAnswer):
    __slots__ = ("_pieces",)

    def __init__(self, method: str, url: str, body: bytes) -> None:
        super().__init__(method, url)
        self._pieces = [body]

    def read_pieces(self, timeout: float | None = None) -> list[bytes]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def abort(self) -> None:
        """Nothing blocks."""

    def close(self) -> None:
        """Nothing is open."""


class _WatchAnswer(_FakeAnswer):
    """The events of a stream as lines. It lasts as long as its stream, whatever its timeout."""

    __slots__ = ("_registration", "_stream")

    def __init__(
        self, method: str, url: str, stream: WatchStream, stop: threading.Event | None
    ) -> None:
        super().__init__(method, url)
        self._stream = stream
        self._registration = None if stop is None else call_when_set(stop, stream.stop)

    def read_pieces(self, timeout: float | None = None) -> list[bytes]:
        return [_line(event) for event in self._stream.read()]

    def abort(self) -> None:
        self._stream.stop()

    def close(self) -> None:
        if self._registration is not None:
            self._registration.cancel()
        self._stream.stop()


def _line(event: WatchEvent[Any]) -> bytes:
    return msgspec.json.encode({"type": event.type, "object": _plain(event.object)}) + b"\n"


def _plain(answer: Any) -> Any:
    """An answer as it goes over the wire."""
    if isinstance(answer, Status):
        return answer
    if isinstance(answer, ObjectList):
        return {"metadata": answer.metadata, "items": [to_plain(obj) for obj in answer.items]}
    if isinstance(answer, Sequence):
        return {"metadata": {}, "items": [to_plain(obj) for obj in answer]}
    return to_plain(answer)
