"""One informer, its handlers, a queue and its workers, in a process of their own.

``python -m benchmarks.scale.run`` reads what to run as JSON from its standard input and prints what
it cost as JSON. Seconds are processor time of the whole process, so that other work on the machine
changes them little; bytes are what the operating system counts.
"""

from __future__ import annotations

import gc
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks.processes import memory
from benchmarks.scale.feeder import Feeder, feeder
from benchmarks.scale.model import PAGE
from clientgo.cache import (
    Indexer,
    SharedIndexInformer,
    meta_namespace_index,
    meta_namespace_key,
)
from clientgo.client import Client, ResourceListWatch
from clientgo.rest import RestConfig
from clientgo.testing.bench import Foo
from clientgo.util.clock import RealClock
from clientgo.util.wait import Backoff, BackoffManager
from clientgo.workqueue import Queue

RESYNC = 3_600.0
TIMEOUT = 240.0
"""Seconds of one phase, after which something is wrong."""


@dataclass(frozen=True)
class Setup:
    """What is run. ``workers`` 0: no queue; ``events`` are sent as fast as they are taken."""

    objects: int
    note: int = 500
    events: int = 10_000
    handlers: int = 1
    indexes: int = 0
    workers: int = 0
    paced: int = 0
    """So many more events are sent at ``rate`` a second."""
    rate: int = 0
    streamed: bool = False


@dataclass
class Measured:
    """What it cost: seconds for an object or an event, bytes for an object."""

    first_list: float = 0.0
    event: float = 0.0
    paced_event: float = 0.0
    relist: float = 0.0
    resync: float = 0.0
    bytes: float = 0.0
    """Kept when the first list is done."""
    peak_bytes: float = 0.0
    """At most, until then."""
    collections: dict[str, list[float]] = field(default_factory=dict)
    """By generation: how many, and the seconds of the longest."""
    longest_write: float = 0.0
    """Seconds of the longest write of 64 objects into an indexer of this size."""
    new_index: float = 0.0
    """Seconds to add an index to it."""
    index_pause: float = 0.0
    """Seconds of the longest part of that with the store's lock held."""


def run_apart(setup: Setup) -> Measured:
    """Run it in a new process."""
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        input=json.dumps(asdict(setup)),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{setup}: {done.stderr.strip()[-2000:]}")
    return Measured(**json.loads(done.stdout))


class SkippingClock(RealClock):
    """The real clock, which can be set forward, so that a resync is due."""

    def __init__(self) -> None:
        self._skipped = 0.0

    def step(self, seconds: float) -> None:
        """Set it forward."""
        self._skipped += seconds

    def monotonic(self) -> float:
        return super().monotonic() + self._skipped

    def sleep(self, seconds: float, stop: threading.Event | None = None) -> bool:
        stop = stop or threading.Event()
        deadline = self.monotonic() + seconds
        while (left := deadline - self.monotonic()) > 0:
            if stop.wait(min(left, 0.2)):
                return True
        return False

    def wait_until(self, condition: threading.Condition, deadline: float | None) -> bool:
        return super().wait_until(condition, deadline and deadline - self._skipped)


class TimedLock:
    """A lock that knows for how many seconds of processor time it was held at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = 0.0
        self.longest = 0.0

    def __enter__(self) -> None:
        self._lock.acquire()
        self._since = time.thread_time()

    def __exit__(self, *_raised: object) -> None:
        self.longest = max(self.longest, time.thread_time() - self._since)
        self._lock.release()


class Controller:
    """Handlers that queue keys, and workers that look at the spec."""

    def __init__(self, setup: Setup, informer: SharedIndexInformer[Foo]) -> None:
        self._handlers = setup.handlers
        self._informer = informer
        self._queue = Queue[str]()
        self._calls = [0] * setup.handlers
        self._called = threading.Condition()
        self._target = -1
        self.registrations = [
            informer.add_event_handler(
                on_add=self._handler(number, setup.workers > 0 and number == 0),
                on_update=self._handler(number, setup.workers > 0 and number == 0),
            )
            for number in range(setup.handlers)
        ]
        self._workers = [threading.Thread(target=self._work) for _ in range(setup.workers)]
        for thread in self._workers:
            thread.start()

    def _handler(self, number: int, queues: bool) -> Callable[..., None]:
        """Return a handler; the first one queues, if there are workers."""
        calls = self._calls

        def handle(*objects: Foo) -> None:
            if queues:
                self._queue.add(meta_namespace_key(objects[-1]))
            calls[number] += 1
            if calls[number] == self._target:
                with self._called:
                    self._called.notify_all()

        return handle

    def _work(self) -> None:
        while True:
            key, ended = self._queue.get()
            if ended:
                return
            if (obj := self._informer.indexer.get_by_key(key)) is not None:
                _ = obj.spec.replicas
            self._queue.done(key)

    def wait(self, calls: int) -> None:
        """Wait until each handler was called so often, and nothing is queued."""
        self._target = calls
        with self._called:
            if not self._called.wait_for(lambda: min(self._calls) >= calls, TIMEOUT):
                raise TimeoutError(f"handlers were called {self._calls} times, not {calls}")
        deadline = time.monotonic() + TIMEOUT
        while self._workers and (len(self._queue) or self._queue.statistics().processing):
            if time.monotonic() > deadline:
                raise TimeoutError("the queue is not empty")
            time.sleep(0.002)

    def stop(self) -> None:
        """End the workers."""
        self._queue.shut_down()
        for thread in self._workers:
            thread.join()


def run(setup: Setup) -> Measured:
    """Run it in this process."""
    measured = Measured()
    clock, stop = SkippingClock(), threading.Event()
    gc.collect()
    with (
        feeder(setup.objects, setup.note) as server,
        Client(RestConfig(server=server.url)) as client,
    ):
        informer = SharedIndexInformer(
            ResourceListWatch(client.resource(Foo)),
            Foo,
            indexers=dict(list(INDEXES.items())[: setup.indexes]),
            resync_period=RESYNC,
            page_size=PAGE,
            stream_initial_list=setup.streamed,
            delays=BackoffManager(Backoff(0.01)),
            clock=clock,
        )
        controller = Controller(setup, informer)
        running = threading.Thread(target=informer.run, args=(stop,))
        before = memory("VmRSS")
        try:
            with _collections(measured):
                with _timed() as first_list:
                    running.start()
                    controller.wait(setup.objects)
                measured.first_list = first_list[0] / setup.objects
                measured.bytes = (memory("VmRSS") - before) / setup.objects
                measured.peak_bytes = (memory("VmHWM") - before) / setup.objects
                _changes(setup, measured, server, controller, clock)
            _writes(measured, informer.indexer)
        finally:
            stop.set()
            running.join()
            controller.stop()
    return measured


def _changes(
    setup: Setup, measured: Measured, server: Feeder, controller: Controller, clock: SkippingClock
) -> None:
    """Measure what happens after the first list."""
    calls = setup.objects
    for name, count, order in (
        ("event", setup.events, ("events", setup.events)),
        ("paced_event", setup.paced, ("paced", setup.paced, setup.rate)),
        ("resync", setup.objects, ()),
        ("relist", setup.objects, ("expire",)),
    ):
        if not count:
            continue
        calls += count
        with _timed() as spent:
            if order:
                server.order(*order)
            else:
                clock.step(RESYNC)
            controller.wait(calls)
        setattr(measured, name, spent[0] / count)


def _writes(measured: Measured, source: Indexer[Foo]) -> None:
    """Measure the longest pauses of a store: a dict that grows, and an index that is built."""
    foos = source.list()
    copy: Indexer[Foo] = Indexer(indexers={"namespace": meta_namespace_index})
    for start in range(0, len(foos), 64):
        began = time.thread_time()
        for obj in foos[start : start + 64]:
            copy.add(obj)
        measured.longest_write = max(measured.longest_write, time.thread_time() - began)
    lock: Any = TimedLock()
    copy._storage._lock = lock
    began = time.thread_time()
    copy.add_indexers({"app": INDEXES["app"]})
    measured.new_index = time.thread_time() - began
    measured.index_pause = lock.longest


@contextmanager
def _timed() -> Iterator[list[float]]:
    """Measure processor time; the list has it when the block has ended."""
    spent = [0.0]
    began = time.process_time()
    yield spent
    spent[0] = time.process_time() - began


@contextmanager
def _collections(measured: Measured) -> Iterator[None]:
    """Note the garbage collections of a block, by the processor time of the thread that paused."""
    began = 0.0

    def note(phase: str, info: dict[str, int]) -> None:
        nonlocal began
        if phase == "start":
            began = time.thread_time()
            return
        seen = measured.collections.setdefault(str(info["generation"]), [0, 0.0])
        seen[0] += 1
        seen[1] = max(seen[1], time.thread_time() - began)

    gc.callbacks.append(note)
    try:
        yield
    finally:
        gc.callbacks.remove(note)


INDEXES: dict[str, Callable[[Any], list[str]]] = {
    "namespace": meta_namespace_index,
    "app": lambda obj: [obj.metadata.labels["app"]],
    "tier": lambda obj: [obj.metadata.labels["tier"]],
}


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    os.environ.pop("CLIENTGO_MUTATION_DETECTOR", None)
    print(json.dumps(asdict(run(Setup(**json.load(sys.stdin))))))
