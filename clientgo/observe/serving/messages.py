"""The request that a server passes to a handler, and the handler's response."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Request:
    """One request. ``rest`` is the part of the path below the handler's, without outer slashes.

    Names of ``headers`` are in lower case. ``body`` is empty if it ``is_too_large``.
    """

    path: str
    rest: str = ""
    query: Mapping[str, list[str]] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: bytes = b""
    is_too_large: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """The answer to a request.

    A ``stream`` is sent after the ``body``, part by part, until it ends, the client closes the
    connection, or the server stops; then it is closed. The client and a stop are noticed when a
    part is sent, so a stream should give one every few seconds.
    """

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    stream: Generator[bytes, None, None] | None = None


Handler: TypeAlias = Callable[[Request], Response]
"""Answers requests, in several threads. If it raises, the answer is a 500 and the log says why."""

NOT_FOUND = Response(404, b"404 page not found\n")
