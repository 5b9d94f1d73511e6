"""Queues and their workers: one controller, and replicas that share its keys."""

from __future__ import annotations

import random
import threading
import time
from functools import partial
from typing import Any

from clientgo.api.core_v1 import ConfigMap
from clientgo.cache import Lister, SharedIndexInformer, deletion_handling_object_name
from clientgo.client import ResourceListWatch
from clientgo.control_loop import ControlLoop
from clientgo.leaderelection import WorkStillRunningError
from clientgo.meta import NotFoundError, ObjectName, resource_of
from clientgo.util.wait import BackoffManager
from clientgo.workqueue import (
    ItemExponentialFailureRateLimiter,
    PriorityQueue,
    RateLimitingQueue,
    run_workers,
)
from tests.soak.clients import TIMING, SoakClient, stop_threads
from tests.soak.findings import DeliberateError, Findings
from tests.soak.informers import QUICK, Version, difference, version_of
from tests.soak.world import World


class Work:
    """What workers have seen of each key, and that no key is worked on twice at a time."""

    def __init__(self, findings: Findings, name: str, failing: float = 0.1) -> None:
        """``failing`` is the share of syncs that raise."""
        self._failing = failing
        self._findings = findings
        self._name = name
        self._lock = threading.Lock()
        self._running: dict[ObjectName, str] = {}
        self.seen: dict[ObjectName, Version | None] = {}

    def do(self, worker: str, key: ObjectName, lister: Lister[Any], rng: random.Random) -> None:
        with self._lock:
            other = self._running.setdefault(key, worker)
            if other != worker:
                self._findings.fail(
                    "a key is processed twice at a time", f"{self._name} {key}: {other}, {worker}"
                )
        try:
            try:
                seen = version_of(lister.namespace(key.namespace).get(key.name))
            except NotFoundError:
                seen = None
            if rng.random() < 0.05:
                time.sleep(0.002)
            if rng.random() < self._failing:
                raise DeliberateError("the sync fails")
            with self._lock:
                self.seen[key] = seen
            self._findings.count("syncs")
        finally:
            with self._lock:
                if self._running.get(key) == worker:
                    del self._running[key]

    def done(self) -> list[ObjectName]:
        """Return the keys of all syncs."""
        with self._lock:
            return list(self.seen)

    def problem(self, there: dict[str, Any], *, deletions: bool) -> str:
        expected = {key: version_of(obj) for key, obj in there.items()}
        with self._lock:
            seen = {str(key): version for key, version in self.seen.items() if version is not None}
        if not deletions:
            seen = {key: version for key, version in seen.items() if key in expected}
        if seen != expected:
            return f"{self._name}: seen by the last sync: {difference(seen, expected)}"
        return ""


class QueueController(SoakClient):
    """An informer, a queue and workers that fail."""

    def __init__(self, world: World, number: int = 1) -> None:
        self._world = world
        self._number = number
        self._stop = threading.Event()
        self._work = Work(world.findings, f"queue {number}")
        rng = self._rng = random.Random(world.rng.random())
        limiter: Any = ItemExponentialFailureRateLimiter(0.005, 1.0)
        fair = partial(PriorityQueue, fair_by=lambda key: key.namespace)
        queue_type: Any = rng.choice((RateLimitingQueue, PriorityQueue, fair))
        self._queue: RateLimitingQueue[ObjectName] = queue_type(
            limiter, name=f"soak-{number}", add_cancels_delay=rng.random() < 0.5
        )
        source = ResourceListWatch(world.client(f"queue-{number}").resource(ConfigMap))
        self._informer: SharedIndexInformer[ConfigMap] = SharedIndexInformer(
            source, ConfigMap, name=f"queue-{number}", delays=BackoffManager(QUICK, 5.0)
        )
        self._lister: Lister[ConfigMap] = Lister(self._informer.indexer, resource_of(ConfigMap))
        self._informer.add_event_handler(
            on_add=self._enqueue, on_update=self._enqueue_new, on_delete=self._enqueue
        )
        world.findings.track(self._informer)
        world.findings.track(self._queue)
        self._threads = [
            threading.Thread(target=self._informer.run, args=(self._stop,), daemon=True),
            threading.Thread(target=self._run_workers, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def _enqueue(self, obj: Any) -> None:
        self._queue.add(deletion_handling_object_name(obj))

    def _enqueue_new(self, _old: Any, new: Any) -> None:
        self._queue.add(ObjectName.of(new))

    def _run_workers(self) -> None:
        run_workers(self._stop, self._queue, self._sync, workers=3, name="soak")

    def _sync(self, key: ObjectName) -> None:
        self._work.do(threading.current_thread().name, key, self._lister, self._rng)

    def replaced(self) -> QueueController:
        """Stop, and return another."""
        self.stop()
        return QueueController(self._world, self._number + 1)

    def problem(self) -> str:
        if problem := self._work.problem(self._world.state(ConfigMap), deletions=True):
            return f"{problem}; {self._queue.statistics()}; {self._informer.statistics()}"
        statistics = self._queue.statistics()
        if statistics.ready or statistics.processing or statistics.delayed:
            return f"the queue has work left: {statistics}"
        kept = [key for key in self._work.done() if self._queue.num_requeues(key)]
        return f"failures that were not forgotten: {kept}" if kept else ""

    def stop(self) -> None:
        stop_threads(self._world.findings, "a queue", self._stop, self._threads)


class Replicas(SoakClient):
    """Two or three replicas of a controller that share its keys, and come and go."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._rng = random.Random(world.rng.random())
        # A control loop tries ten times a second again: 1,000 failures would take 100 s.
        self._work = Work(world.findings, "shards", failing=0.01)
        self._running: list[tuple[threading.Event, threading.Thread, ControlLoop]] = []
        self._number = 0
        self._start()
        self._start()

    def _start(self) -> None:
        self._number += 1
        name = f"replica-{self._number}"
        client = self._world.client(name)
        loop = ControlLoop(client, name, lease="default/soak-shards", shards=8, timing=TIMING)
        lister = loop.watch(ConfigMap)
        stop = threading.Event()
        rng = random.Random(self._rng.random())

        def sync(key: ObjectName) -> None:
            self._work.do(f"{name} {threading.current_thread().name}", key, lister, rng)

        def run() -> None:
            try:
                loop.run(sync, stop)
            except WorkStillRunningError as error:
                self._world.findings.count(f"replicas that ended: {type(error).__name__}")
            except BaseException as error:
                self._world.findings.fail("a replica failed", f"{name}: {error!r}")

        self._world.findings.track(loop)
        thread = threading.Thread(target=run, name=name, daemon=True)
        thread.start()
        self._running.append((stop, thread, loop))

    def disturb(self) -> None:
        """Start or stop a replica."""
        self._running = [each for each in self._running if each[1].is_alive()]
        if len(self._running) < 2 or (len(self._running) < 3 and self._rng.random() < 0.5):
            self._start()
        else:
            stop, thread, _ = self._running.pop(self._rng.randrange(len(self._running)))
            stop_threads(self._world.findings, "a replica", stop, [thread])

    def problem(self) -> str:
        if not any(thread.is_alive() for _, thread, _ in self._running):
            self._start()
        problem = self._work.problem(self._world.state(ConfigMap), deletions=False)
        owned = [(loop.name, sorted(loop.ownership.owned)) for _, _, loop in self._running]
        if problem:
            queues = [loop.queue.statistics() for _, _, loop in self._running]
            return f"{problem}; owned {owned}; {queues}"
        if sorted(shard for _, shards in owned for shard in shards) != list(range(8)):
            return f"the shards are {owned}"
        return ""

    def stop(self) -> None:
        for stop, _, _ in self._running:
            stop.set()
        for stop, thread, _ in self._running:
            stop_threads(self._world.findings, "a replica", stop, [thread])
