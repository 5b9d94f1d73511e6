"""Where an exercise runs: an API server of its own kind, one informer, one queue, a still clock.

Nothing here sleeps. A delay passes when the lab steps the clock.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from clientgo.cache import (
    DoneChecker,
    HandlerFuncs,
    Indexer,
    IndexFunc,
    Lister,
    ResourceEventHandler,
    SharedIndexInformer,
)
from clientgo.meta import Model, ObjectMeta, ObjectName, Resource, resource, resource_of
from clientgo.observe.trace import Hop, Recorder, tracing
from clientgo.testing import FakeClock, FakeSource
from clientgo.util.copies import uncopyable
from clientgo.util.process import SupervisedThread
from clientgo.util.wait import Backoff, BackoffManager
from clientgo.workqueue import ItemExponentialFailureRateLimiter, RateLimitingQueue

TIMEOUT: Final = 30.0
"""Seconds that the lab waits for a hop before it says that it did not happen."""

MOST_SYNCS: Final = 20
"""Syncs after which the lab does not wait for a queue to become empty."""

MOST_FAILURES: Final = 3
"""Equal failures of a key after which the lab does not try it again: one is to be read."""


class FooSpec(Model):
    """How many, and of which team."""

    replicas: int = 1
    team: str = ""


class FooStatus(Model):
    """How many there are, and when that was written."""

    replicas: int = 0
    synced_at: float = 0.0


@resource(group="exercises.study.example.com", version="v1", plural="foos")
class Foo(Resource):
    """The kind of the exercises."""

    spec: FooSpec = FooSpec()
    status: FooStatus = FooStatus()


def foo(name: str, **spec: Any) -> Foo:
    """A Foo in the namespace ``default``."""
    return Foo(metadata=ObjectMeta(name=name, namespace="default"), spec=FooSpec(**spec))


class RefusedError(OSError):
    """The server of the exercise refuses a write."""


class LabInformer(SharedIndexInformer[Foo]):
    """An informer that remembers its handlers, so that a check can call them itself."""

    def add_event_handler(self, *arguments: Any, **options: Any) -> Any:
        registration = super().add_event_handler(*arguments, **options)
        functions = {name: one for name, one in options.items() if name.startswith("on_")}
        given = [*arguments, options.get("handler")]
        self.registered = [*self.registered, given[0] or HandlerFuncs(**functions)]
        return registration

    def has_synced(self) -> bool:
        result = super().has_synced()
        self.was_asked.set()
        return result

    def has_synced_checker(self) -> DoneChecker:
        self.was_asked.set()
        return super().has_synced_checker()

    @property
    def stored(self) -> Indexer[Foo]:
        """The cache, for reads that are not the learner's: they are no hops."""
        return self._store

    registered: Sequence[ResourceEventHandler[Foo]] = ()
    was_asked: threading.Event
    """Set when a caller wants to know whether the informer has synced."""


@uncopyable("it has threads; make one in each process")
class Lab:
    """What an exercise works with. ``refused`` writes fail, then ``written`` gets all others.

    ``writes`` counts both, ``failures`` has what syncs raised.
    """

    def __init__(self, recorder: Recorder, indexers: dict[str, IndexFunc] | None = None) -> None:
        self.recorder = recorder
        self.clock = FakeClock()
        self.source = FakeSource(sample=foo("sample"), supports_watch_list=False)
        self.informer = LabInformer(
            self.source,
            Foo,
            name="Foo",
            indexers=indexers,
            delays=BackoffManager(Backoff(duration=0.001)),
        )
        self.informer.was_asked = threading.Event()
        self.queue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            ItemExponentialFailureRateLimiter(0.005, 1000.0), name="foos", clock=self.clock
        )
        self.foos: Lister[Foo] = Lister(self.informer.indexer, resource_of(Foo))
        self.refused = 0
        self.written: dict[str, int] = {}
        self.writes = 0
        self.on_write: Callable[[], object] = int
        self.failures: list[Exception] = []
        self.damaged: list[str] = []

    def write(self, name: str, replicas: int) -> None:
        """Scale what belongs to a Foo. Raises RefusedError while the server refuses writes."""
        self.writes += 1
        self.on_write()
        if self.refused > 0:
            self.refused -= 1
            raise RefusedError("the API server has answered 500")
        self.written[name] = replicas

    def remove(self, name: str) -> None:
        """Delete what was written for a Foo."""
        del self.written[name]

    def update(self, changed: Foo) -> None:
        """Update a Foo: if anything changes, the cache has it and the key is enqueued."""
        cached = self.cached(str(ObjectName.of(changed)))
        self.clock.step(1.0)
        if (changed.spec, changed.status) != (cached.spec, cached.status):
            self.informer.indexer.update(changed)
            self.queue.add(ObjectName.of(changed))

    def cached(self, key: str) -> Foo:
        """Return what the cache has under a key; no hop of the learner's."""
        found = self.informer.stored.get_by_key(key)
        if found is None:
            raise LookupError(f"the cache has no {key}")
        return found

    def taken(self) -> list[object]:
        """Take what is listed in the queue."""
        return [self.queue.get()[0] for _ in range(self.queue.statistics().ready)]

    def called(self, key: str, event: str) -> bool:
        """Wait until handlers are called for an event; return False if there is none."""
        wanted = ("handler.call", key, event)
        return bool(self.informer.registered) and self.saw(
            lambda hop: (hop.hop, hop.key, hop.details.get("event")) == wanted
        )

    def handler_errors(self) -> list[str]:
        """Return what each handler that failed has raised last."""
        handlers = self.informer.statistics().handlers
        return [repr(handler.last_error) for handler in handlers if handler.last_error]

    def saw(self, condition: Callable[[Hop], bool]) -> bool:
        """Wait for a hop; return False if it does not come."""
        try:
            self.recorder.wait_for(condition, TIMEOUT)
        except TimeoutError:
            return False
        return True

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the informer in the block; when it ends, the handlers have returned."""
        stop = threading.Event()
        thread = SupervisedThread.started(
            self.informer.run, args=(stop,), name="informer", then="the exercise sees no change"
        )
        try:
            self.saw(lambda hop: hop.hop == "watch.opened")
            yield
        finally:
            stop.set()
            thread.join()

    def drain(self, sync: Callable[[ObjectName], object], most: int = MOST_SYNCS) -> None:
        """Sync keys until none is listed or waits, as one worker does; step over delays.

        A key that fails :data:`MOST_FAILURES` times alike is given up.
        """
        alike: Counter[str] = Counter()
        for _ in range(most):
            statistics = self.queue.statistics()
            if not statistics.ready:
                if statistics.next_due is None:
                    break
                self._step_to(statistics.next_due)
            key, _ = self.queue.get()
            try:
                with self.queue.syncing(key):
                    sync(key)
            except Exception as error:  # noqa: BLE001 - as in the worker loop of a controller
                self.failures.append(error)
                alike[f"{key}: {error!r}"] += 1
                if alike[f"{key}: {error!r}"] < MOST_FAILURES:
                    self.queue.add_rate_limited(key)
            else:
                self.queue.forget(key)
            finally:
                self.queue.done(key)

    def _step_to(self, due: float) -> None:
        last = self.recorder.hops()[-1].n
        self.clock.step(due - self.clock.monotonic())
        self.recorder.wait_for(lambda hop: hop.hop == "queue.add", TIMEOUT, after=last)


@contextmanager
def lab(indexers: dict[str, IndexFunc] | None = None) -> Iterator[Lab]:
    """A lab whose parts are traced."""
    recorder = Recorder()
    with tracing(recorder) as trace:
        made = Lab(recorder, indexers)
        try:
            yield made
        finally:
            made.queue.shut_down()
            trace.flush(TIMEOUT)
