"""Calling a webhook: one HTTPS request on a thread.

Promises: a slow webhook does not block the event loop, a call ends within its timeout, and every
failure is one error with a reason.

Upstream: apiserver ``util/webhook``.
"""

from __future__ import annotations

import asyncio
import base64
import functools
import posixpath
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from clientgo.testcluster.server.storage.deep_values import decode_any, encode
from clientgo.testcluster.server.storage.storage import Object
from clientgo.util.certificates import client_context

_CONCURRENT_CALLS = 16

_PATH_CHARACTERS = "/$&+,:;=@"
"""What Go does not escape in a path, beside letters, digits and ``-_.~``."""


class WebhookCallError(Exception):
    """The webhook could not be called, or its response can't be read."""


class WebhookClient:
    """Posts reviews to webhooks; ``name`` is that of its threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._threads: ThreadPoolExecutor | None = None

    async def post(
        self, client_config: Mapping[str, Any], review: Object, timeout: float, max_answer: int
    ) -> Object:
        """Send a review and return the review in the answer, of at most ``max_answer`` bytes.

        Raises:
            WebhookCallError: no connection, or no answer that can be read in time.
        """
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_CONCURRENT_CALLS, self._name)
        loop = asyncio.get_running_loop()
        call = functools.partial(_post, client_config, encode(review), timeout, max_answer)
        return await loop.run_in_executor(self._threads, call)

    def close(self) -> None:
        """End the threads until the next call; running calls end with their timeouts."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def _post(client_config: Mapping[str, Any], body: bytes, timeout: float, max_answer: int) -> Object:
    url = client_config.get("url")
    if url is None:
        service = client_config["service"]
        where = f"{service.get('namespace')}/{service.get('name')}"
        raise WebhookCallError(f"service {where} can't be reached: there is no cluster network")
    import urllib3  # slow to import, and few servers have webhooks

    address = f"{_cleaned(url)}?timeout={timeout:g}s"
    try:
        with urllib3.PoolManager(ssl_context=_trust(client_config.get("caBundle"))) as pool:
            answer = pool.request(
                "POST",
                address,
                body=body,
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                timeout=urllib3.Timeout(total=timeout),
                retries=False,
                redirect=False,
            )
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise WebhookCallError(f'Post "{address}": {error}') from error
    if answer.status != 200:
        raise WebhookCallError(f'Post "{address}": it answered with status {answer.status}')
    if len(answer.data) > max_answer:
        raise WebhookCallError(f'Post "{address}": the answer has more than {max_answer} bytes')
    return _review_in(answer.data)


def _cleaned(url: str) -> str:
    """Return the address that a real server calls: its path has no empty and no dot segments.

    Upstream: client-go ``rest.NewRequest``, which joins the path of the address with its prefix.
    """
    parts = urlsplit(url)
    path = posixpath.normpath("/" + unquote(parts.path).lstrip("/"))
    return f"{parts.scheme}://{parts.netloc}{quote(path, safe=_PATH_CHARACTERS)}"


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
