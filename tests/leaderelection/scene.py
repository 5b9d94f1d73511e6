"""Several candidates on one fake clock, each electing in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from clientgo.leaderelection import (
    Ending,
    LeaderElectionConfig,
    LeaderElectionRecord,
    LeaderElector,
    Leadership,
    Timing,
)
from clientgo.testing import FakeClock
from tests.leaderelection.shared_lease import ScriptedLock, SharedLease

USUAL = Timing(lease_duration=15, renew_deadline=10, retry_period=2)
OTHERS = LeaderElectionRecord(
    holder_identity="other",
    lease_duration_seconds=15,
    acquire_time=datetime(1999, 1, 1, tzinfo=UTC),
    renew_time=datetime(1999, 1, 1, tzinfo=UTC),
    leader_transitions=3,
)


def config_of(lock: Any, /, **options: Any) -> LeaderElectionConfig:
    """The configuration of a candidate that does nothing."""
    parts: dict[str, Any] = {
        "timing": USUAL,
        "lock": lock,
        "on_started_leading": lambda _: None,
        "on_stopped_leading": lambda _: None,
    }
    return LeaderElectionConfig(**parts | options)


class SceneClock(FakeClock):
    """Can be told that something else than a wait happened which may mean rest."""

    def nudge(self) -> None:
        with self._changed:
            self._changes += 1
            self._changed.notify_all()


class Candidate:
    """An elector, what it calls back, and the guarded work: waiting for its stop event."""

    def __init__(
        self,
        scene: Scene,
        identity: str,
        *,
        work: Callable[[Leadership], object] | None = None,
        elector_type: type[LeaderElector] = LeaderElector,
        random: Callable[[], float] = lambda: 0.0,
        metrics: Any = None,
        **config: Any,
    ) -> None:
        self.scene = scene
        self.identity = identity
        self.lock = ScriptedLock(scene.lease, identity, scene.clock)
        self.callbacks: list[tuple[float, str, object]] = []
        self.leadership: Leadership | None = None
        self.ending: Ending | None = None
        self.error: BaseException | None = None
        self.finished = threading.Event()
        self._reported: object = ""
        self._stop = threading.Event()
        self._guarded = work or (lambda leadership: leadership.stop.wait())
        self.elector = elector_type(
            LeaderElectionConfig(
                **{
                    "timing": USUAL,
                    "lock": self.lock,
                    "on_started_leading": self._work,
                    "on_stopped_leading": lambda led: self._called("stopped_leading", led),
                    "on_new_leader": lambda leader: self._called("new_leader", leader),
                }
                | config
            ),
            clock=scene.clock,
            random=random,
            metrics=metrics,
        )
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        self.scene.candidates.append(self)
        self.scene.settle()

    def stop(self) -> None:
        """Stop the elector and wait until it has returned, at once or after some retries."""
        self.request_stop()
        while not self.finished.is_set():
            self.scene.clock.wait_for(lambda: self.finished.is_set() or self.scene.is_at_rest())
            if not self.finished.is_set():
                self.scene.clock.step(0.01)
        self._thread.join(30)

    def request_stop(self) -> None:
        self._stop.set()

    def waits_at_rest(self) -> int | None:
        """How many threads wait for the clock if this candidate is at rest; None if it is not."""
        if self.finished.is_set():
            return 0
        if self.lock.is_releasing:
            return 1
        if self._stop.is_set() or (self.lock.is_leading and self.leadership is None):
            return None
        if self.leadership is not None and self.leadership.stop.is_set():
            return None
        if self._reported != self.elector.get_leader():
            return None
        return 2 if self.lock.is_leading else 1

    def take_callbacks(self) -> list[tuple[float, str, object]]:
        taken, self.callbacks = self.callbacks, []
        return taken

    def called(self, name: str) -> list[object]:
        return [value for _, called, value in self.callbacks if called == name]

    def called_at(self, name: str) -> list[float]:
        return [at for at, called, _ in self.callbacks if called == name]

    def _work(self, leadership: Leadership) -> None:
        self.leadership = leadership
        self._called("started_leading", None)
        self._guarded(leadership)
        self._called("work_ended", None)

    def _called(self, name: str, value: object) -> None:
        if name == "new_leader":
            self._reported = value
        self.callbacks.append((self.scene.clock.monotonic(), name, value))
        self.scene.clock.nudge()

    def _run(self) -> None:
        try:
            self.ending = self.elector.run(self._stop)
        except BaseException as error:
            self.error = error
        self.finished.set()
        self.scene.clock.nudge()


class Scene:
    """A lease, a clock and candidates. A context manager that ends them all."""

    def __init__(self) -> None:
        self.clock = SceneClock()
        self.lease = SharedLease()
        self.candidates: list[Candidate] = []

    def candidate(self, identity: str, **options: Any) -> Candidate:
        """Make a candidate and start it."""
        candidate = Candidate(self, identity, **options)
        candidate.start()
        return candidate

    def advance(self, seconds: float) -> None:
        self.clock.run_for(seconds, self.is_at_rest)

    def settle(self) -> None:
        self.clock.wait_for(self.is_at_rest)

    def leaders(self) -> list[str]:
        """Whose guarded work may act now."""
        return [
            candidate.identity
            for candidate in self.candidates
            if candidate.leadership is not None and candidate.leadership.remaining() > 0
        ]

    def __enter__(self) -> Scene:
        return self

    def __exit__(self, *_: object) -> None:
        for candidate in self.candidates:
            candidate.lock.unstick.set()
            candidate.request_stop()
        for candidate in self.candidates:
            give_up = time.monotonic() + 60
            while not candidate.finished.wait(0.02):
                assert time.monotonic() < give_up
                self.clock.step(1)

    def is_at_rest(self) -> bool:
        waits = [candidate.waits_at_rest() for candidate in self.candidates]
        return None not in waits and sum(waits) == self.clock.waiters()
