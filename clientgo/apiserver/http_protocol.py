"""The HTTP/1.1 protocol of uvicorn, with its connection within reach.

Promises: a request can be followed to the connection it came by, which is where an answer can be
cut between any two bytes.
"""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from clientgo.apiserver.http import CONNECTION


class HttpProtocol(HttpToolsProtocol):
    """Tells the application of its connection, as an ASGI extension."""

    def on_message_begin(self) -> None:
        """A request begins: describe it."""
        super().on_message_begin()
        self.scope["extensions"] = {CONNECTION: self.transport}  # type: ignore[dict-item]
