"""Calling a webhook: one HTTPS request on the event loop.

Promises: a call ends within its timeout, whatever the other side does. One deadline is for all of
it: the name, the connection, the TLS handshake, header and body. Every failure is one error with a
reason.

Upstream: apiserver ``util/webhook``.
"""

from __future__ import annotations

import asyncio
import base64
import http.client
import posixpath
import socket
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

from clientgo.testcluster.server.http.webhook_exchange import Destination, post
from clientgo.testcluster.server.storage.deep_values import decode_any, encode
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.certificates import client_context
from clientgo.util.text.percent_encoding import escape, unescape

_NAME_LOOKUPS = 16
"""Names that are looked up at the same time. A lookup can't be cancelled, so it has a thread."""


class WebhookCallError(Exception):
    """The webhook could not be called, or its response can't be read."""


class WebhookClient:
    """Posts reviews to webhooks; ``name`` is that of its threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lookups: ThreadPoolExecutor | None = None

    async def post(
        self, client_config: Mapping[str, Any], review: Object, timeout: float, max_answer: int
    ) -> Object:
        """Send a review and return the review in the answer, of at most ``max_answer`` bytes.

        ``timeout``, in seconds, is for the whole call.

        Raises:
            WebhookCallError: no connection, or no answer that can be read in time.
        """
        url = client_config.get("url")
        if url is None:
            service = client_config["service"]
            where = f"{service.get('namespace')}/{service.get('name')}"
            raise WebhookCallError(f"service {where} can't be reached: there is no cluster network")
        address = f"{_cleaned(url)}?timeout={timeout:g}s"
        try:
            async with asyncio.timeout(timeout) as deadline:
                trust = await asyncio.to_thread(_trust, client_config.get("caBundle"))
                destination = Destination.parse(address)
                ips = await self._addresses(destination)
                status, answer = await post(destination, ips, trust, encode(review), max_answer)
                if status == http.HTTPStatus.OK:
                    return await asyncio.to_thread(_review_in, answer)
        except (http.client.HTTPException, EOFError, OSError, ValueError) as error:
            problem = "context deadline exceeded" if deadline.expired() else error
            raise WebhookCallError(f'Post "{address}": {problem}') from error
        raise WebhookCallError(f'Post "{address}": it answered with status {status}')

    async def _addresses(self, destination: Destination) -> list[str]:
        """Look up the addresses of a host. Raises ``OSError``."""
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(_NAME_LOOKUPS, self._name)
        found = await asyncio.get_running_loop().run_in_executor(
            self._lookups, _look_up, destination.host, destination.port
        )
        return list(dict.fromkeys(found))

    def close(self) -> None:
        """End the threads until the next call; running lookups end by themselves."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)
            self._lookups = None


def _look_up(host: str, port: int) -> list[str]:
    return [str(item[4][0]) for item in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


def _cleaned(url: str) -> str:
    """Return the address that a real server calls: its path has no empty and no dot segments.

    Upstream: client-go ``rest.NewRequest``, which joins the path of the address with its prefix.
    """
    parts = urlsplit(url)
    path = posixpath.normpath("/" + unescape(parts.path).lstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{escape(path)}"


def _trust(ca_bundle: str | None) -> ssl.SSLContext:
    """Return a context that trusts the bundle, or else the system's authorities."""
    if not ca_bundle:
        return client_context()
    try:
        return client_context(base64.b64decode(ca_bundle).decode("latin-1"))
    except ValueError as error:
        raise ValueError(f"caBundle can't be read: {error}") from error


def _review_in(body: bytes) -> Object:
    try:
        review = decode_any(body)
    except (ValueError, RecursionError) as error:
        raise WebhookCallError(f"its answer is no JSON: {error}") from error
    if not isinstance(review, dict):
        raise WebhookCallError("its answer is no JSON object")
    return review
