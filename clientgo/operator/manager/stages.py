"""The order in which the parts of a manager start and stop.

    start   servers ► caches ► what needs no leader ► leadership ► controllers
    stop    what needs no leader ► controllers ► leadership ► caches ► servers ► events

Promises that no stage begins before the earlier one is ready.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from clientgo.client import Client
from clientgo.operator.cache.catching_up import LONGEST_WAIT
from clientgo.operator.cache.object_cache import ObjectCache
from clientgo.operator.client.events import EventPublisher
from clientgo.operator.controller import Controller
from clientgo.operator.errors import CancelledError, LeadershipLostError
from clientgo.operator.manager.cluster import Cluster
from clientgo.operator.manager.config import ManagerConfig
from clientgo.operator.manager.leader import Leader
from clientgo.operator.manager.life_cycle import RunnableGroup, within
from clientgo.operator.manager.registry import ControllerRegistry, ManagerHealth, catch_up
from clientgo.operator.manager.servers import Servers
from clientgo.operator.metrics import BeforeScrape
from clientgo.util.process import deadline_after, time_left

if TYPE_CHECKING:
    from clientgo.operator.manager.sharing import SharedWork

_CLOSING_TIME: Final = 5.0
"""Seconds that caches, servers and events have for their stop, whatever the work before took."""

_log = logging.getLogger("clientgo.operator.manager")


@dataclass(eq=False, kw_only=True)
class Stages:
    """For one start and one stop; :meth:`start_late` is thread-safe.

    ``ending`` ends the start early; ``fail`` is called with what must stop the manager.
    """

    config: ManagerConfig
    client: Client
    cache: ObjectCache
    registry: ControllerRegistry
    servers: Servers
    events: EventPublisher
    leader: Leader | None
    sharing: SharedWork | None
    metrics: BeforeScrape
    ending: threading.Event
    fail: Callable[[BaseException], object]
    stop_event_loop: Callable[[float | None], list[str]]

    def __post_init__(self) -> None:
        self.elected = threading.Event()
        """Set when what needs leadership has been started; without an election by the start."""
        self.always = RunnableGroup(self.fail)
        self.leading = RunnableGroup(self.fail)
        self.clusters: list[Cluster] = []
        self.health = ManagerHealth(self.registry.all, self._warm)

    def start(self) -> None:
        """Start everything. Raises ``CancelledError`` at ``ending``."""
        controllers = self.registry.all()
        self.registry.check_settings()
        if self.config.check_crds:
            self.registry.check_served(self.client)
        if self.leader is not None:
            self.leader.check_permissions()
        self.metrics.refresh()
        self.servers.start(self.health, self.client)
        self.servers.keep_certificates(self.client, self._leads, self.fail)
        self.cache.start()
        for cluster in self.clusters:
            cluster.start(self.fail)
        _start_sources(self._warm(), self.ending)
        self.always.start()
        for controller in controllers:
            if self.leader is None or not controller.config.needs_leadership:
                controller.start_workers()
        if self.sharing is not None:
            self.sharing.start(self.fail)
        if self.leader is None:
            self.leading.start()
            self.elected.set()
        else:
            self.leader.start(self._lead, self._lost)

    def start_late(self, controller: Controller[Any]) -> None:
        """Start a controller that comes when the others run: as far as these have got."""
        if controller not in self._warm():
            return
        _start_sources([controller], self.ending)
        if self.elected.is_set() or not controller.config.needs_leadership:
            controller.start_workers()

    def stop(self, grace: float | None) -> list[str]:
        """Stop everything; return the names of what runs still after so many seconds.

        With 0 nothing is waited for, and nothing named. None is no limit.
        """
        deadline = deadline_after(grace)
        controllers = self.registry.all()
        alive = self.always.stop(time_left(deadline))
        leader = [] if self.leader is None else self.leader.stop(time_left(deadline))
        work = self._stop_leading(time_left(deadline)) + _stop_workers(controllers, deadline)
        alive += [] if self.sharing is None else self.sharing.stop(time_left(deadline))
        # A leader waits for its work: it is not what has to be found.
        alive += work or leader
        if deadline is not None and grace:
            # What follows takes a moment, which work that does not end must not use up.
            deadline = max(deadline, time.monotonic() + _CLOSING_TIME)
        for controller in controllers:
            alive += within(deadline, f"{controller.name}-sources", controller.stop_sources)
        alive += within(deadline, "caches", self.cache.stop)
        for cluster in self.clusters:
            alive += within(deadline, f"cluster-{cluster.name}", cluster.stop)
        alive += self.servers.stop_webhooks(time_left(deadline))
        alive += within(deadline, "http-servers", self.servers.stop)
        alive += self.stop_event_loop(time_left(deadline))
        alive += within(deadline, "events", self.events.shutdown)
        if self.config.close_client_on_stop:
            self.client.close()
        self.metrics.close()
        _log.info("%s: stopped", self.config.name)
        return sorted(set(alive)) if grace != 0 else []

    def _warm(self) -> list[Controller[Any]]:
        """Return the controllers whose sources run, whether this process leads or not."""
        leads = self._leads()
        return [
            controller
            for controller in self.registry.all()
            if leads or controller.config.warmup or not controller.config.needs_leadership
        ]

    def _leads(self) -> bool:
        return self.leader is None or self.elected.is_set()

    def led(self) -> list[Controller[Any]]:
        """Return the controllers that need leadership."""
        return [c for c in self.registry.all() if c.config.needs_leadership]

    def _lead(self, stop: threading.Event) -> None:
        """Run everything that needs leadership, until ``stop`` is set.

        It returns when nothing of it is left: before that the lease must not be given up.
        """
        led = self.led()
        try:
            _start_sources([each for each in led if not each.config.warmup], stop)
        except CancelledError:
            return
        catch_up(led, LONGEST_WAIT, stop)
        for controller in led:
            controller.start_workers()
        self.leading.start()
        self.elected.set()
        self.servers.elected()
        _log.info("%s: leads", self.config.name)
        stop.wait()
        self._stop_leading(None)

    def _lost(self, error: BaseException | None) -> None:
        self.fail(
            error
            or LeadershipLostError(
                f"{self.config.name}: this process does not lead any more, and ends; another one "
                "may lead. Start it again to make it a candidate"
            )
        )

    def _stop_leading(self, timeout: float | None) -> list[str]:
        self.leading.stop_event.set()
        deadline = deadline_after(timeout)
        return _stop_workers(self.led(), deadline) + self.leading.stop(time_left(deadline))


def _start_sources(controllers: Iterable[Controller[Any]], stop: threading.Event) -> None:
    """Start the sources of controllers, and wait until they have synced."""
    controllers = list(controllers)
    for controller in controllers:
        controller.start_sources(stop)
    for controller in controllers:
        controller.wait_synced(controller.config.cache_sync_timeout, stop)


def _stop_workers(controllers: list[Controller[Any]], deadline: float | None) -> list[str]:
    for controller in controllers:
        controller.begin_stop()
    alive: list[str] = []
    for controller in controllers:
        alive += controller.stop_workers(time_left(deadline))
    return alive
