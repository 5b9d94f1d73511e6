"""Leadership of a manager: one of several replicas works, the others are ready to.

Promises what :mod:`clientgo.leaderelection` does, and that a write which could collide with
another leader's is not even sent.

Source: controller-runtime pkg/leaderelection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from clientgo.client import Client
from clientgo.clock import Clock
from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderElector,
    Leadership,
    lease_lock_from_config,
    unique_identity,
)
from clientgo.leaderelection import LeadershipLostError as TermOverError
from clientgo.metrics import MetricsProvider
from clientgo.operator.errors import LeadershipLostError
from clientgo.operator.manager_config import LeaderElection


class Leader:
    """One candidate, for one term. Thread-safe."""

    def __init__(
        self, settings: LeaderElection, client: Client, metrics: MetricsProvider, clock: Clock
    ) -> None:
        self.settings = settings
        self.identity = settings.identity or unique_identity()
        self._client = client
        self._metrics = metrics
        self._clock = clock
        self._stop = threading.Event()
        self._leadership: Leadership | None = None
        self._thread: threading.Thread | None = None

    def start(
        self,
        work: Callable[[threading.Event], object],
        lost: Callable[[BaseException | None], object],
    ) -> None:
        """Compete in a thread; ``work(stop)`` is what a leader does. ``lost`` is told when the
        term is over without :meth:`stop`, with what ``work`` raised."""
        elector = LeaderElector(self._config(work), clock=self._clock, metrics=self._metrics)

        def compete() -> None:
            try:
                ending = elector.run(self._stop)
            except BaseException as error:  # noqa: BLE001 - the manager fails with it
                lost(error)
                return
            if ending is not Ending.STOPPED:
                lost(None)

        self._thread = threading.Thread(
            target=compete, name=f"leader-election-{self.settings.id}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop the work, then give up the lease if that is wanted; blocks until both are done."""
        self._stop.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def check(self) -> None:
        """Raise :class:`~clientgo.operator.errors.LeadershipLostError` unless this process may
        certainly act as leader."""
        leadership = self._leadership
        try:
            if leadership is not None:
                leadership.check()
        except TermOverError as error:
            raise LeadershipLostError(str(error)) from error

    def _config(self, work: Callable[[threading.Event], object]) -> LeaderElectionConfig:
        settings, timing = self.settings, self.settings.timing()
        lock = lease_lock_from_config(
            self._client.config, settings.namespace, settings.id, self.identity, timing=timing
        )

        def lead(leadership: Leadership) -> None:
            self._leadership = leadership
            work(leadership.stop)

        return LeaderElectionConfig(
            lock=lock,
            timing=timing,
            on_started_leading=lead,
            on_stopped_leading=lambda _led: None,
            release_on_stop=settings.release_on_cancel,
            name=settings.id,
        )
