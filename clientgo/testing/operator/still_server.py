"""The embedded API server without its thread and its sockets: it answers in the caller's thread.

Promises everything that :class:`~clientgo.testcluster.server.EmbeddedAPIServer` does to a request,
since it is the same code: validation, versions, statuses apart, finalizers, server-side apply.
When a request has been answered, so has all that follows from it, as deletions by the garbage
collector.

Does not promise watches: nothing happens between two requests that one could tell of.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, Unpack
from urllib.parse import urlsplit

from urllib3 import HTTPHeaderDict

from clientgo.meta import APIResource
from clientgo.rest import Answer, Sending, whole_body
from clientgo.testcluster.server import Application, Cluster

_Parts: TypeAlias = tuple[int, HTTPHeaderDict, bytes]
"""Status, headers and body of an answer."""


class StillServer:
    """A transport that is its own server. Thread-safe; requests of several threads take turns.

    ``now`` is the wall clock of what is stamped on objects. Close it.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._cluster = Cluster(now)
        self._application = Application(self._cluster)
        self._loop.run_until_complete(self._cluster.begin("127.0.0.1", 443))

    @property
    def version(self) -> int:
        """The newest resource version; it grows with each change."""
        with self._lock:
            return self._cluster.state.storage.version

    def serves(self, kind: APIResource) -> bool:
        """Whether a kind is built in, or was defined."""
        return self._cluster.state.registry.find(kind.group, kind.version, kind.plural) is not None

    def send(self, method: str, url: str, **options: Unpack[Sending]) -> Answer:
        parts = urlsplit(url)
        if "watch=true" in parts.query.split("&"):
            raise NotImplementedError("nothing can be watched on a server without a thread")
        asked = [(name.lower(), value) for name, value in options["headers"].items()]
        scope = {
            "type": "http",
            "method": method,
            "raw_path": parts.path.encode("ascii"),
            "query_string": parts.query.encode(),
            "headers": [
                (name.encode(), value.encode("latin-1"))
                for name, value in asked
                if name != "accept-encoding"  # what never leaves the process need not be small
            ],
        }
        with self._lock:
            answer = self._complete(self._answer(scope, whole_body(options)))
        return _StillAnswer(method, url, *answer)

    def close(self) -> None:
        with self._lock:
            self._cluster.close()
            self._loop.close()

    def _complete(self, answer: Coroutine[Any, Any, _Parts]) -> _Parts:
        """Run a coroutine to its end, in another thread if this one is in an event loop."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return self._loop.run_until_complete(answer)
        with ThreadPoolExecutor(1, "still-server") as pool:
            return pool.submit(self._loop.run_until_complete, answer).result()

    async def _answer(self, scope: Mapping[str, Any], body: bytes) -> _Parts:
        messages: list[Mapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def send(message: Mapping[str, Any]) -> None:
            messages.append(message)

        await self._application(scope, receive, send)
        await self._cluster.settle()
        start = messages[0]
        headers = HTTPHeaderDict(
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]
        )
        return start["status"], headers, b"".join(m.get("body", b"") for m in messages[1:])


class _StillAnswer(Answer):
    """An answer that is there already."""

    __slots__ = ("_pieces",)

    def __init__(
        self, method: str, url: str, status: int, headers: HTTPHeaderDict, body: bytes
    ) -> None:
        super().__init__(method, url, status, headers)
        self._pieces = [body]

    def read_pieces(self, timeout: float | None = None) -> list[bytes]:
        pieces, self._pieces = self._pieces, []
        return pieces

    def abort(self) -> None:
        """Nothing blocks."""

    def close(self) -> None:
        """Nothing is open."""
