"""A manager's share of the work, where all replicas work and share the objects.

Promises that a process runs only objects of its own shards, that a shard is given up when its runs
have ended, and that nothing is written once the Lease of this process has ended.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from clientgo.operator.controller import Controller
from clientgo.operator.manager.config import LeaderElection
from clientgo.sharding import Ownership, ShardMember, shard_member
from clientgo.util.clock import Clock
from clientgo.util.process import SupervisedThread, join_threads


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
        self._stop = threading.Event()
        self._thread: SupervisedThread | None = None
        self._member: ShardMember[Any] = shard_member(
            cluster,
            settings.namespace,
            settings.id,
            self.ownership,
            on_acquired=self._acquired,
            on_released=self._released,
            identity=settings.identity,
            timing=settings.timing(),
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

    def _acquired(self, shards: frozenset[int]) -> None:
        for controller in self._controllers():
            controller.take(lambda key: self.ownership.shard_of(key) in shards)

    def _released(self, shards: frozenset[int]) -> None:
        for controller in self._controllers():
            controller.release(lambda key: self.ownership.shard_of(key) in shards)
