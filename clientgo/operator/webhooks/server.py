"""The webhooks of one program, and their HTTPS server, on every replica, leader or not.

Promises that it serves from ``start`` to ``stop``, also while caches fill, and that certificates
may change meanwhile. After ``stop`` only handlers that hang are left, which it names. Webhooks that
do not fit together are refused when they are registered or at the start.

Upstream: controller-runtime ``pkg/webhook`` Server, ``builder.WebhookBuilder``.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import socket
import ssl
import tempfile
import threading
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from clientgo.meta import Resource, resource_of
from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.observe.serving import (
    CertificateError,
    Handler,
    Server,
    ServingCertificate,
    ServingError,
)
from clientgo.operator.errors import AlreadyStartedError, ConfigError, DeclarationError
from clientgo.operator.webhooks.admission_endpoint import AdmissionEndpoint
from clientgo.operator.webhooks.admission_review import Operation
from clientgo.operator.webhooks.conversion_endpoint import CONVERSION_PATH, ConversionEndpoint
from clientgo.operator.webhooks.conversions import KindConversions, declared_conversion
from clientgo.operator.webhooks.declarations import (
    AdmissionWebhook,
    RunCoroutine,
    instance_of,
    webhooks_of,
)
from clientgo.operator.webhooks.endpoint import (
    CONVERSION_WEBHOOK_PANICS,
    MAX_BODY,
    WEBHOOK_PANICS,
    CallLimiter,
    MeasuredEndpoint,
)
from clientgo.operator.webhooks.handlers import HandlerChain
from clientgo.operator.webhooks.manifest import WebhookManifest
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread, deadline_after, join_threads, time_left

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
        # Not gettempdir(): it fails where the root filesystem is read-only, and this is only read.
        temporary = os.environ.get("TMPDIR") or "/tmp"
        return Path(temporary) / "k8s-webhook-server" / "serving-certs"

    @property
    def makes_files(self) -> bool:
        """True if the files of the certificate are the operator's own business."""
        return self.certs == "self" and self.cert_dir is None

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


@uncopyable("it has threads; make one in each process")
class WebhookServer:
    """Serves ``webhooks``; runs once. Thread-safe after ``start``.

    With ``certs="self"`` a pair has to be installed in ``certificate``; until then calls and
    :meth:`check` fail. Without a ``cert_dir`` its files are in a temporary directory, until
    :meth:`stop`; ``ConfigError`` is raised where there can be none. ``clock`` is for the limits of
    handlers; sockets use real time.
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
        self._temporary = _temporary_directory() if options.makes_files else None
        self.certificate = ServingCertificate.in_directory(
            Path(self._temporary.name) if self._temporary else options.directory,
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
        try:
            self._rereader.start()
        except BaseException:
            server.stop()
            raise
        self._endpoints = list(measured.values())
        self._server, self._bound = server, server.bound

    def stop(self, timeout: float = STOP_TIMEOUT) -> list[str]:
        """Stop serving; requests in progress are answered first. Idempotent.

        Blocks for ``timeout`` seconds at most, and returns the names of threads that still run.
        """
        if self._server is None:
            return []
        self._stop.set()
        deadline = deadline_after(timeout)
        alive = self._server.stop(timeout)
        alive += join_threads([self._rereader, *self._calls.threads()], time_left(deadline))
        endpoints, self._endpoints = self._endpoints, []
        for endpoint in endpoints:
            endpoint.remove()
        if self._temporary is not None:
            self._temporary.cleanup()
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


def _temporary_directory() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix="clientgo-webhooks-")
    except OSError as error:
        raise ConfigError(
            f"certs='self' needs a directory for the certificate: {error}; in a pod with a "
            "read-only root filesystem, mount an emptyDir at /tmp, or pass cert_dir"
        ) from error


@uncopyable("it has locks; make one in each process")
class Webhooks:
    """Declared webhooks and converters. Not thread-safe: fill it, then serve it.

    ``run_coroutine`` runs those that are ``async def``.
    """

    def __init__(self, run_coroutine: RunCoroutine | None = None) -> None:
        self._run_coroutine = run_coroutine
        self._by_path: dict[str, AdmissionWebhook] = {}
        self._converters: list[Any] = []
        self._versions: list[type[Resource]] = []

    def register(self, *handlers: Any, path: str | None = None) -> None:
        """Add the webhooks that functions, methods, objects or classes declare.

        With ``path`` all of them answer there, in this order. Raises ``DeclarationError`` for a
        path that is in use, or a handler that declares nothing.
        """
        found: list[AdmissionWebhook] = []
        for handler in handlers:
            if declared_conversion(handler) is not None:
                self._converters.append(instance_of(handler))
                continue
            declared = webhooks_of(handler, self._run_coroutine)
            if not declared:
                raise DeclarationError(
                    f"{handler!r} declares no webhook; decorate a function or method with "
                    "@default, @validate or @mutate_raw, or a class with @conversion"
                )
            found += declared
        if path is not None and found:
            self._add(_chain(path, found))
        else:
            for webhook in found:
                self._add(webhook)

    def convertible(self, *versions: type[Resource]) -> None:
        """Require that all these versions can be converted; :meth:`endpoints` checks it."""
        self._versions += versions

    def is_empty(self) -> bool:
        """Return True if nothing was registered."""
        return not (self._by_path or self._converters or self._versions)

    @property
    def manifests(self) -> tuple[WebhookManifest, ...]:
        """The registrations of the admission webhooks, sorted by path."""
        return tuple(self._by_path[path].manifest for path in sorted(self._by_path))

    def conversions(self) -> list[KindConversions]:
        """Return the conversions, one for each kind. Raises ``DeclarationError``."""
        converters: dict[tuple[str, str], list[Any]] = defaultdict(list)
        versions: dict[tuple[str, str], list[type[Resource]]] = defaultdict(list)
        for converter in self._converters:
            declared = declared_conversion(converter)
            if declared is not None:
                converters[_group_kind(declared.hub)].append(converter)
        for version in self._versions:
            versions[_group_kind(version)].append(version)
        return [
            KindConversions(converters[kind], versions[kind])
            for kind in sorted(converters.keys() | versions.keys())
        ]

    def endpoints(
        self, calls: CallLimiter, metrics: MetricsProvider = NO_METRICS
    ) -> dict[str, Handler]:
        """Return the handlers by path. Raises ``DeclarationError``."""
        bugs = metrics.counter(WEBHOOK_PANICS)
        conversion_bugs = metrics.counter(CONVERSION_WEBHOOK_PANICS)
        endpoints: dict[str, Handler] = {
            path: AdmissionEndpoint(
                path=path,
                handler=webhook.handler,
                calls=calls,
                bugs=bugs,
                timeout=webhook.manifest.timeout_seconds,
            )
            for path, webhook in self._by_path.items()
        }
        if conversions := self.conversions():
            if CONVERSION_PATH in endpoints:
                raise DeclarationError(f"{CONVERSION_PATH} is the path of conversions")
            endpoints[CONVERSION_PATH] = ConversionEndpoint(
                conversions, calls=calls, bugs=conversion_bugs
            )
        return endpoints

    def _add(self, webhook: AdmissionWebhook) -> None:
        path = webhook.manifest.path
        if path in self._by_path:
            raise DeclarationError(
                f"webhooks {self._by_path[path].manifest.name!r} and "
                f"{webhook.manifest.name!r} are both at {path!r}; give one another path, or "
                "register them together with register(..., path=...)"
            )
        self._by_path[path] = webhook


def _chain(path: str, webhooks: Sequence[AdmissionWebhook]) -> AdmissionWebhook:
    """Return several webhooks as one, registered for the operations of all."""
    first = webhooks[0].manifest
    for other in webhooks[1:]:
        for name in ("mutating", "groups", "versions", "resources"):
            ours, theirs = getattr(first, name), getattr(other.manifest, name)
            if ours != theirs:
                raise DeclarationError(
                    f"webhooks {first.name!r} and {other.manifest.name!r} cannot share {path!r}: "
                    f"{name} of one is {ours}, of the other {theirs}"
                )
    wanted = {operation for webhook in webhooks for operation in webhook.manifest.operations}
    operations = tuple(operation for operation in Operation if operation in wanted)
    manifest = dataclasses.replace(first, path=path, operations=operations)
    return AdmissionWebhook(manifest, HandlerChain([webhook.handler for webhook in webhooks]))


def _group_kind(kind: type[Resource]) -> tuple[str, str]:
    resource = resource_of(kind)
    return resource.group, resource.kind
