"""Connections to one API server: pooled, kept alive, secured, and closed on request.

Promises: idle connections are used again; TCP keep-alive finds a dead peer within a minute;
credentials are asked for at every request and certificate files looked at every second, so they may
rotate; each failure is a :class:`~clientgo.rest.errors.TransportError`.

Does not retry, throttle or interpret responses, nor follow redirects: API servers send none.
HTTP/1.1 only. Each watch has its own connection, so one slow reader does not delay another.
"""

from __future__ import annotations

import http.client
import logging
import socket
import threading
import zlib
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.proxies import is_loopback
from clientgo.rest.config.rest_config import ConfigError, RestConfig
from clientgo.rest.config.tls import certificate_names
from clientgo.rest.errors import (
    ConnectionLostError,
    CredentialsError,
    RequestStoppedError,
    TLSError,
    UnreachableError,
    UnreadableAnswerError,
    is_wrong_name,
    proxy_problem,
    transport_error,
)
from clientgo.rest.transport.body import Body
from clientgo.rest.transport.chunked import MalformedChunkError
from clientgo.rest.transport.exchange import Answer, Headers, RequestBody
from clientgo.rest.transport.in_flight import InFlight, PooledResponse, carrying
from clientgo.rest.transport.pools import Pools
from clientgo.rest.transport.upgraded import UpgradedConnection
from clientgo.util.copies import uncopyable

_log = logging.getLogger("clientgo.rest")

_NAMES_TIMEOUT: Final = 3.0
"""How long a server may take to show its certificate again: it has just done so."""

_FAILURES: Final = (HTTPError, OSError, http.client.HTTPException)
"""What urllib3 and what is below it raise."""

_GZIP: Final = ("gzip", "x-gzip")
_READABLE: Final = ("", "identity", *_GZIP)


class HTTPAnswer(Answer):
    """An answer that still comes over its connection.

    Closing it gives the connection back: to the pool if the body was read to its end, else to the
    operating system.
    """

    __slots__ = ("_body", "_coding", "_in_flight", "_response")

    def __init__(
        self, method: str, url: str, response: PooledResponse, in_flight: InFlight
    ) -> None:
        super().__init__(method, url, response.status, response.fields)
        self._response = response
        self._in_flight = in_flight
        self._coding = response.fields.get("Content-Encoding", "").strip().lower()
        self._body = Body(response, gzip=self._coding in _GZIP)

    def read_pieces(self, timeout: float | None = None) -> list[bytes]:
        if self._coding not in _READABLE and not self._body.ended:
            raise UnreadableAnswerError(
                self.method,
                self.url,
                f"the answer has Content-Encoding {self._coding!r:.40}, which was not asked for; "
                "is a proxy between?",
            )
        try:
            self._in_flight.set_timeout(timeout)
            return self._body.read()
        except (OSError, EOFError, ValueError, zlib.error) as error:
            if self._in_flight.aborted:
                raise RequestStoppedError(self.method, self.url, "stopped in its answer") from error
            if isinstance(error, MalformedChunkError | zlib.error):
                raise ConnectionLostError(
                    self.method, self.url, f"the answer is garbled: {error}; is a proxy between?"
                ) from error
            raise transport_error(self.method, self.url, error) from error

    def upgraded(self) -> UpgradedConnection:
        if self.status != HTTPStatus.SWITCHING_PROTOCOLS:
            return super().upgraded()
        return UpgradedConnection(self.method, self.url, self._in_flight, self._response)

    def abort(self) -> None:
        self._in_flight.abort()

    def close(self) -> None:
        if not self._body.ended or self.status == HTTPStatus.SWITCHING_PROTOCOLS:
            self._in_flight.abort()  # the close would wait for a read in another thread
        self._response.end(self._in_flight)


@uncopyable("it has connections to a server; make one in each process")
class HTTPTransport:
    """The connections to the server of one configuration; thread-safe, shared by all clients.

    At most ``max_idle_connections`` are kept when idle; there is no limit to how many are in use.
    """

    def __init__(self, config: RestConfig) -> None:
        self._config = config
        self._pools = Pools(config)
        parts = urlsplit(config.server)
        self._origin_length = len(f"{parts.scheme}://{parts.netloc}")
        self._in_clear = parts.scheme == "http" and not is_loopback(config.server)

    def send(
        self,
        method: str,
        url: str,
        *,
        headers: Headers,
        body: RequestBody = None,
        read_timeout: float | None = None,
        stop: threading.Event | None = None,
    ) -> Answer:
        """Send a request and return when the headers of its answer are there.

        After an answer of 401 the same is asked once more if the credentials can be renewed and
        the body can be sent again. ``stop`` cuts off the request and the reading of its answer.
        Blocks; raises :class:`~clientgo.rest.errors.TransportError`.
        """
        credentials = self._config.credentials
        identity = self._identity(method, url, stop)
        answer = self._exchange(method, url, headers, body, read_timeout, stop, identity)
        if (
            answer.status == HTTPStatus.UNAUTHORIZED
            and isinstance(body, bytes | None)
            and credentials.renew(identity, stop)
        ):
            answer.close()
            identity = self._identity(method, url, stop)
            answer = self._exchange(method, url, headers, body, read_timeout, stop, identity)
        return answer

    def close(self) -> None:
        """Close idle connections; those in use are closed when their request ends."""
        self._pools.close()

    def _identity(self, method: str, url: str, stop: threading.Event | None) -> Identity:
        try:
            return self._config.credentials.current(stop)
        except ConfigError as error:
            if stop is not None and stop.is_set():
                raise RequestStoppedError(method, url, "stopped before it was sent") from error
            raise CredentialsError(method, url, f"no credentials: {error}") from error

    def _exchange(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: RequestBody,
        read_timeout: float | None,
        stop: threading.Event | None,
        identity: Identity,
    ) -> Answer:
        if identity.authorization:
            headers = self._authorized(method, url, headers, identity.authorization)
        connect_timeout = self._config.connect_timeout
        if read_timeout is not None:
            connect_timeout = min(connect_timeout, read_timeout)
        pool = self._pool_for(method, url, identity)
        in_flight = InFlight(stop, read_timeout)
        try:
            with carrying(in_flight):
                response: Any = pool.urlopen(
                    method,
                    url if self._config.proxy else url[self._origin_length :],
                    body=body,
                    headers=headers,
                    timeout=urllib3.Timeout(connect=connect_timeout, read=read_timeout),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                )
        except BaseException as error:
            names = self._names_in_certificate(error, identity, in_flight)
            in_flight.release()
            if not isinstance(error, _FAILURES):
                raise
            if in_flight.aborted:
                raise RequestStoppedError(method, url, "stopped before the answer came") from error
            raise transport_error(method, url, error, names) from error
        if response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED and self._config.proxy:
            HTTPAnswer(method, url, response, in_flight).close()
            raise UnreachableError(method, url, proxy_problem("407 Proxy Authentication Required"))
        return HTTPAnswer(method, url, response, in_flight)

    def _pool_for(
        self, method: str, url: str, identity: Identity
    ) -> urllib3.HTTPConnectionPool | urllib3.PoolManager:
        try:
            return self._pools.pool_for(identity)
        except ConfigError as error:
            raise TLSError(method, url, str(error)) from error

    def _authorized(self, method: str, url: str, headers: Headers, authorization: str) -> Headers:
        if not (authorization.isascii() and authorization.isprintable()):
            # The text of http.client's own error would show it.
            raise CredentialsError(
                method,
                url,
                "the credentials hold a line break or another character that no "
                "header can have; check the token, or its file",
            )
        if self._in_clear:
            self._in_clear = False
            _log.warning("Credentials go unencrypted to %s; use https://", self._config.server)
        headers = headers.copy()
        headers["Authorization"] = authorization
        return headers

    def _names_in_certificate(
        self, error: BaseException, identity: Identity, in_flight: InFlight
    ) -> tuple[str, ...]:
        """Return what the server could be called, if what was wrong is its name."""
        if not is_wrong_name(error) or self._config.proxy:
            return ()
        parts = urlsplit(self._config.server)
        host = parts.hostname or ""
        try:
            with socket.create_connection((host, parts.port or 443), _NAMES_TIMEOUT) as sock:
                in_flight.attach(sock)
                return certificate_names(sock, self._config.tls, identity, host)
        except (OSError, ConfigError) as again:
            _log.debug("The names in the certificate cannot be read: %s", again)
            return ()
