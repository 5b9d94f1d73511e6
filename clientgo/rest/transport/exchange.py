"""What a client needs from a transport: one response for each request.

:class:`~clientgo.rest.HTTPTransport` has connections to a server, the fake client of
:mod:`clientgo.testing` has objects in memory. The layers above work on either.

In client-go this is Go's `http.RoundTripper`.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Protocol, Required, Self, TypeAlias, TypedDict, Unpack

from urllib3 import HTTPHeaderDict

from clientgo.rest.errors import TransportError
from clientgo.util.copies import uncopyable

if TYPE_CHECKING:
    from clientgo.rest.transport.upgraded import UpgradedConnection

Headers: TypeAlias = dict[str, str] | HTTPHeaderDict
"""The second where a header is there several times."""

RequestBody: TypeAlias = bytes | Iterable[bytes] | None
"""What is sent: bytes, or something that can be read once, as an open file."""


@uncopyable("it has connections to a server; make one in each process")
class Answer(ABC):
    """The beginning of an answer, with the body still to be read. For one thread at a time.

    The caller must call :meth:`close` (or use it as a context manager).
    """

    __slots__ = ("headers", "method", "status", "url")

    def __init__(self, method: str, url: str, status: int, headers: HTTPHeaderDict) -> None:
        self.method = method
        self.url = url
        self.status = status
        self.headers = headers

    def __iter__(self) -> Iterator[bytes]:
        """Iterate over the rest of the body as it arrives; raises as :meth:`read` does."""
        return iter(self.read, b"")

    def read(self, timeout: float | None = None) -> bytes:
        """Return what arrives next, within ``timeout`` seconds; empty at the end.

        Raises :class:`~clientgo.rest.errors.TransportError`.
        """
        return b"".join(self.read_pieces(timeout))

    @abstractmethod
    def read_pieces(self, timeout: float | None = None) -> list[bytes]:
        """Like :meth:`read`, in pieces as the server cut them where it did, and none at the end.

        An API server sends each event of a watch as a piece of its own.
        """

    def upgraded(self) -> UpgradedConnection:
        """Return the connection that is left after a switch of protocols (101).

        Raises :class:`~clientgo.rest.errors.TransportError` if there is none.
        """
        raise TransportError(
            self.method,
            self.url,
            f"HTTP {self.status} came in place of 101 Switching Protocols; does a proxy or gateway "
            "between remove the Upgrade header?",
        )

    @abstractmethod
    def abort(self) -> None:
        """End a blocked read, from any thread."""

    @abstractmethod
    def close(self) -> None:
        """Give back what the answer holds; end a blocked read of another thread. Idempotent."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@uncopyable("it has connections to a server; make one in each process")
class Sending(TypedDict, total=False):
    """The arguments of :meth:`Transport.send`. ``stop`` cuts off the request and the reading of
    its answer."""

    headers: Required[Headers]
    body: RequestBody
    read_timeout: float | None
    stop: threading.Event | None


class Transport(Protocol):
    """Carries requests to one server. Thread-safe."""

    def send(self, method: str, url: str, **options: Unpack[Sending]) -> Answer:
        """Send a request and return when the headers of its answer are there.

        Blocks; raises :class:`~clientgo.rest.errors.TransportError`.
        """

    def close(self) -> None:
        """Close idle connections; running requests are not affected."""


def whole_body(options: Sending) -> bytes:
    """Return the body of a request; read it, if it comes in pieces."""
    body = options.get("body")
    return body if isinstance(body, bytes) else b"".join(body or ())
