"""The manager: owns what controllers share.

Promises that whatever fails stops everything, and :meth:`Manager.run` raises it; that after a stop
no thread of the manager is left, or it has raised which are. It does not start again: make another.
Several managers in one process do not disturb each other.

Source: controller-runtime pkg/manager; Java Operator SDK Operator.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self, TypeVar, Unpack

from clientgo.observe.metrics import MetricsProvider
from clientgo.observe.serving import Handler
from clientgo.operator.cache.indexes import IndexFunction
from clientgo.operator.cache.object_cache import Kind, ObjectCache
from clientgo.operator.cache.scope import namespace_set
from clientgo.operator.client.configured_client import ClientOptions, client_of
from clientgo.operator.client.events import EventPublisher
from clientgo.operator.client.live_client import CachedClient, LiveClient
from clientgo.operator.controller import Controller, ControllerHealth
from clientgo.operator.controller.assembly import controller_of
from clientgo.operator.controller.builder import ControllerBuilder
from clientgo.operator.controller.declaration import (
    ControllerConfig,
    ControllerSettings,
    Declaration,
    declaration_of,
)
from clientgo.operator.controller.parts import Services
from clientgo.operator.errors import (
    DeclarationError,
    ManagerStoppedError,
)
from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.config import ManagerConfig, ManagerSettings, changed_settings
from clientgo.operator.manager.config_file import load_settings
from clientgo.operator.manager.leader import Leader
from clientgo.operator.manager.life_cycle import (
    LifeCycle,
    RunFunction,
    Runnable,
    run_function,
)
from clientgo.operator.manager.registry import ControllerRegistry
from clientgo.operator.manager.servers import BoundAddresses, Servers, metrics_of
from clientgo.operator.manager.stages import Stages
from clientgo.operator.metrics import BeforeScrape, MetricsSink
from clientgo.operator.reconciler import Shape, shape_of
from clientgo.operator.status_report import Keeper
from clientgo.operator.webhooks import Webhooks
from clientgo.util.clock import REAL_CLOCK, Clock
from clientgo.util.copies import uncopyable
from clientgo.util.process import ForkAwareContext

if TYPE_CHECKING:
    from clientgo.operator.addons.coroutines import OperatorLoop
    from clientgo.operator.manager.sharing import SharedWork

P = TypeVar("P")

_log = logging.getLogger("clientgo.operator.manager")


_LONGEST_WEBHOOK: Final = 30.0
"""Seconds; no API server waits longer for a webhook, so its coroutine is cancelled then."""


@uncopyable("it has threads; make one in each process")
class Manager(ForkAwareContext):
    """Runs controllers against one cluster. Thread-safe; a context manager.

        manager = Manager(workers=2)
        manager.register(FooReconciler())
        manager.run()

    ``cluster`` is a client or what ``Client`` takes: nothing, for the kubeconfig or pod.
    ``settings`` are those of :class:`ManagerConfig`; ``metrics_provider`` takes the metrics,
    ``sink`` is called with what the controllers do. Raises ``ConfigError`` of the operator layer
    and of ``clientgo.rest``.
    """

    def __init__(
        self,
        cluster: Any = None,
        config: ManagerConfig | None = None,
        *,
        metrics_provider: MetricsProvider | None = None,
        sink: MetricsSink | None = None,
        clock: Clock = REAL_CLOCK,
        **settings: Unpack[ManagerSettings],
    ) -> None:
        self.config = changed_settings(config or ManagerConfig(), settings).checked()
        self._life = LifeCycle(
            self.config.name,
            self.config.graceful_shutdown,
            start=lambda: self._stages.start(),
            stop=lambda grace: self._stages.stop(grace),
        )
        self.metrics_provider, page = metrics_of(self.config.metrics, metrics_provider)
        self.base = client_of(cluster, self.config.name, self.metrics_provider)
        self.cache = ObjectCache(
            self.base,
            default=self.config.cache,
            by_kind=self.config.cache_by_kind,
            duplicates=self.config.allow_duplicate_projection,
            implicit=self.config.implicit_informers,
            metrics=self.metrics_provider,
            clock=clock,
            on_crash=self._life.fail,
        )
        self._clock = clock
        self._sink = sink
        self._registry = ControllerRegistry(self.config)
        self._servers = Servers(self.config, page, self.metrics_provider, clock, self._run_webhook)
        self._refreshed = BeforeScrape(self.metrics_provider, self._refresh_metrics)
        self.events = EventPublisher(self.base, clock)
        self._leader = self._new_leader()
        self._sharing = self._new_sharing()
        self._unguarded = CachedClient(
            self.base, self.cache, ClientOptions(field_manager=self.config.name)
        )
        self.client = self._unguarded
        """Reads from the caches, and writes; raises after leadership was lost."""
        if self._leader is not None:
            self.client = self._unguarded.guarded(self._leader.check)
        if self._sharing is not None:
            self.client = self._unguarded.guarded(self._sharing.ownership.check)
        self._event_loop: OperatorLoop | None = None
        self._stages = Stages(
            config=self.config,
            client=self.base,
            cache=self.cache,
            registry=self._registry,
            servers=self._servers,
            events=self.events,
            leader=self._leader,
            sharing=self._sharing,
            metrics=self._refreshed,
            ending=self._life.ending,
            fail=self._life.fail,
            stop_event_loop=self._stop_event_loop,
        )
        if self.config.debug:
            self._serve_debug_page()
        self.elected = self._stages.elected
        """Set when what needs leadership has been started; without an election by the start."""

    @classmethod
    def load(
        cls,
        path: str | None = None,
        env: Mapping[str, str] | None = None,
        *,
        cluster: Any = None,
        metrics_provider: MetricsProvider | None = None,
        sink: MetricsSink | None = None,
        clock: Clock = REAL_CLOCK,
        **settings: Unpack[ManagerSettings],
    ) -> Self:
        """Return a manager with the settings of a file (TOML or YAML) and of the environment.

        ``settings`` win over variables, which win over the file; see ``manager/config_file.py``.
        Raises ``ConfigError``.
        """
        config = changed_settings(ManagerConfig(), {**load_settings(path, env), **settings})
        return cls(cluster, config, metrics_provider=metrics_provider, sink=sink, clock=clock)

    # Declaring

    @property
    def live(self) -> LiveClient:
        """Reads and writes at the API server, before the start too."""
        return self.client.live

    def controller(self, primary: Kind | None = None) -> ControllerBuilder[Any]:
        """Declare a controller step by step."""
        return ControllerBuilder(self._build, primary)

    def register(
        self, reconciler: object, **overrides: Unpack[ControllerSettings]
    ) -> Controller[Any]:
        """Add a reconciler whose class is decorated with ``@controller``.

        ``overrides`` replace settings of the decorator. A manager that runs starts it immediately.
        """
        declaration = declaration_of(reconciler)
        options = {**declaration.options, **overrides}
        return self._build(replace(declaration, options=options), reconciler)

    def add_runnable(
        self,
        runnable: Runnable | RunFunction,
        *,
        needs_leadership: bool = True,
        name: str = "",
    ) -> None:
        """Run something beside the controllers, by default where they run: in the leader.

        Raises ``ManagerStoppedError``.
        """
        run = run_function(runnable)
        if needs_leadership and self._sharing is not None:
            raise DeclarationError(
                f"{name or runnable}: with shards all processes work and none leads; pass "
                "needs_leadership=False, or run it in a manager without shards"
            )
        self._life.check_not_stopped()
        group = self._stages.leading if needs_leadership else self._stages.always
        group.add(name or getattr(run, "__qualname__", "runnable"), run)

    def add_cluster(self, cluster: Cluster) -> None:
        """Start and stop the caches of another cluster with those of this one.

        Raises ``DeclarationError`` after the start.
        """
        with self._life.lock:
            if not self._life.is_new:
                raise DeclarationError(f"add cluster {cluster.name} before the manager is started")
            self._stages.clusters.append(cluster)

    def webhook(self, *handlers: Any, path: str | None = None) -> None:
        """Serve what functions, objects or classes declare with ``@default``, ``@validate`` ...

        Every replica serves them, leader or not. Raises ``DeclarationError``.
        """
        self._servers.webhooks.register(*handlers, path=path)

    @property
    def webhooks(self) -> Webhooks:
        """All of them, for code that registers them with the API server."""
        return self._servers.webhooks

    def add_healthz(self, name: str, check: Callable[[], object]) -> None:
        """A reason for a restart if it raises. Raises ``DeclarationError`` after the start."""
        self._servers.add_check(self._servers.healthz, name, check)

    def add_readyz(self, name: str, check: Callable[[], object]) -> None:
        """A reason to wait if it raises. Raises ``DeclarationError`` after the start."""
        self._servers.add_check(self._servers.readyz, name, check)

    def add_metrics_path(self, path: str, handler: Handler) -> None:
        """Serve something more beside ``/metrics``. Raises ``DeclarationError``."""
        self._servers.add_metrics_path(path, handler)

    @property
    def bound(self) -> BoundAddresses:
        """Where the servers listen while the manager runs."""
        return self._servers.bound

    def index(self, kind: Kind, name: str, function: IndexFunction) -> None:
        """Index a kind, so that cached lists can select by ``fields={name: value}``.

        Raises ``DeclarationError`` for a name that is taken, and once the kind is cached.
        """
        self.cache.index(kind, name, function)

    # Running

    def run(self, *, signals: bool = True) -> None:
        """Start, block until stopped, and stop. Raises what made it fail.

        With ``signals`` SIGINT and SIGTERM stop it, during the start too; a second one ends the
        process with status 1. Raises ``RuntimeError`` where signals cannot be handled.
        """
        self._life.run(signals=signals)

    def start(self) -> None:
        """Start everything; return when the caches are filled and, if this process leads or needs
        no leader, the controllers work.

        Raises ``AlreadyStartedError``, ``ManagerStoppedError`` (also if it is stopped meanwhile),
        ``CacheSyncTimeoutError``, ``ConfigError``; a start that failed has been undone.
        """
        if not self._life.begin():
            raise ManagerStoppedError("this manager was stopped while it started")

    def stop(self) -> None:
        """Stop everything; block until it has ended, or the time for that is over.

        Raises what made the manager fail, and ``ShutdownTimeoutError``. A second call only waits.
        """
        try:
            self._life.end()
        finally:
            self._refreshed.close()

    def _begin_block(self) -> None:
        self.start()

    def _end_block(self) -> None:
        self.stop()

    # How it is doing

    def controllers(self) -> list[Controller[Any]]:
        return self._registry.all()

    def health(self) -> list[ControllerHealth]:
        """How the controllers and their sources are doing."""
        return self._stages.health.report()

    # Inside

    def _refresh_metrics(self) -> None:
        for controller in self._registry.all():
            controller.refresh_metrics()
        for cache in self.cache.caches():
            cache.own_writes.statistics()  # ends what has expired

    def _serve_debug_page(self) -> None:
        from clientgo.observe.debug import DEBUG_PATH  # for those who ask for it
        from clientgo.operator.manager.debugging import manager_page

        page = manager_page(self._registry, self.cache, self._stages.clusters, self._standby)
        self._servers.add_metrics_path(DEBUG_PATH, page.respond)
        _log.info(
            "%s: %s is served beside the metrics: it shows objects, errors and stacks to all who "
            "can reach it",
            self.config.name,
            DEBUG_PATH,
        )

    def _new_sharing(self) -> SharedWork | None:
        settings = self.config.leader_election
        if settings is None or not settings.shards:
            return None
        from clientgo.operator.manager.sharing import SharedWork  # for those who share

        return SharedWork(settings, self.base.config, lambda: self._stages.led(), self._clock)

    def _standby(self) -> str:
        """Return why this process does not do what needs leadership; empty if it does."""
        if self._leader is None or self.elected.is_set():
            return ""
        lease, holder = self._leader.settings, self._leader.holder()
        return (
            f"this process ({self._leader.identity}) does not lead: lease "
            f"{lease.namespace}/{lease.id} is held by {holder or 'no process that is known'}"
        )

    def _new_leader(self) -> Leader | None:
        settings = self.config.leader_election
        if settings is None or settings.shards:
            return None
        recorder = self.events.recorder(self.config.name)
        return Leader(
            settings,
            self.base,
            recorder,
            self.metrics_provider,
            self._clock,
            grace=self.config.graceful_shutdown,
        )

    def _new_event_loop(self) -> OperatorLoop:
        """Return the loop of this manager; the first caller makes it, and imports asyncio."""
        from clientgo.operator.addons.coroutines import OperatorLoop

        with self._life.lock:
            if self._event_loop is None:
                self._event_loop = OperatorLoop(self.config.name, self._life.fail)
            return self._event_loop

    def _run_webhook(self, name: str, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._new_event_loop().run(name, coroutine, timeout=_LONGEST_WEBHOOK)

    def _stop_event_loop(self, timeout: float | None) -> list[str]:
        return [] if self._event_loop is None else self._event_loop.stop(timeout)

    def _with_addons(
        self, shape: Shape, declaration: Declaration, config: ControllerConfig
    ) -> tuple[Shape, Keeper | None]:
        """Return what the add-ons make of a reconciler; what is not used is not imported."""
        if declaration.dependents:
            from clientgo.operator.addons.dependents import with_dependents

            shape = with_dependents(shape, declaration, config.name, self._clock)
        if shape.tasks:
            from clientgo.operator.addons.tasks import with_tasks

            shape = with_tasks(shape, config, shared=self._sharing is not None)
        if not declaration.changes:
            return shape, None
        from clientgo.operator.addons.changes import keeper_of

        return shape, keeper_of(declaration, shape, config.name)

    def _build(self, declaration: Declaration, reconciler: object) -> Controller[Any]:
        config = self._registry.settings_of(declaration)
        shape, keeper = self._with_addons(shape_of(reconciler, config.name), declaration, config)
        ownership = None
        if self._sharing is not None and config.needs_leadership:
            ownership = self._sharing.ownership
        services = Services(
            client=self.client if config.needs_leadership else self._unguarded,
            cache=self.cache,
            namespaces=namespace_set(self.config.namespaces),
            clock=self._clock,
            metrics=self.metrics_provider,
            recorder=self.events.recorder,
            crashed=self._life.fail,
            values=self.config.values,
            metrics_per_namespace=self.config.metrics_per_namespace,
            sink=self._sink,
            standby=self._standby,
            ownership=ownership,
            event_loop=self._new_event_loop,
            finalizers=self._registry.finalizers,
        )
        with self._life.lock:
            self._life.check_not_stopped()
            self._registry.check_new(config.name, allow_duplicate=config.allow_duplicate_name)
            controller: Controller[Any] = controller_of(
                services, declaration, shape, config, keeper
            )
            self._registry.add(controller)
        if shape.setup is not None:
            shape.setup(self)
        if self._life.has_started:
            self._stages.start_late(controller)
        return controller
