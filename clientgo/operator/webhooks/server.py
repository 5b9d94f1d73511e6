"""The webhook server: declared webhooks over HTTPS, on every replica, leader or not.

Promises: it serves from ``start`` to ``stop``, whatever the rest of the program does; caches may
still be filling, and may need its conversions for that. Certificates can change meanwhile. After
``stop`` none of its threads is left, except handlers that hang, which ``stop`` names.

Does not promise authentication beyond ``client_ca``, nor HTTP/2.

Upstream: controller-runtime ``pkg/webhook`` Server.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
import time
from typing import Final

from clientgo.certificates import CertificateError, ServingCertificate
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import NO_METRICS, MetricsProvider
from clientgo.operator.errors import AlreadyStartedError, ConfigError
from clientgo.operator.webhooks.call_limiter import CallLimiter
from clientgo.operator.webhooks.endpoint import Answer, Call
from clientgo.operator.webhooks.https_server import HTTPSServer
from clientgo.operator.webhooks.measured_endpoint import MeasuredEndpoint
from clientgo.operator.webhooks.options import WebhookOptions
from clientgo.operator.webhooks.registry import Webhooks
from clientgo.process import SupervisedThread

_log = logging.getLogger("clientgo.operator.webhooks")

STOP_TIMEOUT: Final = 60.0
_DIAL_TIMEOUT: Final = 10.0
"""Seconds."""


class WebhookServer:
    """Serves ``webhooks``; runs once. Thread-safe after ``start``.

    ``certificate`` is what it shows: with ``certs="self"`` whoever makes certificates installs them
    there, and until then calls fail and so does :meth:`check`. ``metrics`` and ``clock`` serve the
    handlers' times and limits; sockets have times of their own.
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
        self._endpoints: dict[str, MeasuredEndpoint] = {}
        self._https: HTTPSServer | None = None
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
        if self._https is not None:
            raise AlreadyStartedError("this webhook server was started before; make a new one")
        endpoints = self.webhooks.endpoints(self._calls, self._metrics)
        if self.options.certs != "self":
            try:
                self.certificate.load()
            except CertificateError as error:
                raise ConfigError(f"webhooks: {error}") from error
        https = HTTPSServer(
            self.options.host, self.options.port, self._answer, self.certificate.context
        )
        self._endpoints = {
            path: MeasuredEndpoint(path, endpoint, self._metrics, self._clock)
            for path, endpoint in endpoints.items()
        }
        self._bound = https.start()
        self._https = https
        self._rereader.start()
        _log.info("Serving webhooks at %s: %s", self.url, ", ".join(sorted(endpoints)) or "none")

    def stop(self, timeout: float = STOP_TIMEOUT) -> list[str]:
        """Stop serving; requests in progress are answered first. Idempotent.

        Blocks for ``timeout`` seconds at most, and returns the names of threads that still run.
        """
        if self._https is None:
            return []
        self._stop.set()
        deadline = time.monotonic() + timeout
        alive = self._https.stop(timeout)
        for thread in (self._rereader, *self._calls.threads()):
            thread.join(max(deadline - time.monotonic(), 0))
            if thread.is_alive():
                alive.append(thread)
        endpoints, self._endpoints = self._endpoints, {}
        for endpoint in endpoints.values():
            endpoint.remove()
        return [thread.name for thread in alive]

    @property
    def bound(self) -> tuple[str, int]:
        """The address that it listens on. Raises ``RuntimeError`` before it was started."""
        if self._bound is None:
            raise RuntimeError("the webhook server was not started, so it has no address yet")
        return self._bound

    @property
    def url(self) -> str:
        """Where this machine reaches it."""
        host, port = self._reachable()
        return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"

    def check(self) -> None:
        """Readiness: shake hands with the server itself. Blocks for 10 s at most.

        Raises ``OSError`` (``ssl.SSLError`` for no usable certificate) or ``RuntimeError``. Whether
        others trust the certificate is not checked.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        with (
            socket.create_connection(self._reachable(), timeout=_DIAL_TIMEOUT) as sock,
            context.wrap_socket(sock),
        ):
            return

    def _reachable(self) -> tuple[str, int]:
        host, port = self.bound
        return {"::": "::1", "0.0.0.0": "127.0.0.1"}.get(host, host), port

    def _answer(self, path: str, call: Call) -> Answer:
        endpoint = self._endpoints.get(path)
        if endpoint is None:
            return Answer(404, b"404 page not found\n", "text/plain; charset=utf-8")
        return endpoint.answer(call)
