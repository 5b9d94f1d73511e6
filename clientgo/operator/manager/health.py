"""The checks that every manager has, unless they are switched off.

Promises: readiness asks whether the caches are filled and the sources work, liveness whether the
workers do. A watch that is being opened again is no trouble for a minute, and leadership has no
say: a standby is as ready as a leader.

Source: Java Operator SDK RuntimeInfo; controller-runtime has nothing but ``ping``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from clientgo.operator.controller import Controller, ControllerHealth
from clientgo.operator.errors import OperatorError

Controllers = Callable[[], list[Controller[Any]]]


class ManagerHealth:
    """``warm`` gives the controllers whose sources should run by now. Thread-safe."""

    def __init__(self, controllers: Controllers, warm: Controllers) -> None:
        self._controllers = controllers
        self._warm = warm

    def report(self) -> list[ControllerHealth]:
        return [controller.health() for controller in self._controllers()]

    def check_caches(self) -> None:
        for controller in self._warm():
            for source in controller.health().sources:
                if not source.synced:
                    raise OperatorError(
                        f"{controller.name}: {source.name} is not synced: {source.trouble or ''}"
                    )

    def check_sources(self) -> None:
        for controller in self._warm():
            for source in controller.health().sources:
                if source.trouble:
                    raise OperatorError(f"{controller.name}: {source.name}: {source.trouble}")

    def check_workers(self) -> None:
        for health in self.report():
            if not health.workers_alive:
                raise OperatorError(f"{health.name}: a worker has ended")
            if health.stuck:
                raise OperatorError(
                    f"{health.name}: all workers are in runs that go on for ten times the "
                    "reconcile_timeout; these do not look at ctx.cancelled"
                )
