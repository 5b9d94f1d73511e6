"""The connections of a transport: pools of urllib3, for one identity at a time.

Promises that idle connections are used again, that a change of the identity holds from the next
request on, and that of a file with a certificate or key after a second. While changed files cannot
be used, as when they are half written, the last good ones stay in use.

client-go looks at files once a minute and closes all connections when they changed.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
import threading
from collections.abc import Iterator
from typing import Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

import urllib3

from clientgo.rest.config.config_error import ConfigError
from clientgo.rest.config.credentials import Identity, basic_authorization
from clientgo.rest.config.rest_config import RestConfig
from clientgo.rest.config.tls import proxy_ssl_context, ssl_context
from clientgo.rest.transport.in_flight import AbortableHTTPPool, AbortableHTTPSPool, TLSSocket
from clientgo.util.process import renew_in_child

_log = logging.getLogger("clientgo.rest")

_FILES_HOLD: Final = 1.0
"""Seconds until files are looked at again: that costs more than anything else done for a pool."""

_KEEP_ALIVE_AFTER: Final = 30
_KEEP_ALIVE_INTERVAL: Final = 5
_KEEP_ALIVE_PROBES: Final = 3
"""A dead peer is noticed 45 seconds after its last byte, as with client-go's HTTP/2 pings."""


class _Key(NamedTuple):
    """What a pool was made of: another one needs another pool."""

    cert_data: str
    key_data: str
    files: tuple[str, ...]
    versions: tuple[object, ...]


class Pools:
    """The pools for the server of one configuration; thread-safe."""

    def __init__(self, config: RestConfig) -> None:
        self._config = config
        self._lock = threading.Lock()
        parts = urlsplit(config.server)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._is_secure = parts.scheme == "https"
        self._pools: urllib3.PoolManager | None = None
        self._pool: urllib3.HTTPConnectionPool | None = None
        self._context: ssl.SSLContext | None = None
        self._key: _Key | None = None
        self._refused: _Key | None = None
        self._identity: Identity | None = None
        self._look_again_at = 0.0
        renew_in_child(self, "_lock", renew=Pools.close)

    def pool_for(self, identity: Identity) -> urllib3.HTTPConnectionPool | urllib3.PoolManager:
        """Return the connections of an identity; raises :class:`ConfigError`.

        A proxy needs the manager of pools. Without one, the only pool takes a quarter less time
        for a request.
        """
        with self._lock:
            if self._is_secure:
                self._renew_locked(identity)
            if self._pools is None:
                self._pools = _make_pools(self._config, self._context)
            if self._config.proxy:
                return self._pools
            if self._pool is None:
                self._pool = self._pools.connection_from_url(self._origin)
            return self._pool

    def close(self) -> None:
        """Close idle connections; those in use are closed when their request ends."""
        with self._lock:
            pools, self._pools, self._pool = self._pools, None, None
        if pools is not None:
            for key in pools.pools.keys():  # noqa: SIM118 - this container is no mapping to iterate
                pool = pools.pools.get(key)
                if pool is not None:
                    pool.close()

    def _renew_locked(self, identity: Identity) -> None:
        """Make a new context if the last one is of something else; look at files once a second."""
        now = self._config.clock.monotonic()
        if identity is not self._identity or now >= self._look_again_at:
            self._look_locked(identity)
            self._identity, self._look_again_at = identity, now + _FILES_HOLD

    def _look_locked(self, identity: Identity) -> None:
        files = (identity.cert_file, identity.key_file, self._config.tls.ca_file)
        key = _Key(
            identity.cert_data, identity.key_data, files, tuple(_version(file) for file in files)
        )
        if key == self._key:
            return
        try:
            self._context = ssl_context(self._config.tls, identity)
            self._context.sslsocket_class = TLSSocket
        except ConfigError as error:
            if self._key is None or key[:-1] != self._key[:-1]:
                raise
            if key != self._refused:
                _log.warning("Certificates stay as they are, the changed ones are bad: %s", error)
                self._refused = key
            return
        self._key = key
        # Not closed: another thread may be about to use the old ones. Their idle connections are
        # closed once the last of their answers is.
        self._pools = self._pool = None


def _version(file: str) -> object:
    """What changes with a file, also where a link leads to another one, as in a mounted secret."""
    if not file:
        return None
    try:
        status = os.stat(file)
    except OSError:  # reported when it is read
        return None
    return status.st_mtime_ns, status.st_ino, status.st_size


def _make_pools(config: RestConfig, context: ssl.SSLContext | None) -> urllib3.PoolManager:
    options: dict[str, Any] = {
        "num_pools": 1,
        "maxsize": config.max_idle_connections,
        "socket_options": list(_socket_options()),
    }
    if context is not None:
        options["ssl_context"] = context
        options["server_hostname"] = config.tls.server_name.rstrip(".") or None
    pools: urllib3.PoolManager
    if config.proxy:
        pools = _proxy_manager(config, options)
    else:
        pools = urllib3.PoolManager(**options)
    pools.pool_classes_by_scheme = {"http": AbortableHTTPPool, "https": AbortableHTTPSPool}
    return pools


def _proxy_manager(config: RestConfig, options: dict[str, Any]) -> urllib3.ProxyManager:
    parts = urlsplit(config.proxy or "")
    userinfo, _, address = parts.netloc.rpartition("@")
    if userinfo:
        name, _, password = userinfo.partition(":")
        authorization = basic_authorization(unquote(name), unquote(password))
        options["proxy_headers"] = {"Proxy-Authorization": authorization}
    if parts.scheme == "https":
        options["proxy_ssl_context"] = proxy_ssl_context(config.tls)
        # The only TLS of a plain server is that of the proxy.
        options.setdefault("ssl_context", options["proxy_ssl_context"])
    return urllib3.ProxyManager(f"{parts.scheme}://{address}", **options)


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
