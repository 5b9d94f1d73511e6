"""Calling an admission webhook: one HTTPS request on a thread.

Promises: a slow webhook does not block the event loop, a call ends within its timeout, and every
failure is one error with a reason.

Upstream: apiserver ``util/webhook``.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import functools
import ssl
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from clientgo.apiserver.storage.storage import Object, encode

_CONCURRENT_CALLS = 16
_MAX_ANSWER = 3 * 1024 * 1024


class WebhookCallError(Exception):
    """The webhook could not be called, or its response can't be read."""


class WebhookClient:
    """Posts reviews to webhooks."""

    def __init__(self) -> None:
        self._threads: ThreadPoolExecutor | None = None

    async def ask(
        self, client_config: Mapping[str, Any], request: Object, timeout: float
    ) -> Object:
        """Send a review's request and return the ``response`` of the answer.

        Raises:
            WebhookCallError: no connection, or no valid response in time.
        """
        if self._threads is None:
            self._threads = ThreadPoolExecutor(_CONCURRENT_CALLS, "apiserver-webhook")
        loop = asyncio.get_running_loop()
        call = functools.partial(_post, client_config, request, timeout)
        return await loop.run_in_executor(self._threads, call)

    def close(self) -> None:
        """End the threads until the next call; running calls end with their timeouts."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
            self._threads = None


def _post(client_config: Mapping[str, Any], request: Object, timeout: float) -> Object:
    url = client_config.get("url")
    if url is None:
        service = client_config["service"]
        where = f"{service.get('namespace')}/{service.get('name')}"
        raise WebhookCallError(f"service {where} can't be reached: there is no cluster network")
    import urllib3  # slow to import, and few servers have webhooks

    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}
    try:
        with urllib3.PoolManager(ssl_context=_trust(client_config.get("caBundle"))) as pool:
            answer = pool.request(
                "POST",
                url,
                body=encode(review),
                headers={"Content-Type": "application/json", "Accept": "application/json"},
                timeout=urllib3.Timeout(total=timeout),
                retries=False,
                redirect=False,
            )
    except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
        raise WebhookCallError(f"failed to call webhook: {error}") from error
    if answer.status != 200:
        raise WebhookCallError(f"failed to call webhook: it answered with status {answer.status}")
    return _response_of(answer.data, request["uid"])


def _trust(ca_bundle: str | None) -> ssl.SSLContext:
    """Return a context that trusts the bundle, or else the system's authorities."""
    if not ca_bundle:
        return ssl.create_default_context()
    try:
        pem = base64.b64decode(ca_bundle).decode("ascii")
        return ssl.create_default_context(cadata=pem)
    except (binascii.Error, UnicodeDecodeError, ssl.SSLError) as error:
        raise ValueError(f"caBundle can't be read: {error}") from error


def _response_of(body: bytes, uid: str) -> Object:
    try:
        review = msgspec.json.decode(body[:_MAX_ANSWER])
    except msgspec.DecodeError as error:
        raise WebhookCallError(f"failed to call webhook: its answer is no JSON: {error}") from error
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        raise WebhookCallError("webhook response was absent")
    if review.get("kind") != "AdmissionReview" or response.get("uid") != uid:
        raise WebhookCallError("webhook response is not the answer to the review that was sent")
    return response
