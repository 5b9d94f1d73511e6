"""The HTTP servers of a manager: health, metrics, webhooks.

Promises that they answer from the start of a manager to the end of its stop, also while caches
fill, which may need a conversion webhook. Source: controller-runtime pkg/manager,
pkg/metrics/server.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from clientgo.client import Client
from clientgo.observe.metrics import NO_METRICS, MetricsProvider
from clientgo.observe.serving import Handler, HealthChecks, Server, ServingError
from clientgo.operator.cache.scope import own_namespace
from clientgo.operator.certificates.self_signed import (
    SelfSignedCertificates,
    self_signed_certificates,
)
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.operator.manager.config import OFF, ManagerConfig
from clientgo.operator.manager.life_cycle import RunnableGroup
from clientgo.operator.manager.metrics_access import MetricsAccess, tls_of
from clientgo.operator.manager.registry import ManagerHealth
from clientgo.operator.webhooks import RunCoroutine, WebhookOptions, Webhooks, WebhookServer
from clientgo.util.clock import Clock
from clientgo.util.process import deadline_after, time_left

METRICS_PATH: Final = "/metrics"


@dataclass(frozen=True, slots=True)
class BoundAddresses:
    """The URLs of a manager's servers; empty for those that do not run."""

    metrics: str = ""
    health: str = ""
    webhooks: str = ""


class Servers:
    """The servers of one manager. Declare before :meth:`start`; thread-safe after it.

    Raises ``ConfigError`` for bad addresses.
    """

    def __init__(
        self,
        config: ManagerConfig,
        metrics_page: Handler | None,
        provider: MetricsProvider,
        clock: Clock,
        run_coroutine: RunCoroutine,
    ) -> None:
        for address in (config.health, config.metrics):
            _check_address(address)
        self.healthz = HealthChecks(config.liveness_path.strip("/"))
        self.readyz = HealthChecks(config.readiness_path.strip("/"))
        self.webhooks = Webhooks(run_coroutine)
        self._config = config
        self._paths: dict[str, Handler] = {}
        if metrics_page is not None:
            self._paths[METRICS_PATH] = metrics_page
        self._started = False
        self._running: dict[str, Server] = {}
        self._access: MetricsAccess | None = None
        self._webhook_options = config.webhook or WebhookOptions()
        self._webhook_server: WebhookServer | None = None
        self._certificates: SelfSignedCertificates | None = None
        self._keepers: RunnableGroup | None = None
        self._provider = provider
        self._clock = clock

    @property
    def bound(self) -> BoundAddresses:
        """The URLs by which this machine reaches them, while they run."""
        webhooks = self._webhook_server
        return BoundAddresses(
            metrics=self._url("metrics"),
            health=self._url("health"),
            webhooks="" if webhooks is None else webhooks.url,
        )

    def add_check(self, checks: HealthChecks, name: str, check: Callable[[], object]) -> None:
        """Add a check. Raises ``DeclarationError`` after the start, or for a name in use."""
        self._check_not_started(f"health check {name!r}")
        if name in self._config.checks:
            raise DeclarationError(f"{name!r} is a built-in check; choose another name")
        try:
            checks.add(name, check)
        except ValueError as error:
            raise DeclarationError(str(error)) from None

    def add_metrics_path(self, path: str, handler: Handler) -> None:
        """Serve another path beside the metrics. ``/metrics`` itself is in use."""
        self._check_not_started(f"path {path!r}")
        if path == METRICS_PATH or path in self._paths:
            raise DeclarationError(f"the metrics server has a path {path!r} already")
        self._paths[path] = handler

    def start(self, health: ManagerHealth, client: Client) -> None:
        """Begin to serve, with the manager's own checks added.

        ``client`` reviews the access to secure metrics. Raises ``ConfigError``.
        """
        self._add_built_in(self.readyz, "caches", health.check_caches)
        self._add_built_in(self.readyz, "sources", health.check_sources)
        self._add_built_in(self.healthz, "workers", health.check_workers)
        self._started = True
        config = self._config
        pages = {
            config.liveness_path: self.healthz.respond,
            config.readiness_path: self.readyz.respond,
        }
        self._serve("health", config.health, pages)
        self._serve_metrics(client)
        if not self.webhooks.is_empty() and self._webhook_options.is_enabled():
            server = WebhookServer(
                self._webhook_options, self.webhooks, metrics=self._provider, clock=self._clock
            )
            self._add_built_in(self.readyz, "webhook", server.check)
            server.start()
            self._webhook_server = server

    def keep_certificates(
        self,
        client: Client,
        is_leader: Callable[[], bool],
        failed: Callable[[BaseException], object],
    ) -> None:
        """Begin to make, share and renew the certificate of the webhooks, if configured.

        Does not wait for caches or leadership, which may wait for the webhooks. Raises
        ``ConfigError`` without the package ``cryptography``, and if the namespace of this process
        is unknown.
        """
        server = self._webhook_server
        if server is None or self._webhook_options.certs != "self":
            return
        self._certificates = self_signed_certificates(
            server,
            client,
            operator=self._config.name,
            namespace=own_namespace(),
            is_leader=is_leader,
            clock=self._clock,
        )
        self._keepers = RunnableGroup(failed)
        self._keepers.add("webhook-own-certificates", self._certificates.run)
        self._keepers.start()

    def elected(self) -> None:
        """Let the leader write certificates now."""
        if self._certificates is not None:
            self._certificates.wake()

    def stop_webhooks(self, timeout: float | None) -> list[str]:
        """Stop the webhooks; return the names of threads that did not end in time."""
        server = self._webhook_server
        if server is None:
            return []
        deadline = deadline_after(timeout)
        alive = [] if self._keepers is None else self._keepers.stop(timeout)
        left = time_left(deadline)
        return alive + (server.stop() if left is None else server.stop(left))

    def stop(self) -> None:
        """Stop the other servers; block until requests in progress are answered. Idempotent."""
        for server in self._running.values():
            server.stop()
        self._running.clear()
        if self._access is not None:
            self._access.close()

    def _serve_metrics(self, client: Client) -> None:
        config = self._config
        if config.metrics == OFF or not config.secure_metrics:
            self._serve("metrics", config.metrics, self._paths)
            return
        self._access = access = MetricsAccess(client, self._clock)
        pages = {path: access.guarded(page) for path, page in self._paths.items()}
        tls = tls_of(config.metrics_cert_dir, self._clock)
        self._serve("metrics", config.metrics, pages, tls)

    def _add_built_in(self, checks: HealthChecks, name: str, check: Callable[[], object]) -> None:
        if name in self._config.checks:
            checks.add(name, check)

    def _serve(
        self,
        name: str,
        address: str,
        paths: Mapping[str, Handler],
        tls: Callable[[], ssl.SSLContext] | None = None,
    ) -> None:
        if address == OFF or not paths:
            return
        server = Server(address, paths, name=name, tls=tls)
        try:
            server.start()
        except ServingError as error:
            raise ConfigError(f"{name}={address!r}: {error}") from error
        self._running[name] = server

    def _url(self, name: str) -> str:
        server = self._running.get(name)
        return "" if server is None else server.url

    def _check_not_started(self, what: str) -> None:
        if self._started:
            raise DeclarationError(f"{what} comes too late: add it before the manager is started")


def metrics_of(
    address: str, provider: MetricsProvider | None
) -> tuple[MetricsProvider, Handler | None]:
    """Return where a manager's metrics go, by default a registry of its own, and the page that
    shows them.

    Raises ``ConfigError`` if the package for that is missing.
    """
    if address == OFF:
        return provider or NO_METRICS, None
    try:
        from prometheus_client import CollectorRegistry

        from clientgo.observe.metrics.prometheus import PrometheusProvider
        from clientgo.observe.serving.metrics import metrics_handler
    except ImportError as error:
        raise ConfigError(
            "serving metrics needs the package prometheus-client: pip install "
            "'clientgo[metrics]', or pass metrics='0'"
        ) from error
    if provider is None:
        registry = CollectorRegistry()
        return PrometheusProvider(registry), metrics_handler(registry)
    registry_of: Any = getattr(provider, "registry", None)
    return provider, None if registry_of is None else metrics_handler(registry_of)


def _check_address(address: str) -> None:
    _host, colon, port = address.rpartition(":")
    if address != OFF and not (colon and port.isdecimal() and int(port) <= 65535):
        raise ConfigError(f"{address!r} is no address: write HOST:PORT or :PORT, or '0' for none")
