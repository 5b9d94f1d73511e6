"""DeltaFIFO and RealFIFO against plain models, and as the road from a server to a store."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from clientgo.cache import (
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    Deltas,
    DeltaType,
    Indexer,
    Queue,
    QueueClosedError,
    RealFIFO,
    newest,
)
from tests.cache.builders import Foo, foo

NAMES = "abc"
names = st.sampled_from(NAMES)
lists = st.lists(names, unique=True)

Event = tuple[str, str, int | None, bool]
"""Type, key, version, whether it is a tombstone."""


class PlainDeltaFIFO:
    """The rules of DeltaFIFO, one by one, on lists and dicts."""

    def __init__(self, known: dict[str, int]) -> None:
        self.known = known
        self.queue: list[tuple[str, list[Event]]] = []

    def pending(self, key: str) -> list[Event] | None:
        return next((events for queued, events in self.queue if queued == key), None)

    def append(self, event: Event) -> None:
        events = self.pending(event[1])
        if events is None:
            self.queue.append((event[1], [event]))
            return
        events.append(event)
        if len(events) > 1 and events[-1][0] == events[-2][0] == "Deleted":
            del events[-2 if events[-2][3] else -1]

    def delete(self, event: Event) -> None:
        if event[1] in self.known or self.pending(event[1]):
            self.append(event)

    def replace(self, listed: list[Event]) -> None:
        for event in listed:
            self.append(event)
        keys = {event[1] for event in listed}
        for key, events in self.queue:
            if key not in keys:
                self.append(("Deleted", key, events[-1][2], True))
        for key, version in self.known.items():
            if key not in keys and not self.pending(key):
                self.append(("Deleted", key, version, True))

    def resync(self) -> None:
        for key, version in self.known.items():
            if not self.pending(key):
                self.append(("Sync", key, version, False))

    def pop(self) -> list[list[Event]]:
        return [self.queue.pop(0)[1]] if self.queue else []

    def pop_batch(self, limit: int) -> list[list[Event]]:
        return [self.queue.pop(0)[1] for _ in range(min(limit, len(self.queue)))]


class PlainRealFIFO:
    """The rules of RealFIFO with known objects, on a list."""

    def __init__(self, known: dict[str, int]) -> None:
        self.known = known
        self.queue: list[Event] = []

    def append(self, event: Event) -> None:
        self.queue.append(event)

    delete = append

    def replace(self, listed: list[Event]) -> None:
        keys = {event[1] for event in listed}
        last = {event[1]: event for event in self.queue}
        for key, event in last.items():
            if key not in keys and event[0] != "Deleted":
                self.append(("Deleted", key, event[2], True))
        for key, version in self.known.items():
            if key not in keys and key not in last:
                self.append(("Deleted", key, version, True))
        self.queue += listed

    def resync(self) -> None:
        pending = {event[1] for event in self.queue}
        self.queue += [
            ("Sync", key, version, False)
            for key, version in self.known.items()
            if key not in pending
        ]

    def pop(self) -> list[list[Event]]:
        return [[self.queue.pop(0)]] if self.queue else []

    def pop_batch(self, limit: int) -> list[list[Event]]:
        batch: list[list[Event]] = []
        seen: set[str] = set()
        while self.queue and len(batch) < limit and self.queue[0][1] not in seen:
            seen.add(self.queue[0][1])
            batch.append([self.queue.pop(0)])
        return batch


class QueueMachine(RuleBasedStateMachine):
    """The same calls on a queue and on its model; what is popped must be the same."""

    make: Callable[[Any], Queue]
    model_type: type[PlainDeltaFIFO | PlainRealFIFO]

    def __init__(self) -> None:
        super().__init__()
        self.store = Dictionary()
        self.known: dict[str, int] = {}
        self.queue = type(self).make(self.store)
        self.model = self.model_type(self.known)
        self.version = 0
        # Synced from the start, so that batches are not cut at the end of a first list.
        self.queue.replace([], "0")

    def fresh(self, name: str) -> Foo:
        self.version += 1
        return foo(name, rv=self.version)

    @rule(name=names, update=st.booleans())
    def add(self, name: str, update: bool) -> None:
        obj = self.fresh(name)
        (self.queue.update if update else self.queue.add)(obj)
        self.model.append(("Updated" if update else "Added", f"ns/{name}", self.version, False))

    @rule(name=names, tombstone=st.booleans())
    def delete(self, name: str, tombstone: bool) -> None:
        obj = self.fresh(name)
        self.queue.delete(DeletedFinalStateUnknown(f"ns/{name}", obj) if tombstone else obj)
        self.model.delete(("Deleted", f"ns/{name}", self.version, tombstone))

    @rule(listed=lists)
    def replace(self, listed: list[str]) -> None:
        objs = [self.fresh(name) for name in listed]
        self.queue.replace(objs, str(self.version))
        self.model.replace([event(Delta(DeltaType.REPLACED, obj)) for obj in objs])

    @rule()
    def resync(self) -> None:
        self.queue.resync()
        self.model.resync()

    @rule()
    def pop(self) -> None:
        expected = self.model.pop()
        if expected:
            self.check(expected, lambda process: self.queue.pop_batch(process, limit=1))

    @rule(limit=st.integers(1, 4))
    def pop_batch(self, limit: int) -> None:
        expected = self.model.pop_batch(limit)
        if expected:
            self.check(expected, lambda process: self.queue.pop_batch(process, limit=limit))

    def check(self, expected: list[list[Event]], consume: Callable[[Any], None]) -> None:
        popped: list[list[Event]] = []

        def process(batch: list[Deltas], initial: bool) -> None:
            popped.extend([event(delta) for delta in deltas] for deltas in batch)
            for deltas in batch:
                self.store.take_in(deltas)

        consume(process)
        assert popped == expected
        self.known.clear()
        for key, obj in self.store.objects.items():
            self.known[key] = int(obj.metadata.resource_version)

    @invariant()
    def as_much_is_pending(self) -> None:
        assert self.queue.statistics().pending == len(self.model.queue)


class DeltaFIFOMachine(QueueMachine):
    make = staticmethod(lambda store: DeltaFIFO(known_objects=store))
    model_type = PlainDeltaFIFO


class RealFIFOMachine(QueueMachine):
    make = staticmethod(lambda store: RealFIFO(known_objects=store))
    model_type = PlainRealFIFO


class Dictionary:
    """The consumer's store."""

    def __init__(self) -> None:
        self.objects: dict[str, Foo] = {}

    def list_keys(self) -> list[str]:
        return list(self.objects)

    def get_by_key(self, key: str) -> Foo | None:
        return self.objects.get(key)

    def take_in(self, deltas: Deltas) -> None:
        for delta in deltas:
            if delta.type is DeltaType.DELETED:
                self.objects.pop(event(delta)[1], None)
            else:
                self.objects[event(delta)[1]] = delta.object


def event(delta: Delta) -> Event:
    obj = delta.object
    if isinstance(obj, DeletedFinalStateUnknown):
        version = None if obj.obj is None else int(obj.obj.metadata.resource_version)
        return (str(delta.type), obj.key, version, True)
    key = f"{obj.metadata.namespace}/{obj.metadata.name}"
    return (str(delta.type), key, int(obj.metadata.resource_version), False)


TestDeltaFIFO = DeltaFIFOMachine.TestCase
TestDeltaFIFO.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)
TestRealFIFO = RealFIFOMachine.TestCase
TestRealFIFO.settings = settings(max_examples=80, stateful_step_count=40, deadline=None)


class Server:
    """Objects, and the changes of them that a queue is told of, or misses until the next list."""

    def __init__(self, queue: Queue, names: str = NAMES) -> None:
        self._queue = queue
        self._names = names
        self.objects: dict[str, Foo] = {}
        self._version = 0

    def do(self, action: str, name: str) -> None:
        if action == "resync":
            self._queue.resync()
        elif action == "relist":
            self._queue.replace(list(self.objects.values()), str(self._version))
        elif action == "delete":
            self._delete(name, missed=False)
        elif action == "missed delete":
            self._delete(name, missed=True)
        else:
            self._write(name, missed=action == "missed write")

    def _write(self, name: str, *, missed: bool) -> None:
        self._version += 1
        exists, obj = name in self.objects, foo(name, rv=self._version)
        self.objects[name] = obj
        if not missed:
            (self._queue.update if exists else self._queue.add)(obj)

    def _delete(self, name: str, *, missed: bool) -> None:
        if name in self.objects:
            self._version += 1
            del self.objects[name]
            if not missed:
                self._queue.delete(foo(name, rv=self._version))


actions = st.tuples(
    st.sampled_from(
        ["write", "write", "delete", "missed write", "missed delete", "relist", "resync"]
    ),
    names,
)


def consumer(kind: str) -> tuple[Queue, Indexer[Foo], Callable[[list[Deltas], bool], None]]:
    """A queue, a store, and the process function between them."""
    store: Indexer[Foo] = Indexer()
    queue: Queue
    if kind == "delta":
        queue = DeltaFIFO(known_objects=store)
    elif kind == "real":
        queue = RealFIFO(known_objects=store)
    else:
        queue = RealFIFO(emit_bookmarks=True)

    def process(batch: list[Deltas], initial: bool) -> None:
        for deltas in batch:
            for delta in deltas:
                if delta.type is DeltaType.REPLACED_ALL:
                    store.replace(delta.object.objects, delta.object.resource_version)
                elif delta.type is not DeltaType.SYNC_ALL:
                    store.apply([delta])

    return queue, store, process


KINDS = ["delta", "real", "atomic"]


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.booleans(), st.integers(1, 3), st.lists(actions, max_size=4), st.booleans()),
        max_size=25,
    )
)
def test_after_a_last_list_the_store_equals_the_server(kind: str, steps: list[Any]) -> None:
    """DFI-04, DFI-07, DFI-15, RFI-04: also for what happens while entries are processed."""
    queue, store, process = consumer(kind)
    server = Server(queue)
    for pop, limit, happenings, before in steps:

        def busy(
            batch: list[Deltas], initial: bool, happenings: Any = happenings, before: bool = before
        ) -> None:
            if before:
                process(batch, initial)
            for action in happenings:
                server.do(*action)
            if not before:
                process(batch, initial)

        if pop and queue.statistics().pending:
            queue.pop_batch(busy, limit=limit)
        else:
            for action in happenings:
                server.do(*action)
    server.do("relist", "")
    while queue.statistics().pending:
        queue.pop_batch(process)

    assert {obj.metadata.name: obj.metadata.resource_version for obj in store.list()} == {
        name: obj.metadata.resource_version for name, obj in server.objects.items()
    }
    assert queue.has_synced()


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_at_once_nothing_is_lost_and_nothing_goes_back(kind: str) -> None:
    """DFI-02, RFI-01: a producer, a resyncing thread and a consumer."""
    queue, store, process = consumer(kind)
    server = Server(queue, "abcdefgh")
    seen: dict[str, list[int]] = {}
    failures: list[BaseException] = []

    def noting(batch: list[Deltas], initial: bool) -> None:
        for deltas in batch:
            last = newest(deltas)
            if last is not None and last.type in (DeltaType.ADDED, DeltaType.UPDATED):
                versions = seen.setdefault(last.object.metadata.name, [])
                versions.append(int(last.object.metadata.resource_version))
        process(batch, initial)

    def consume() -> None:
        try:
            while True:
                queue.pop_batch(noting, limit=5)
        except QueueClosedError:
            return
        except BaseException as error:
            failures.append(error)

    def produce() -> None:
        for number in range(2000):
            name = "abcdefgh"[number * 7 % 8]
            server.do("delete" if number % 11 == 0 else "write", name)
            if number % 13 == 0:
                server.do("missed delete", name)
            if number % 97 == 0:
                server.do("relist", "")
        server.do("relist", "")

    def resync() -> None:
        while producer.is_alive():
            queue.resync()

    consuming = threading.Thread(target=consume, daemon=True)
    producer = threading.Thread(target=produce, daemon=True)
    resyncing = threading.Thread(target=resync, daemon=True)
    for thread in (consuming, producer, resyncing):
        thread.start()
    producer.join(30)
    resyncing.join(30)
    queue.close()
    consuming.join(30)

    assert failures == []
    assert {obj.metadata.name: obj.metadata.resource_version for obj in store.list()} == {
        name: obj.metadata.resource_version for name, obj in server.objects.items()
    }
    for versions in seen.values():
        assert versions == sorted(versions)


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO])
def test_the_changes_of_each_producer_keep_their_order(make: Any) -> None:
    """DFI-02, RFI-01: two producers, one consumer."""
    queue = make()
    popped: list[tuple[str, int]] = []

    def produce(own: str) -> None:
        for start in range(0, 1000, 10):
            queue.apply(
                [
                    Delta(DeltaType.UPDATED, foo(f"{own}-{number}", rv=number))
                    for number in range(start, start + 10)
                ]
            )

    def note(batch: list[Deltas], initial: bool) -> None:
        for deltas in batch:
            name, _, number = deltas[0].object.metadata.name.partition("-")
            popped.append((name, int(number)))

    producers = [threading.Thread(target=produce, args=(own,), daemon=True) for own in "pq"]
    for producer in producers:
        producer.start()
    while len(popped) < 2000:
        queue.pop_batch(note, limit=7)
    for producer in producers:
        producer.join(30)

    for own in "pq":
        assert [number for name, number in popped if name == own] == list(range(1000))
