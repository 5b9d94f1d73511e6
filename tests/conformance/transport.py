"""HTTP as the replay needs it: plain requests, and watches whose lines a thread collects."""

from __future__ import annotations

import contextlib
import json
import queue
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

import urllib3

from tests.conformance.pointers import Json

USER_AGENT = "conformance-replay/1.0"
"""Sent with each request; its first part becomes the default field manager."""

REQUEST_TIMEOUT = 40.0
THROTTLE_RETRIES = 10


@dataclass
class Response:
    """A complete HTTP response."""

    status: int
    headers: urllib3.HTTPHeaderDict
    data: bytes

    def json(self) -> Json:
        """Decoded body, or the body as text when it is not JSON, or None when empty."""
        if not self.data:
            return None
        try:
            return json.loads(self.data)
        except ValueError:
            return self.data.decode("utf-8", "replace")


class Client:
    """Thin HTTP client for one API server.

    Redirects are not followed.  The only answer that is retried is a 429 with a
    Retry-After header, which a server gives while it sets up the storage of a CRD and
    which every client library retries.
    """

    def __init__(self, server: str, token: str | None, ca: str | None, insecure: bool) -> None:
        """Prepare a connection pool; ``ca`` is a file, or None for the system's authorities."""
        self.server = server.rstrip("/")
        options: dict[str, Any] = {"maxsize": 16, "retries": False}
        if self.server.startswith("https:"):
            if insecure:
                urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
                options["cert_reqs"] = "CERT_NONE"
            else:
                options["cert_reqs"] = "CERT_REQUIRED"
                if ca:
                    options["ca_certs"] = ca
        self.pool = urllib3.PoolManager(**options)
        self.base_headers = {"User-Agent": USER_AGENT, "Accept": "application/json"}
        if token:
            self.base_headers["Authorization"] = f"Bearer {token}"

    def open(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout: float = REQUEST_TIMEOUT,
    ) -> urllib3.BaseHTTPResponse:
        """Send a request and return the response with its body still unread."""
        url = self.server + quote(path, safe="/%:@!$&'()*+,;=~-._")
        if query:
            url += "?" + urlencode(query, doseq=True)
        merged = urllib3.HTTPHeaderDict(self.base_headers)
        for name, value in (headers or {}).items():
            merged[name] = value
        for attempt in range(THROTTLE_RETRIES + 1):
            response = self.pool.request(
                method,
                url,
                headers=merged,
                body=body,
                preload_content=False,
                redirect=False,
                timeout=urllib3.Timeout(connect=10, read=timeout),
            )
            if (
                response.status != 429
                or "retry-after" not in response.headers
                or attempt == THROTTLE_RETRIES
            ):
                break
            response.drain_conn()
            response.release_conn()
            time.sleep(min(float(response.headers["retry-after"]), 2.0))
        return response

    def request(self, method: str, path: str, **options: Any) -> Response:
        """Send a request and read the whole response."""
        raw = self.open(method, path, **options)
        try:
            return Response(raw.status, raw.headers, raw.read())
        finally:
            raw.release_conn()


class Watch:
    """A streaming GET whose lines a background thread collects."""

    _END = object()

    def __init__(self, raw: urllib3.BaseHTTPResponse) -> None:
        """Start reading the body of ``raw``."""
        self.raw = raw
        self.ended = False
        self.clean = False
        self._lines: queue.Queue[Any] = queue.Queue()
        self._closing = False
        threading.Thread(target=self._pump, daemon=True).start()

    def _pump(self) -> None:
        pending = b""
        try:
            while chunk := self.raw.read1(1 << 16):
                pending += chunk
                *lines, pending = pending.split(b"\n")
                for line in lines:
                    if line.strip():
                        self._lines.put(json.loads(line))
            if pending.strip():
                self._lines.put(json.loads(pending))
            self.clean = True
        except Exception as error:  # any transport failure ends the stream uncleanly
            if not self._closing:
                self._lines.put({"type": "<stream error>", "object": type(error).__name__})
        self._lines.put(self._END)

    def next(self, timeout: float) -> Json:
        """Next event; None when ``timeout`` passed or the stream is over."""
        if self.ended:
            return None
        try:
            item = self._lines.get(timeout=max(timeout, 0.0))
        except queue.Empty:
            return None
        if item is self._END:
            self.ended = True
            return None
        return item

    def close(self) -> None:
        """Hang up."""
        self._closing = True
        with contextlib.suppress(
            Exception
        ):  # not every transport has a half-close; closing is enough
            self.raw.shutdown()
        self.raw.close()
