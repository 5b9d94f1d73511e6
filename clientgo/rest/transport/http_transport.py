"""Connections to one API server: pooled, kept alive, secured, and closed on request.

Promises: idle connections are used again; TCP keep-alive finds a dead peer within a minute;
credentials and certificate files are read for every request, so they may rotate; each failure is
a :class:`~clientgo.rest.errors.TransportError`.

Does not retry, throttle or interpret responses, nor follow redirects: API servers send none.
HTTP/1.1 only. Each watch has its own connection, so a slow reader holds up no other.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import threading
import zlib
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import HTTPError

from clientgo.copies import uncopyable
from clientgo.process import renew_in_child
from clientgo.rest.config.credentials import Identity
from clientgo.rest.config.rest_config import ConfigError, RestConfig
from clientgo.rest.errors import (
    ConnectionLostError,
    CredentialsError,
    RequestStoppedError,
    UnreadableAnswerError,
    transport_error,
)
from clientgo.rest.transport.body import Body
from clientgo.rest.transport.chunked import MalformedChunkError
from clientgo.rest.transport.exchange import Answer, Headers, RequestBody
from clientgo.rest.transport.in_flight import (
    AbortableHTTPPool,
    AbortableHTTPSPool,
    InFlight,
    carrying,
)

_KEEP_ALIVE_AFTER: Final = 30
_KEEP_ALIVE_INTERVAL: Final = 5
_KEEP_ALIVE_PROBES: Final = 3
"""A dead peer is noticed 45 seconds after its last byte, as with client-go's HTTP/2 pings."""


_GZIP: Final = ("gzip", "x-gzip")
_READABLE: Final = ("", "identity", *_GZIP)


class HTTPAnswer(Answer):
    """An answer that still comes over its connection.

    Closing it gives the connection back: to the pool if the body was read to its end, else to the
    operating system.
    """

    __slots__ = ("_body", "_coding", "_in_flight", "_raw", "_response")

    def __init__(
        self, method: str, url: str, response: urllib3.BaseHTTPResponse, in_flight: InFlight
    ) -> None:
        super().__init__(method, url, response.status, response.headers)
        self._response = response
        self._in_flight = in_flight
        assert in_flight.response is not None
        self._raw = in_flight.response
        self._coding = response.headers.get("Content-Encoding", "").strip().lower()
        self._body = Body(self._raw, gzip=self._coding in _GZIP)

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

    def abort(self) -> None:
        self._in_flight.abort()

    def close(self) -> None:
        if not self._in_flight.release():
            return
        if self._body.ended and not self._in_flight.aborted:
            self._raw.close()
        else:
            self._response.close()
        self._response.release_conn()


@uncopyable("it has connections to a server; make one in each process")
class HTTPTransport:
    """The connections to the server of one configuration; thread-safe, shared by all clients.

    At most ``max_idle_connections`` are kept when idle; there is no limit to how many are in use.
    """

    def __init__(self, config: RestConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        self._origin = "{0.scheme}://{0.netloc}".format(urlsplit(config.server))
        self._pools: urllib3.PoolManager | None = None
        self._pool: urllib3.HTTPConnectionPool | None = None
        self._pools_key: tuple[Any, ...] | None = None
        renew_in_child(self, "_lock", renew=HTTPTransport.close)

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
        with self._lock:
            pools, self._pools, self._pool = self._pools, None, None
        if pools is not None:
            for key in pools.pools.keys():  # noqa: SIM118 - this container is no mapping to iterate
                pool = pools.pools.get(key)
                if pool is not None:
                    pool.close()

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
            headers = headers.copy()
            headers["Authorization"] = identity.authorization
        connect_timeout = self._config.connect_timeout
        if read_timeout is not None:
            connect_timeout = min(connect_timeout, read_timeout)
        in_flight = InFlight(stop)
        try:
            with carrying(in_flight):
                response = self._pool_for(identity).urlopen(
                    method,
                    url if self._config.proxy else url[len(self._origin) :],
                    body=body,
                    headers=headers,
                    timeout=urllib3.Timeout(connect=connect_timeout, read=read_timeout),
                    redirect=False,
                    retries=False,
                    preload_content=False,
                )
        except BaseException as error:
            in_flight.release()
            if not isinstance(error, HTTPError | OSError | http.client.HTTPException):
                raise
            if in_flight.aborted:
                raise RequestStoppedError(method, url, "stopped before the answer came") from error
            raise transport_error(method, url, error) from error
        return HTTPAnswer(method, url, response, in_flight)

    def _pool_for(self, identity: Identity) -> urllib3.HTTPConnectionPool | urllib3.PoolManager:
        """The connections with a client certificate, made again when a file of it has changed.

        A proxy needs the manager of pools. Without one, the only pool takes a quarter less time
        for a request.
        """
        tls = self._config.tls
        files = (identity.cert_file, identity.key_file, tls.ca_file)
        key = (files, _versions(files))
        with self._lock:
            if self._pools is None or key != self._pools_key:
                # Not closed: another thread may be about to use the old ones. Their idle
                # connections are closed once the last of their answers is.
                self._pools = _make_pools(self._config, identity)
                self._pool = None
                self._pools_key = key
            if self._config.proxy:
                return self._pools
            if self._pool is None:
                self._pool = self._pools.connection_from_url(self._origin)
            return self._pool


def _versions(files: Iterable[str]) -> tuple[int, ...]:
    versions = []
    for file in files:
        with contextlib.suppress(OSError):  # a missing file is reported when it is needed
            versions.append(os.stat(file).st_mtime_ns if file else 0)
    return tuple(versions)


def _make_pools(config: RestConfig, identity: Identity) -> urllib3.PoolManager:
    options: dict[str, Any] = {
        "num_pools": 1,
        "maxsize": config.max_idle_connections,
        "socket_options": list(_socket_options()),
        "cert_reqs": "CERT_NONE" if config.tls.insecure else "CERT_REQUIRED",
        "ca_certs": config.tls.ca_file or None,
        "ca_cert_data": config.tls.ca_data or None,
        "cert_file": identity.cert_file or None,
        "key_file": identity.key_file or None,
        "server_hostname": config.tls.server_name or None,
    }
    pools: urllib3.PoolManager
    if config.proxy:
        pools = urllib3.ProxyManager(config.proxy, **options)
    else:
        pools = urllib3.PoolManager(**options)
    pools.pool_classes_by_scheme = {"http": AbortableHTTPPool, "https": AbortableHTTPSPool}
    return pools


def _socket_options() -> Iterator[tuple[int, int, int]]:
    yield socket.IPPROTO_TCP, socket.TCP_NODELAY, 1
    yield socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1
    for name, value in (
        ("TCP_KEEPIDLE", _KEEP_ALIVE_AFTER),
        ("TCP_KEEPINTVL", _KEEP_ALIVE_INTERVAL),
        ("TCP_KEEPCNT", _KEEP_ALIVE_PROBES),
    ):
        if hasattr(socket, name):
            yield socket.IPPROTO_TCP, getattr(socket, name), value
