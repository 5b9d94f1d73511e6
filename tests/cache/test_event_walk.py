"""The walk of a watch event in the documentation, held against one event that is recorded.

Promises that each file that the event passes is in the walk, unless it is in ``USED``, and that the
event passes each file of the walk.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import clientgo
from clientgo.api.core_v1 import Pod
from clientgo.cache import (
    NAMESPACE_INDEX,
    Lister,
    ResourceEventHandler,
    SharedIndexInformer,
    meta_namespace_index,
)
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import object_key, resource_of
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import (
    ScriptedServer,
    answer_json,
    stay_silent,
    watch_begin,
    watch_events,
)
from clientgo.util.wait import StopEvent
from clientgo.workqueue import (
    RateLimiter,
    RateLimitingQueue,
    default_controller_rate_limiter,
    run_workers,
)
from tests.field.collection import Collection
from tests.field.objects import NAMESPACE, PODS, listing, modified, pod

LIBRARY = Path(clientgo.__file__).parent
PAGE = (LIBRARY.parent / "docs/reference/architecture.md").read_text()

MOST_FILES = 18
"""From the socket to the work queue."""

USED = {
    "util/clock/clock.py": "waits and tells the time",
    "observe/metrics/provider.py": "is told, and ignores it",
    "cache/reflector/health.py": "is told",
    "cache/informer/identity.py": "is told",
    "rest/transport/in_flight.py": "sets the deadline of a read",
    "meta/objects/accessor.py": "reads the header of an object",
    "meta/resource_version.py": "compares versions",
    "cache/store/resource_versions.py": "compares versions",
    "cache/store/keys.py": "computes keys",
    "meta/objects/object_name.py": "computes keys",
    "cache/store/parts.py": "cuts what is large",
    "cache/reflector/state.py": "values",
    "cache/queues/queue.py": "values",
    "cache/informer/notifications.py": "values",
    "cache/queues/done_checker.py": "an event with a name",
    "workqueue/lock.py": "the lock of the work queue",
    "workqueue/observer.py": "is told, and ignores it",
    "workqueue/rate_limiters.py": "counts failures",
    "observe/trace/sync.py": "nothing is traced",
}
"""What the files of the walk use, each of which is read on its own."""


def walk() -> list[str]:
    text = PAGE[PAGE.index("### A watch event") : PAGE.index("### A reconcile")]
    return re.findall(r"`([a-z_/]+\.py)`", text)


class Record:
    """The files of the library in which a function ran in the threads with these names."""

    def __init__(self, *threads: str) -> None:
        self._threads = threads
        self.is_on = threading.Event()
        self.files: set[str] = set()

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        # A function that waits for the event has been called before: its return counts.
        if not self.is_on.is_set() or event not in ("call", "return"):
            return
        path = Path(frame.f_code.co_filename)
        if path.is_relative_to(LIBRARY):
            name = threading.current_thread().name
            if name.startswith(self._threads):
                self.files.add(str(path.relative_to(LIBRARY)))


class Queue(RateLimitingQueue[str]):
    """Tells when a key has been worked on."""

    def __init__(self, limiter: RateLimiter[str]) -> None:
        super().__init__(limiter)
        self.forgotten = threading.Event()

    def forget(self, item: str) -> None:
        super().forget(item)
        self.forgotten.set()


@contextmanager
def profiling(record: Record) -> Iterator[None]:
    threading.setprofile(record)
    try:
        yield
    finally:
        threading.setprofile(None)


def files_that_an_event_passes() -> set[str]:
    """Run one event from the socket to a worker, in a program that does nothing else."""
    record = Record("pods", "worker")
    queue = Queue(default_controller_rate_limiter())
    stop = StopEvent()

    class Handler(ResourceEventHandler[Pod]):
        def on_update(self, old: Pod, new: Pod) -> None:
            queue.add(object_key(new))

    def sync(key: str) -> None:
        assert lister.namespace(NAMESPACE).get(key.partition("/")[2])

    with ScriptedServer() as server, Client(RestConfig(server=server.url, qps=-1)) as client:
        gate = server.gate()
        pods = Collection(server, PODS, threading.Condition())
        pods.on_list(answer_json(listing(pod("a"))))
        first, second = (watch_events(modified(pod("a", version))) for version in (11, 12))
        pods.on_watch([*watch_begin(), *first, *gate.hold(), *second, *stay_silent()])
        informer: SharedIndexInformer[Pod] = SharedIndexInformer(
            ResourceListWatch(client.resource(Pod), NAMESPACE),
            Pod,
            name="pods",
            indexers={NAMESPACE_INDEX: meta_namespace_index},
        )
        informer.add_event_handler(Handler())
        lister = Lister(informer.indexer, resource_of(Pod))
        threads = [
            threading.Thread(target=informer.run, args=(stop,), name="pods informer"),
            threading.Thread(target=run_workers, args=(stop, queue, sync), name="workers"),
        ]
        with profiling(record):
            for thread in threads:
                thread.start()
            assert queue.forgotten.wait(60.0), "the first event opened the road"
            queue.forgotten.clear()
        record.is_on.set()
        gate.open()
        assert queue.forgotten.wait(60.0)
        record.is_on.clear()
        stop.set()
        queue.shut_down()
        for thread in threads:
            thread.join(60.0)
    return record.files


def test_an_event_passes_the_files_of_the_walk_and_no_others() -> None:
    passed = files_that_an_event_passes()
    named = set(walk())

    assert passed - named - set(USED) == set(), "passed, and not in the walk"
    assert named - passed == set(), "in the walk, and not passed"


def test_the_walk_is_short_and_goes_one_way() -> None:
    files = walk()

    assert files.index("workqueue/queue.py") < MOST_FILES
    assert len(files) == len(set(files)), "each file is named once"
