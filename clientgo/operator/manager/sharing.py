"""A manager's share of the work, where all replicas work and share the objects.

Promises that a process runs only objects of its own shards, that a shard is given up when its runs
have ended, and that nothing is written once the Lease of this process has ended. No run begins with
an older state than the last owner of its shard wrote; a warning says so where the API server does
not answer in time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from clientgo.operator.cache.catching_up import LONGEST_WAIT
from clientgo.operator.controller import Controller
from clientgo.operator.manager.config import LeaderElection
from clientgo.operator.manager.life_cycle import within
from clientgo.operator.manager.registry import catch_up
from clientgo.sharding import Ownership, ShardMember, shard_member
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread, deadline_after, join_threads
from clientgo.util.wait import StopEvent, call_when_set

_log = logging.getLogger("clientgo.operator.manager")


class SharedWork:
    """The membership of one manager. ``controllers()`` are those whose objects are shared."""

    def __init__(
        self,
        settings: LeaderElection,
        cluster: Any,
        controllers: Callable[[], Iterable[Controller[Any]]],
        clock: Clock,
    ) -> None:
        self.ownership: Ownership[Any] = Ownership(settings.shards, clock=clock)
        self._controllers = controllers
        self._stop = StopEvent()
        self._thread: SupervisedThread | None = None
        timing = settings.timing()
        self._longest_wait = min(LONGEST_WAIT, timing.request_timeout)
        self._member: ShardMember[Any] = shard_member(
            cluster,
            settings.namespace,
            settings.id,
            self.ownership,
            before_work=self._catch_up,
            on_acquired=self._acquired,
            on_released=self._released,
            identity=settings.identity,
            timing=timing,
            clock=clock,
        )

    def start(self, fail: Callable[[BaseException], object]) -> None:
        """Join the group, in a thread; ``fail`` is called with what ends the membership."""

        def run() -> None:
            try:
                self._member.run(self._stop)
            except BaseException as error:  # noqa: BLE001 - the manager fails with it
                fail(error)

        self._thread = SupervisedThread.started(
            run, name="shard-member", then="this process does no work any more; restart it"
        )

    def stop(self, timeout: float | None) -> list[str]:
        """Give up all shards; return the names of threads that are still alive."""
        self._stop.set()
        return [] if self._thread is None else join_threads([self._thread], timeout)

    def _catch_up(self) -> None:
        """Wait until the caches have what the last owners of the shards have written."""
        stop, timeout = StopEvent(), self._longest_wait
        registration = call_when_set(self._stop, stop.set)
        wait = partial(catch_up, self._controllers(), timeout, stop)
        # The wait keeps to its limit, but for a request that is not answered.
        is_late = within(deadline_after(timeout), "shards-catch-up", wait)
        registration.cancel()
        stop.set()
        if is_late:
            _log.warning(
                "runs may begin with an older state than the last owner of their shard wrote: "
                "the caches did not have it within %g s",
                timeout,
            )

    def _acquired(self, shards: frozenset[int]) -> None:
        for controller in self._controllers():
            controller.take(lambda key: self.ownership.shard_of(key) in shards)

    def _released(self, shards: frozenset[int]) -> None:
        for controller in self._controllers():
            controller.release(lambda key: self.ownership.shard_of(key) in shards)
