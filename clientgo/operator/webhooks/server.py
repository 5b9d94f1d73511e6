"""The webhook server: declared webhooks over HTTPS, on every replica, leader or not.

Promises: it serves from ``start`` to ``stop``; caches may still be filling, and may need its
conversions for that. Certificates may change meanwhile. After ``stop`` none of its threads is left,
except handlers that hang, which ``stop`` names.

Does not promise authentication beyond ``client_ca``.

Upstream: controller-runtime ``pkg/webhook`` Server.
"""

from __future__ import annotations

import logging
import os
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

import msgspec

from clientgo.certificates import CertificateError, ServingCertificate
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.errors import AlreadyStartedError, ConfigError
from clientgo.operator.webhooks.endpoint import MAX_BODY, CallLimiter, MeasuredEndpoint
from clientgo.operator.webhooks.registry import Webhooks
from clientgo.process import SupervisedThread
from clientgo.serving import Server, ServingError

CertificateSource = Literal["dir", "self", "cert-manager"]
"""Files that are put there, certificates that the operator makes, or those of cert-manager."""

_SWITCH: Final = "ENABLE_WEBHOOKS"
_OFF: Final = -1


class WebhookOptions(msgspec.Struct, kw_only=True, frozen=True):
    """The settings of a webhook server. Raises ``ConfigError`` for bad ones.

    ``port`` 0 takes a free one, -1 serves nothing. An empty ``host`` is every address. ``tls.crt``
    and ``tls.key`` are read from ``cert_dir``; ``client_ca`` is a PEM file there (or an absolute
    path) with the authorities of the certificates that callers must show.
    """

    port: int = 9443
    host: str = ""
    cert_dir: str | None = None
    client_ca: str | None = None
    certs: CertificateSource = "dir"
    enabled: bool = True

    def __post_init__(self) -> None:
        if not _OFF <= self.port <= 65535:
            raise ConfigError(f"webhook port {self.port}: write 0 to 65535, or -1 for none")
        if self.certs not in ("dir", "self", "cert-manager"):
            raise ConfigError(f"webhook certs {self.certs!r}: write dir, self or cert-manager")

    def is_enabled(self, environment: Mapping[str, str] = os.environ) -> bool:
        """Return False if switched off, here or by ``ENABLE_WEBHOOKS=false`` in the environment."""
        switched_off = environment.get(_SWITCH, "").strip().lower() in ("false", "0", "no", "off")
        return self.enabled and self.port != _OFF and not switched_off

    @property
    def directory(self) -> Path:
        """The directory of the certificates; by default where kubebuilder mounts them."""
        if self.cert_dir is not None:
            return Path(self.cert_dir)
        return Path(tempfile.gettempdir()) / "k8s-webhook-server" / "serving-certs"

    @property
    def client_authorities(self) -> Path | None:
        """The file of ``client_ca``."""
        return self.directory / self.client_ca if self.client_ca else None

    @property
    def local_names(self) -> tuple[str, ...]:
        """Names by which this machine reaches a server outside of a cluster."""
        known = ("localhost", "127.0.0.1", "::1")
        return known if self.host in ("", "0.0.0.0", "::", *known) else (self.host,)


_log = logging.getLogger("clientgo.operator.webhooks")

STOP_TIMEOUT: Final = 60.0
_DIAL_TIMEOUT: Final = 10.0
"""Seconds."""


class WebhookServer:
    """Serves ``webhooks``; runs once. Thread-safe after ``start``.

    With ``certs="self"`` a pair has to be installed in ``certificate``; until then calls and
    :meth:`check` fail. ``clock`` is for the limits of handlers; sockets use real time.
    """

    def __init__(
        self,
        options: WebhookOptions,
        webhooks: Webhooks,
        *,
        metrics: MetricsProvider = NO_METRICS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.options = options
        self.webhooks = webhooks
        self.certificate = ServingCertificate.in_directory(
            options.directory,
            client_authorities=options.client_authorities,
            metrics=metrics,
            clock=clock,
        )
        self._metrics = metrics
        self._clock = clock
        self._calls = CallLimiter(clock=clock)
        self._endpoints: list[MeasuredEndpoint] = []
        self._server: Server | None = None
        self._bound: tuple[str, int] | None = None
        self._stop = threading.Event()
        self._rereader = SupervisedThread(
            self.certificate.run,
            args=(self._stop,),
            name="webhook-certificate",
            then="a renewed certificate is not read; restart this process before it expires",
        )

    def start(self) -> None:
        """Begin to serve; returns when it listens.

        Raises ``DeclarationError`` for webhooks that do not fit together, ``ConfigError`` for a
        certificate that cannot be used or an address that it cannot listen on,
        ``AlreadyStartedError`` the second time.
        """
        if self._server is not None:
            raise AlreadyStartedError("this webhook server was started before; make a new one")
        endpoints = self.webhooks.endpoints(self._calls, self._metrics)
        if self.options.certs != "self":
            try:
                self.certificate.load()
            except CertificateError as error:
                raise ConfigError(f"webhooks: {error}") from error
        measured = {
            path: MeasuredEndpoint(path, endpoint, self._metrics, self._clock)
            for path, endpoint in endpoints.items()
        }
        server = Server(
            f"{self.options.host}:{self.options.port}",
            measured,
            name="webhook",
            tls=self.certificate.context,
            methods=("POST",),
            max_body=MAX_BODY,
        )
        try:
            server.start()
        except ServingError as error:
            raise ConfigError(str(error)) from error
        self._endpoints = list(measured.values())
        self._server, self._bound = server, server.bound
        self._rereader.start()

    def stop(self, timeout: float = STOP_TIMEOUT) -> list[str]:
        """Stop serving; requests in progress are answered first. Idempotent.

        Blocks for ``timeout`` seconds at most, and returns the names of threads that still run.
        """
        if self._server is None:
            return []
        self._stop.set()
        deadline = time.monotonic() + timeout
        alive = self._server.stop(timeout)
        for thread in (self._rereader, *self._calls.threads()):
            thread.join(max(deadline - time.monotonic(), 0))
            if thread.is_alive():
                alive.append(thread.name)
        endpoints, self._endpoints = self._endpoints, []
        for endpoint in endpoints:
            endpoint.remove()
        return alive

    @property
    def bound(self) -> tuple[str, int]:
        """The host and port where this machine reaches it. Raises ``RuntimeError`` before start."""
        if self._bound is None:
            raise RuntimeError("the webhook server was not started, so it has no address yet")
        return self._bound

    @property
    def url(self) -> str:
        """The same as a URL."""
        host, port = self.bound
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def check(self) -> None:
        """Check readiness with a TLS handshake. Blocks for 10 s at most.

        Raises ``OSError`` (``ssl.SSLError`` without a usable certificate) or ``RuntimeError``. It
        does not check that API servers trust the certificate.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(self.bound, timeout=_DIAL_TIMEOUT) as sock,
            context.wrap_socket(sock),
        ):
            return
