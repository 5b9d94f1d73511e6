"""The manager: owns what controllers share, and starts and stops everything in the right order.

::

    start   servers ► caches ► what needs no leader ► sources ► leadership ► controllers
    stop    what needs no leader ► controllers ► leadership ► sources ► caches ► servers ► events

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
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import Any, Self, TypeVar

from clientgo.client import Client
from clientgo.clock import REAL_CLOCK, Clock
from clientgo.metrics import MetricsProvider
from clientgo.operator.api_warnings import warning_once
from clientgo.operator.builder import ControllerBuilder
from clientgo.operator.cache.kind_cache import IndexFunction
from clientgo.operator.cache.object_cache import Kind, ObjectCache, api_resource
from clientgo.operator.cache.scope import namespace_set
from clientgo.operator.cached_client import CachedClient
from clientgo.operator.controller import Controller, ControllerHealth
from clientgo.operator.controller_config import changed_config
from clientgo.operator.declaration import Declaration, declaration_of
from clientgo.operator.errors import (
    AlreadyStartedError,
    DeclarationError,
    LeadershipLostError,
    ManagerStoppedError,
    OperatorError,
    ShutdownTimeoutError,
)
from clientgo.operator.event_outlet import EventOutlet
from clientgo.operator.leader import Leader
from clientgo.operator.live_client import ClientOptions, LiveClient
from clientgo.operator.manager_config import ManagerConfig
from clientgo.operator.reconciler import shape_of
from clientgo.operator.runnables import RunFunction, Runnable, RunnableGroup, run_function
from clientgo.operator.servers import BoundAddresses, Servers, metrics_of
from clientgo.operator.services import Services
from clientgo.operator.webhooks.registry import Webhooks
from clientgo.serving import Handler
from clientgo.wait import setup_signal_handler

P = TypeVar("P")

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
    ``metrics_provider`` is where numbers go.

    Raises :class:`~clientgo.operator.errors.ConfigError`, :class:`~clientgo.rest.ConfigError`.
    """

    def __init__(
        self,
        cluster: Any = None,
        config: ManagerConfig | None = None,
        *,
        metrics_provider: MetricsProvider | None = None,
        clock: Clock = REAL_CLOCK,
        **settings: Any,
    ) -> None:
        self.config = replace(config or ManagerConfig(), **settings).checked()
        self.base = cluster if isinstance(cluster, Client) else Client(warning_once(cluster))
        self.metrics_provider, page = metrics_of(self.config.metrics, metrics_provider)
        self.cache = ObjectCache(
            self.base,
            default=self.config.cache,
            by_kind=self.config.cache_by_kind,
            duplicates=self.config.allow_duplicate_projection,
            implicit=self.config.implicit_informers,
            metrics=self.metrics_provider,
            clock=clock,
        )
        self.elected = threading.Event()
        """Set when what needs leadership has been started; at once without an election."""
        self._clock = clock
        self._servers = Servers(
            health=self.config.health,
            metrics=self.config.metrics,
            metrics_handler=page,
            webhook=self.config.webhook,
            provider=self.metrics_provider,
            clock=clock,
        )
        self.events = EventOutlet(self.base, clock)
        self._leader = (
            None
            if self.config.leader_election is None
            else Leader(self.config.leader_election, self.base, self.metrics_provider, clock)
        )
        guard = None if self._leader is None else self._leader.check
        self.client = CachedClient(
            self.base, self.cache, ClientOptions(field_manager=self.config.name)
        )
        self._guarded = self.client if guard is None else self.client.guarded(guard)
        self._lock = threading.RLock()
        self._phase = _Phase.NEW
        self._controllers: dict[str, Controller[Any]] = {}
        self._always = RunnableGroup(self._fail)
        self._leading = RunnableGroup(self._fail)
        self._failure: BaseException | None = None
        self._ending = threading.Event()
        self._ended = threading.Event()

    # Declaring

    @property
    def live(self) -> LiveClient:
        """Reads and writes at the API server, before the start too."""
        return self.client.live

    def controller(self, primary: Kind | None = None) -> ControllerBuilder[Any]:
        """Declare a controller step by step."""
        return ControllerBuilder(self._build, primary)

    def register(self, reconciler: object, **overrides: Any) -> Controller[Any]:
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
        self._check_not_stopped()
        run = run_function(runnable)
        group = self._leading if needs_leadership else self._always
        group.add(name or getattr(run, "__qualname__", "runnable"), run)

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

        With ``signals`` SIGINT and SIGTERM stop it; a second one ends the process with status 1.
        """
        stop = setup_signal_handler() if signals else threading.Event()
        self.start()
        waiter = threading.Thread(target=self._end_when, args=(stop,), name="manager-signals")
        waiter.daemon = True
        waiter.start()
        try:
            self._ending.wait()
        finally:
            stop.set()
            self.stop()

    def start(self) -> None:
        """Start everything; returns when the caches are filled and, if this process leads or
        needs no leader, the controllers work.

        Raises :class:`~clientgo.operator.errors.AlreadyStartedError`, ``ManagerStoppedError``,
        ``CacheSyncTimeoutError``; a start that failed has been undone.
        """
        with self._lock:
            if self._phase is not _Phase.NEW:
                raise (
                    AlreadyStartedError("this manager runs already")
                    if self._phase is _Phase.RUNNING
                    else ManagerStoppedError("this manager has stopped; make a new one")
                )
            self._phase = _Phase.RUNNING
            controllers = list(self._controllers.values())
        try:
            self._start(controllers)
        except BaseException as error:
            self._failure = error
            self.stop()
            raise

    def stop(self) -> None:
        """Stop everything; blocks until it has ended, or the time for that is over.

        Raises what made the manager fail, and
        :class:`~clientgo.operator.errors.ShutdownTimeoutError`. Idempotent.
        """
        with self._lock:
            if self._phase is _Phase.NEW:
                self._phase = _Phase.STOPPED
                self._ended.set()
                return
            first = self._phase is _Phase.RUNNING
            self._phase = _Phase.STOPPED
        self._ending.set()
        if not first:
            self._ended.wait()
            return
        try:
            alive = self._stop()
        finally:
            self._ended.set()
        if self._failure is not None:
            raise self._failure
        if alive:
            raise ShutdownTimeoutError(alive, float(self.config.graceful_shutdown or 0))  # type: ignore[arg-type]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # How it is doing

    def controllers(self) -> list[Controller[Any]]:
        with self._lock:
            return list(self._controllers.values())

    def health(self) -> list[ControllerHealth]:
        """How the controllers are doing."""
        return [controller.health() for controller in self.controllers()]

    def _check_caches(self) -> None:
        for controller in self.controllers():
            for source in controller.sources():
                if not source.wait_synced(0.0):
                    raise OperatorError(f"{controller.name}: {source.name} is not synced yet")

    def _check_sources(self) -> None:
        for health in self.health():
            for name, trouble in health.troubles.items():
                raise OperatorError(f"{health.name}: source {name}: {trouble}")

    def _check_workers(self) -> None:
        for health in self.health():
            if not health.workers_alive:
                raise OperatorError(f"{health.name}: a worker has ended")

    # Inside: starting

    def _start(self, controllers: list[Controller[Any]]) -> None:
        self._servers.add_check(self._servers.readyz, "caches", self._check_caches)
        self._servers.add_check(self._servers.readyz, "sources", self._check_sources)
        self._servers.add_check(self._servers.healthz, "workers", self._check_workers)
        self._servers.start()
        self.cache.start()
        self._always.start()
        timeout = float(self.config.cache_sync_timeout)  # type: ignore[arg-type]
        waiting = self._leader is not None
        warm = [c for c in controllers if c.config.warmup or not waiting]
        for controller in warm:
            controller.start_sources()
        for controller in warm:
            controller.wait_synced(timeout)
        for controller in controllers:
            if self._leader is None or not controller.config.needs_leadership:
                if controller not in warm:
                    self._start_late(controller)
                controller.start_workers()
        if self._leader is None:
            self._leading.start()
            self.elected.set()
        else:
            self._leader.start(self._lead, self._lost)

    def _start_late(self, controller: Controller[Any]) -> None:
        controller.start_sources()
        controller.wait_synced(float(self.config.cache_sync_timeout))  # type: ignore[arg-type]

    def _lead(self, stop: threading.Event) -> None:
        """The guarded work: everything that needs leadership, until ``stop`` is set."""
        led = [c for c in self.controllers() if c.config.needs_leadership]
        for controller in led:
            if not controller.config.warmup:
                self._start_late(controller)
        for controller in led:
            controller.start_workers()
        self._leading.start()
        self.elected.set()
        stop.wait()
        lost = not self._ending.is_set()
        alive = self._stop_leading(0.0 if lost else self._grace())
        if alive and not lost:
            raise ShutdownTimeoutError(alive, self._grace() or 0.0)

    def _lost(self, error: BaseException | None) -> None:
        self._fail(
            error
            or LeadershipLostError(
                f"{self.config.name} does not lead any more; end this process, it may stand again"
            )
        )

    # Inside: stopping

    def _stop(self) -> list[str]:
        deadline = self._deadline()
        alive = self._always.stop(_left(deadline))
        if self._leader is None:
            alive += self._stop_leading(_left(deadline))
        else:
            self._leader.stop()
            not_led = [c for c in self.controllers() if not c.config.needs_leadership]
            alive += _stop_workers(not_led, _left(deadline))
        for controller in self.controllers():
            controller.stop_sources()
            controller.stop_workers(_left(deadline))
        self.cache.stop()
        alive += self._servers.stop_webhooks(_left(deadline))
        self._servers.stop()
        self.events.shutdown()
        if self.config.close_client_on_stop:
            self.base.close()
        _log.info("%s: stopped", self.config.name)
        return sorted(set(alive))

    def _stop_leading(self, timeout: float | None) -> list[str]:
        led = [c for c in self.controllers() if c.config.needs_leadership or self._leader is None]
        self._leading.stop_event.set()
        return _stop_workers(led, timeout) + self._leading.stop(timeout)

    def _grace(self) -> float | None:
        grace = self.config.graceful_shutdown
        return None if grace is None else float(grace)  # type: ignore[arg-type]

    def _deadline(self) -> float | None:
        grace = self._grace()
        return None if grace is None else time.monotonic() + grace

    def _fail(self, error: BaseException) -> None:
        """Something failed that must not; the manager ends, and raises the first such error."""
        with self._lock:
            if self._failure is None:
                self._failure = error
            elif self._failure is not error:
                self._failure.add_note(f"then {type(error).__name__}: {error}")
        self._ending.set()

    def _end_when(self, stop: threading.Event) -> None:
        stop.wait()
        self._ending.set()

    # Inside: building

    def _build(self, declaration: Declaration, reconciler: object) -> Controller[Any]:
        resource = api_resource(declaration.primary)
        defaults = {"workers": self._workers_of(resource), **self.config.controllers}
        settings = {**defaults, **declaration.options}
        settings.setdefault("name", resource.kind.lower() or resource.plural)
        config = changed_config(declaration.config(), settings).checked()
        shape = shape_of(reconciler, config.name)
        services = Services(
            client=self._guarded if config.needs_leadership else self.client,
            cache=self.cache,
            namespaces=namespace_set(self.config.namespaces),
            clock=self._clock,
            metrics=self.metrics_provider,
            recorder=self.events.recorder,
            crashed=self._fail,
            values=self.config.values,
        )
        with self._lock:
            self._check_not_stopped()
            self._check_unique(config.name, config.allow_duplicate_name)
            controller: Controller[Any] = Controller(services, declaration, shape, config)
            self._check_finalizer(controller)
            self._controllers[self._registered_name(config.name)] = controller
            running = self._phase is _Phase.RUNNING
        if shape.setup is not None:
            shape.setup(self)
        if running:
            self._start_late(controller)
            if self.elected.is_set() or not config.needs_leadership:
                controller.start_workers()
        return controller

    def _workers_of(self, resource: Any) -> int:
        name = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
        return self.config.workers_by_kind.get(name, self.config.workers)

    def _check_unique(self, name: str, allow: bool) -> None:
        if name in self._controllers and not allow:
            raise DeclarationError(
                f"this manager has a controller called {name!r} already; give one a name=..."
            )

    def _registered_name(self, name: str) -> str:
        number = sum(known.partition("#")[0] == name for known in self._controllers)
        return f"{name}#{number + 1}" if number else name

    def _check_finalizer(self, controller: Controller[Any]) -> None:
        for other in self._controllers.values():
            same_kind = other.primary.gvk == controller.primary.gvk
            if controller.finalizer and same_kind and other.finalizer == controller.finalizer:
                raise DeclarationError(
                    f"controllers {other.name} and {controller.name} would both remove the "
                    f"finalizer {controller.finalizer}; give one another finalizer=..."
                )

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
