"""The settings of a manager, with their defaults.

Source: controller-runtime pkg/manager Options; Java Operator SDK ConfigurationService.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypedDict

from clientgo.leaderelection import Timing
from clientgo.operator.cache.scope import (
    ALL,
    CacheScope,
    Namespaces,
    namespace_set,
    own_namespace,
)
from clientgo.operator.controller.declaration import ControllerConfig, changed_config
from clientgo.operator.errors import ConfigError
from clientgo.operator.settings.durations import Duration, positive_seconds, seconds
from clientgo.operator.settings.types import check_settings
from clientgo.operator.webhooks import WebhookOptions

OFF = "0"
"""As an address: no server."""

BUILT_IN_CHECKS: Final = ("caches", "sources", "webhook", "workers")
"""``workers`` is of the liveness, the others are of the readiness."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """Only one process at a time reconciles; see :mod:`clientgo.leaderelection`.

    ``id`` names the Lease, in ``namespace`` or that of the pod. ``release_on_cancel`` releases it
    at a stop, once everything that needs it has ended, so that the next process need not wait.

    With a number of ``shards`` all processes reconcile: they share the objects of controllers that
    need leadership; see :mod:`clientgo.sharding`.
    """

    id: str
    namespace: str = ""
    identity: str = ""
    lease: Duration = 15.0
    renew: Duration = 10.0
    retry: Duration = 2.0
    release_on_cancel: bool = True
    shards: int = 0

    def checked(self) -> LeaderElection:
        """Return the same, complete. Raises ``ConfigError``."""
        if not self.id:
            raise ConfigError("leader election needs an id, which all replicas share")
        if self.shards < 0:
            raise ConfigError(f"shards must not be negative, but {self.shards} is")
        self.timing()
        return replace(self, namespace=self.namespace or own_namespace())

    def timing(self) -> Timing:
        try:
            return Timing(
                lease_duration=seconds(self.lease, "lease"),
                renew_deadline=seconds(self.renew, "renew"),
                retry_period=seconds(self.retry, "retry"),
            )
        except ValueError as error:
            raise ConfigError(f"leader election {self.id}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerConfig:
    """The settings of a manager.

    ``namespaces``: what is watched unless a controller says otherwise. ``metrics`` and ``health``
    are addresses (``:8080``), ``"0"`` for none, port 0 for a free one. ``liveness_path`` and
    ``readiness_path`` are served at ``health``; ``checks`` names those of :data:`BUILT_IN_CHECKS`
    that they run. ``metrics_per_namespace`` counts runs by namespace too; ``secure_metrics`` serves
    metrics over TLS, to those who may read them, with ``tls.crt`` and ``tls.key`` of
    ``metrics_cert_dir`` or a self-signed certificate. ``debug`` serves
    :mod:`clientgo.observe.debug` beside them: it shows names of objects, errors and the stacks of
    all threads.

    ``cache`` and ``cache_by_kind``: what is cached, and how; ``allow_duplicate_projection`` lets a
    kind be cached both whole and by its metadata, ``implicit_informers`` lets reads begin to cache
    an undeclared kind. ``workers_by_kind`` has numbers of workers by ``Kind.group``;
    ``controllers`` settings by the name of a controller, under ``"*"`` those of all; what a
    controller itself says wins.

    ``graceful_shutdown`` is how long a stop may take, None for ever, 0 not at all. ``check_crds``
    makes missing kinds an error of the start. ``values`` is ``ctx.values`` of all reconcilers.
    """

    name: str = "operator"
    namespaces: Namespaces = ALL
    metrics: str = ":8080"
    metrics_per_namespace: bool = False
    secure_metrics: bool = False
    metrics_cert_dir: str | None = None
    debug: bool = False
    health: str = OFF
    liveness_path: str = "/healthz"
    readiness_path: str = "/readyz"
    checks: Collection[str] = BUILT_IN_CHECKS
    webhook: WebhookOptions | None = None
    leader_election: LeaderElection | None = None
    cache: CacheScope | None = None
    cache_by_kind: Mapping[Any, CacheScope] = field(default_factory=dict)
    allow_duplicate_projection: bool = False
    implicit_informers: bool = False
    workers: int = 1
    workers_by_kind: Mapping[str, int] = field(default_factory=dict)
    graceful_shutdown: float | None = 30.0
    cache_sync_timeout: float = 120.0
    controllers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    check_crds: bool = False
    close_client_on_stop: bool = True
    values: Mapping[str, Any] = field(default_factory=dict)

    def checked(self) -> ManagerConfig:
        """Return the same, with lengths in seconds. Raises ``ConfigError``."""
        if self.workers < 1:
            raise ConfigError(f"workers must be at least 1, not {self.workers}")
        for check in self.checks:
            if check not in BUILT_IN_CHECKS:
                raise ConfigError(
                    f"there is no built-in check {check!r}, but {', '.join(BUILT_IN_CHECKS)}"
                )
        for path in (self.liveness_path, self.readiness_path):
            if not path.startswith("/") or path.endswith("/"):
                raise ConfigError(f"{path!r} is no path: write it like /healthz")
        for settings in self.controllers.values():
            changed_config(ControllerConfig(), settings).checked()
        namespace_set(self.namespaces)
        if self.debug and self.metrics == OFF:
            raise ConfigError("debug=True needs the metrics server, which metrics='0' turns off")
        grace = self.graceful_shutdown
        length = None if grace is None else seconds(grace, "graceful_shutdown")
        return replace(
            self,
            graceful_shutdown=None if length is not None and length < 0 else length,
            cache_sync_timeout=positive_seconds(self.cache_sync_timeout, "cache_sync_timeout"),
            leader_election=self.leader_election and self.leader_election.checked(),
        )


class ManagerSettings(TypedDict, total=False):
    """What ``Manager`` accepts; :class:`ManagerConfig` has the result."""

    name: str
    namespaces: Namespaces
    metrics: str
    metrics_per_namespace: bool
    secure_metrics: bool
    metrics_cert_dir: str | None
    debug: bool
    health: str
    liveness_path: str
    readiness_path: str
    checks: Collection[str]
    webhook: WebhookOptions | None
    leader_election: LeaderElection | None
    cache: CacheScope | None
    cache_by_kind: Mapping[Any, CacheScope]
    allow_duplicate_projection: bool
    implicit_informers: bool
    workers: int
    workers_by_kind: Mapping[str, int]
    graceful_shutdown: Duration | None
    cache_sync_timeout: Duration
    controllers: Mapping[str, Mapping[str, Any]]
    check_crds: bool
    close_client_on_stop: bool
    values: Mapping[str, Any]


def changed_settings(config: ManagerConfig, changes: Mapping[str, Any]) -> ManagerConfig:
    """Return the settings with some replaced. Raises ``ConfigError`` for one that there is not."""
    check_settings(changes, ManagerSettings, "a manager")
    return replace(config, **changes)
