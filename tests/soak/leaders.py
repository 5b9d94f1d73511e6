"""Candidates of one lease: at most one leads at a time."""

from __future__ import annotations

import threading
import time

from clientgo.leaderelection import (
    LeaderElectionConfig,
    LeaderElector,
    Leadership,
    LeadershipLostError,
    WorkStillRunningError,
    lease_lock_from_config,
)
from tests.soak.clients import TIMING, SoakClient, stop_threads
from tests.soak.world import World


class Leaders(SoakClient):
    """Candidates of one lease, each of which runs again after its term."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._current: object = None
        self._since = float("-inf")
        self._over: set[object] = set()
        self._acts = 0
        self._restart = threading.Event()
        self._threads = [
            threading.Thread(target=self._compete, args=(f"candidate-{number}",), daemon=True)
            for number in (1, 2)
        ]
        for thread in self._threads:
            thread.start()

    def _compete(self, name: str) -> None:
        config = self._world.config(name)
        while not self._stop.is_set():
            lock = lease_lock_from_config(config, "default", "soak-leader", name, timing=TIMING)
            election = LeaderElectionConfig(
                lock=lock,
                timing=TIMING,
                on_started_leading=self._lead,
                on_stopped_leading=lambda _led: None,
            )
            elector = LeaderElector(election)
            self._world.findings.track(elector)
            try:
                ending = elector.run(self._stop)
                self._world.findings.count(f"terms that ended: {ending.value}")
            except WorkStillRunningError:
                self._world.findings.count("terms that ended: work still running")
            except BaseException as error:
                self._world.findings.fail("a candidate failed", f"{name}: {error!r}")
            lock.close()

    def _lead(self, leadership: Leadership) -> None:
        term = object()
        while not leadership.stop.wait(0.005):
            before = time.monotonic()
            try:
                leadership.check()
            except LeadershipLostError:
                return
            self._act(term, leadership, before, time.monotonic())
            if self._restart.is_set():
                self._restart.clear()
                return

    def _act(self, term: object, leadership: Leadership, before: float, after: float) -> None:
        """Note that a term acts; none may act again after a later one has."""
        with self._lock:
            self._acts += 1
            if term in self._over:
                lost = self._world.state_lost_at
                if before > self._since and after - lost > 10:
                    late = f"{leadership.identity} acts {before - self._since:.3f} s after another"
                    self._world.findings.fail("two leaders", late)
            elif term is not self._current:
                self._over.add(self._current)
                self._current, self._since = term, after

    def disturb(self) -> None:
        """End the term of the leader."""
        self._restart.set()

    def problem(self) -> str:
        with self._lock:
            acts, self._acts = self._acts, 0
        return "" if acts else "no candidate leads"

    def stop(self) -> None:
        stop_threads(self._world.findings, "the candidates", self._stop, self._threads)
