"""The manager: owns what controllers share, and starts and stops everything in the right order.

::

    start   servers ► caches ► what needs no leader ► leadership ► controllers
    stop    what needs no leader ► controllers ► leadership ► caches ► servers ► events

Promises: no stage begins before the earlier one is ready; the lease is given up only when nothing
that needs it runs any more; whatever fails stops everything, and :meth:`Manager.run` raises it;
when a stop has returned no thread of the manager is left, or it has raised which are.

Does not promise to start again: make another manager. Several in one process do not disturb each
other.

Source: controller-runtime pkg/manager; Java Operator SDK Operator.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from enum import Enum
from typing import Any, Final, Self, TypeVar, Unpack

from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import MetricsProvider
from clientgo.operator.builder import ControllerBuilder
from clientgo.operator.cache.indexes import IndexFunction
from clientgo.operator.cache.object_cache import Kind, ObjectCache
from clientgo.operator.cache.scope import namespace_set
from clientgo.operator.client.cached_client import CachedClient
from clientgo.operator.client.configured_client import ClientOptions
from clientgo.operator.client.connection import client_of
from clientgo.operator.client.event_recorder import EventOutlet
from clientgo.operator.client.live_client import LiveClient
from clientgo.operator.controller import Controller, ControllerHealth
from clientgo.operator.controller.config import ControllerSettings
from clientgo.operator.controller.declaration import Declaration, declaration_of
from clientgo.operator.dependents.workflow import with_dependents
from clientgo.operator.errors import (
    AlreadyStartedError,
    CancelledError,
    DeclarationError,
    LeadershipLostError,
    ManagerStoppedError,
    ShutdownTimeoutError,
)
from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.config import ManagerConfig, ManagerSettings, changed_settings
from clientgo.operator.manager.config_file import load_settings
from clientgo.operator.manager.health import ManagerHealth
from clientgo.operator.manager.leader import Leader
from clientgo.operator.manager.refreshed_metrics import RefreshedMetrics
from clientgo.operator.manager.registry import ControllerRegistry
from clientgo.operator.manager.runnables import (
    RunFunction,
    Runnable,
    RunnableGroup,
    run_function,
    within,
)
from clientgo.operator.manager.served_kinds import check_served
from clientgo.operator.manager.servers import BoundAddresses, Servers, metrics_of
from clientgo.operator.metrics_sink import MetricsSink
from clientgo.operator.reconciler import shape_of
from clientgo.operator.services import Services
from clientgo.operator.webhooks import Webhooks
from clientgo.serving import Handler
from clientgo.wait import StopEvent, call_when_set, stop_on_signals

P = TypeVar("P")

_CLOSING_TIME: Final = 5.0
"""Seconds that sources, caches and servers have at least, after the work has ended or not."""

_log = logging.getLogger("clientgo.operator.manager")


class _Phase(Enum):
    NEW = "new"
    RUNNING = "running"
    STOPPED = "stopped"


class Manager:
    """Runs controllers against one cluster. Thread-safe; a context manager.

    ::

        manager = Manager(workers=2)
        manager.register(FooReconciler())
        manager.run()

    ``cluster`` is a client or whatever :class:`~clientgo.client.Client` takes: nothing, for the
    kubeconfig or pod at hand. ``settings`` are those of :class:`ManagerConfig`;
    ``metrics_provider`` is where numbers go, ``sink`` is told what the controllers do.

    Raises :class:`~clientgo.operator.errors.ConfigError`, :class:`~clientgo.rest.ConfigError`.
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
            on_crash=self._fail,
        )
        self.elected = threading.Event()
        """Set when what needs leadership has been started; at once without an election."""
        self._clock = clock
        self._sink = sink
        self._registry = ControllerRegistry(self.config)
        self._health = ManagerHealth(self._registry.all, self._warm)
        self._servers = Servers(self.config, page, self.metrics_provider, clock)
        self._refreshed = RefreshedMetrics(self.metrics_provider, self._registry.all, self.cache)
        self.events = EventOutlet(self.base, clock)
        self._leader = self._new_leader()
        self._unguarded = CachedClient(
            self.base, self.cache, ClientOptions(field_manager=self.config.name)
        )
        self.client = self._unguarded
        """Reads from the caches, and writes; raises after leadership was lost."""
        if self._leader is not None:
            self.client = self._unguarded.guarded(self._leader.check)
        self._lock = threading.RLock()
        self._phase = _Phase.NEW
        self._clusters: list[Cluster] = []
        self._always = RunnableGroup(self._fail)
        self._leading = RunnableGroup(self._fail)
        self._failure: BaseException | None = None
        self._alive: list[str] = []
        self._started = threading.Event()
        self._ending = StopEvent()
        self._ended = threading.Event()

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
        """A manager with the settings of a file (TOML or YAML) and of the environment.

        ``settings`` win over variables (``CLIENTGO_OPERATOR_WORKERS=4``), which win over the file;
        see :mod:`clientgo.operator.manager.config_file`. Raises
        :class:`~clientgo.operator.errors.ConfigError`.
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

        ``overrides`` replace settings of the decorator. A manager that runs starts it at once.
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

        Raises :class:`~clientgo.operator.errors.ManagerStoppedError`.
        """
        run = run_function(runnable)
        self._check_not_stopped()
        group = self._leading if needs_leadership else self._always
        group.add(name or getattr(run, "__qualname__", "runnable"), run)

    def add_cluster(self, cluster: Cluster) -> None:
        """Start and stop the caches of another cluster with those of this one.

        Raises ``DeclarationError`` after the start.
        """
        with self._lock:
            if self._phase is not _Phase.NEW:
                raise DeclarationError(f"add cluster {cluster.name} before the manager is started")
            self._clusters.append(cluster)

    def webhook(self, *handlers: Any, path: str | None = None) -> None:
        """Serve what functions, objects or classes declare with ``@default``, ``@validate`` ...

        Every replica serves them, leader or not. Raises ``DeclarationError``.
        """
        self._servers.webhooks.register(*handlers, path=path)

    @property
    def webhooks(self) -> Webhooks:
        """All of them, for whoever registers them with the API server."""
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
        with stop_on_signals() if signals else nullcontext(StopEvent()) as stop:
            registration = call_when_set(stop, self._ending.set)
            try:
                if self._begin():
                    self._wait_and_stop()
            finally:
                registration.cancel()

    def start(self) -> None:
        """Start everything; returns when the caches are filled and, if this process leads or
        needs no leader, the controllers work.

        Raises :class:`~clientgo.operator.errors.AlreadyStartedError`, ``ManagerStoppedError``
        (also if it is stopped meanwhile), ``CacheSyncTimeoutError``, ``ConfigError``; a start that
        failed has been undone.
        """
        if not self._begin():
            raise ManagerStoppedError("this manager was stopped while it started")

    def stop(self) -> None:
        """Stop everything; blocks until it has ended, or the time for that is over.

        Raises what made the manager fail, and
        :class:`~clientgo.operator.errors.ShutdownTimeoutError`. A second call only waits.
        """
        if self._shut_down():
            self._raise_outcome()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # How it is doing

    def controllers(self) -> list[Controller[Any]]:
        return self._registry.all()

    def health(self) -> list[ControllerHealth]:
        """How the controllers and their sources are doing."""
        return self._health.report()

    # Inside: starting

    def _begin(self) -> bool:
        """Start; False if it was stopped meanwhile, and has ended."""
        with self._lock:
            self._check_not_stopped()
            if self._phase is _Phase.RUNNING:
                raise AlreadyStartedError("this manager runs already")
            self._phase = _Phase.RUNNING
        try:
            self._start(self._registry.all())
        except CancelledError:
            self._started.set()
            self.stop()
            return False
        except BaseException as error:
            self._fail(error)
            self._started.set()
            self._shut_down()
            raise
        self._started.set()
        return True

    def _wait_and_stop(self) -> None:
        try:
            self._ending.wait()
        finally:
            self._shut_down()
            self._raise_outcome()

    def _start(self, controllers: list[Controller[Any]]) -> None:
        self._registry.check_settings()
        if self.config.check_crds:
            check_served(self.base, [controller.primary for controller in controllers])
        if self._leader is not None:
            self._leader.check_permissions()
        self._refreshed.refresh()
        self._servers.start(self._health, self.base)
        self._servers.keep_certificates(self.base, self._leads, self._fail)
        self.cache.start()
        for cluster in self._clusters:
            cluster.start()
        warm = self._warm()
        for controller in warm:
            controller.start_sources(self._ending)
        for controller in warm:
            self._wait_synced(controller, self._ending)
        self._always.start()
        for controller in controllers:
            if self._leader is None or not controller.config.needs_leadership:
                controller.start_workers()
        if self._leader is None:
            self._leading.start()
            self.elected.set()
        else:
            self._leader.start(self._lead, self._lost)

    def _warm(self) -> list[Controller[Any]]:
        """The controllers whose sources run, whether this process leads or not."""
        leads = self._leads()
        return [
            controller
            for controller in self._registry.all()
            if leads or controller.config.warmup or not controller.config.needs_leadership
        ]

    def _leads(self) -> bool:
        return self._leader is None or self.elected.is_set()

    def _wait_synced(self, controller: Controller[Any], stop: threading.Event) -> None:
        controller.wait_synced(controller.config.cache_sync_timeout, stop)

    def _lead(self, stop: threading.Event) -> None:
        """The guarded work: everything that needs leadership, until ``stop`` is set.

        It returns when nothing of it is left: before that the lease must not be given up.
        """
        led = [c for c in self._registry.all() if c.config.needs_leadership]
        cold = [controller for controller in led if not controller.config.warmup]
        try:
            for controller in cold:
                controller.start_sources(stop)
            for controller in cold:
                self._wait_synced(controller, stop)
        except CancelledError:
            return
        for controller in led:
            controller.start_workers()
        self._leading.start()
        self.elected.set()
        self._servers.elected()
        _log.info("%s: leads", self.config.name)
        stop.wait()
        self._stop_leading(None)

    def _lost(self, error: BaseException | None) -> None:
        self._fail(
            error
            or LeadershipLostError(
                f"{self.config.name}: this process does not lead any more, and ends; another one "
                "may lead. Start it again to make it a candidate"
            )
        )

    # Inside: stopping

    def _shut_down(self) -> bool:
        """Stop everything, or wait for whoever does; returns whether this call has."""
        with self._lock:
            first = self._phase is _Phase.RUNNING
            never = self._phase is _Phase.NEW
            self._phase = _Phase.STOPPED
        self._ending.set()
        if first:
            self._started.wait()
            try:
                self._alive = self._stop_all()
            finally:
                self._ended.set()
        elif never:
            self._ended.set()
        self._ended.wait()
        self._refreshed.close()
        return first

    def _raise_outcome(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._alive:
            raise ShutdownTimeoutError(self._alive, self._grace() or 0.0)

    def _stop_all(self) -> list[str]:
        grace = self._grace()
        deadline = None if grace is None else time.monotonic() + grace
        controllers = self._registry.all()
        alive = self._always.stop(_left(deadline))
        leader = [] if self._leader is None else self._leader.stop(_left(deadline))
        work = self._stop_leading(_left(deadline)) + _stop_workers(controllers, _left(deadline))
        # A leader waits for its work: it is not what has to be found.
        alive += work or leader
        if deadline is not None and grace:
            # What follows takes a moment, which work that goes on must not use up.
            deadline = max(deadline, time.monotonic() + _CLOSING_TIME)
        for controller in controllers:
            alive += within(deadline, f"{controller.name}-sources", controller.stop_sources)
        alive += within(deadline, "caches", self.cache.stop)
        for cluster in self._clusters:
            alive += within(deadline, f"cluster-{cluster.name}", cluster.stop)
        alive += self._servers.stop_webhooks(_left(deadline))
        alive += within(deadline, "http-servers", self._servers.stop)
        alive += within(deadline, "events", self.events.shutdown)
        if self.config.close_client_on_stop:
            self.base.close()
        _log.info("%s: stopped", self.config.name)
        # Whoever does not want to wait does not want to hear of what still runs either.
        return sorted(set(alive)) if grace != 0 else []

    def _stop_leading(self, timeout: float | None) -> list[str]:
        led = [c for c in self._registry.all() if c.config.needs_leadership]
        self._leading.stop_event.set()
        return _stop_workers(led, timeout) + self._leading.stop(timeout)

    def _grace(self) -> float | None:
        """How long the stop may take; none where another may lead already."""
        grace: float | None = self.config.graceful_shutdown
        return 0.0 if isinstance(self._failure, LeadershipLostError) else grace

    def _fail(self, error: BaseException) -> None:
        """Something failed that must not; the manager ends, and raises the first such error."""
        with self._lock:
            if self._failure is None:
                self._failure = error
            elif self._failure is not error:
                self._failure.add_note(f"then {type(error).__name__}: {error}")
        _log.error("%s: stops because of %r", self.config.name, error)
        self._ending.set()

    # Inside: building

    def _new_leader(self) -> Leader | None:
        settings = self.config.leader_election
        if settings is None:
            return None
        recorder = self.events.recorder(self.config.name)
        grace: float | None = self.config.graceful_shutdown
        return Leader(
            settings, self.base, recorder, self.metrics_provider, self._clock, grace=grace
        )

    def _build(self, declaration: Declaration, reconciler: object) -> Controller[Any]:
        config = self._registry.settings_of(declaration)
        shape = with_dependents(
            shape_of(reconciler, config.name), declaration, config.name, self._clock
        )
        services = Services(
            client=self.client if config.needs_leadership else self._unguarded,
            cache=self.cache,
            namespaces=namespace_set(self.config.namespaces),
            clock=self._clock,
            metrics=self.metrics_provider,
            recorder=self.events.recorder,
            crashed=self._fail,
            values=self.config.values,
            metrics_per_namespace=self.config.metrics_per_namespace,
            sink=self._sink,
        )
        with self._lock:
            self._check_not_stopped()
            self._registry.check_new(config.name, allow_duplicate=config.allow_duplicate_name)
            controller: Controller[Any] = Controller(services, declaration, shape, config)
            self._registry.add(controller)
        if shape.setup is not None:
            shape.setup(self)
        if self._started.is_set():
            self._start_late(controller)
        return controller

    def _start_late(self, controller: Controller[Any]) -> None:
        """Start a controller that comes when the others run: as far as these have got."""
        if controller not in self._warm():
            return
        controller.start_sources(self._ending)
        self._wait_synced(controller, self._ending)
        if self.elected.is_set() or not controller.config.needs_leadership:
            controller.start_workers()

    def _check_not_stopped(self) -> None:
        if self._phase is _Phase.STOPPED:
            raise ManagerStoppedError("this manager has stopped; make a new one")


def _stop_workers(controllers: list[Controller[Any]], timeout: float | None) -> list[str]:
    deadline = None if timeout is None else time.monotonic() + timeout
    for controller in controllers:
        controller.begin_stop()
    alive: list[str] = []
    for controller in controllers:
        alive += controller.stop_workers(_left(deadline))
    return alive


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(deadline - time.monotonic(), 0.0)
