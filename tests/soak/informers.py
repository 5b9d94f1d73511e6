"""Informers of every sort, with handlers that replay what they are called with."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from clientgo.api.core_v1 import Pod
from clientgo.cache import (
    DELTA_FIFO,
    REAL_FIFO,
    CompactMetadata,
    DeletedFinalStateUnknown,
    FilteringHandler,
    ResourceEventHandler,
    SharedIndexInformer,
    deletion_handling_meta_namespace_key,
)
from clientgo.client import Client, ResourceListWatch, selecting
from clientgo.meta import GroupVersionKind, PartialObjectMetadata, Resource, resource_of
from clientgo.util.wait import Backoff, BackoffManager
from tests.soak.clients import SoakClient
from tests.soak.findings import DeliberateError, Findings
from tests.soak.world import GROUPS, KINDS, NAMESPACES, World

STOP_BOUND = 15.0
"""Seconds in which an informer has to stop; it waits 10 for its handlers."""

QUICK = Backoff(duration=0.05, factor=2.0, jitter=0.5, steps=10, cap=1.0)
"""How long a reflector pauses: shorter than usual, so that a round has many failures."""

Version = tuple[str, str]
"""The uid and the resource version of an object."""


def version_of(obj: Any) -> Version:
    return obj.metadata.uid, obj.metadata.resource_version


@dataclass(frozen=True)
class Selection:
    """Which objects an informer selects; the server and this side must agree."""

    labels: str = ""
    fields: str = ""
    namespace: str = ""
    selects: Callable[[Any], bool] = lambda _obj: True


def _is_in(obj: Any) -> bool:
    return bool((obj.metadata.labels or {}).get("in") == "yes")


def _runs(obj: Any) -> bool:
    return bool(obj.status is not None and obj.status.phase == "Running")


def random_selection(kind: type[Resource], rng: random.Random) -> Selection:
    namespace = rng.choice(NAMESPACES)

    def is_there(obj: Any) -> bool:
        return bool(obj.metadata.namespace == namespace)

    choices = [
        Selection(),
        Selection(),
        Selection(labels="in=yes", selects=_is_in),
        Selection(namespace=namespace, selects=is_there),
        Selection(
            fields=f"metadata.namespace={namespace}", labels="in=yes",
            selects=lambda obj: is_there(obj) and _is_in(obj),
        ),
    ]  # fmt: skip
    if kind is Pod:
        choices += [Selection(fields="status.phase=Running", selects=_runs)] * 3
    return rng.choice(choices)


class Replay(ResourceEventHandler[Any]):
    """Applies notifications to a state of its own, and checks that each one fits."""

    def __init__(
        self,
        name: str,
        world: World,
        *,
        chance_to_raise: float = 0.0,
        chance_to_block: float = 0.0,
        split: bool = False,
    ) -> None:
        self.name = name
        self.state: dict[str, Version] = {}
        self._world = world
        self._findings: Findings = world.findings
        self._raise = chance_to_raise
        self._block = chance_to_block
        self._split = split
        self._rng = random.Random(name)

    def on_add(self, obj: Any, is_in_initial_list: bool) -> None:
        key, before = self._before(obj)
        if before is not None:
            self._fail("an add of an object that is there", before, obj)
        self.state[key] = version_of(obj)
        self._after()

    def on_update(self, old: Any, new: Any) -> None:
        key, before = self._before(new)
        after = version_of(new)
        if before is None:
            self._fail("an update of an object that is not there", before, new)
        elif before != version_of(old):
            self._fail("an update from another state than the last one", before, old)
        elif before == after:
            self._fail("an update without a change", before, new)
        elif before[0] != after[0]:
            if self._split:
                self._fail("an update to another uid", before, new)
        elif int(after[1]) < int(before[1]) and not self._world.time_goes_back:
            self._fail("an update to an older version", before, new)
        self.state[key] = after
        self._after()

    def on_resync(self, old: Any, new: Any) -> None:
        _, before = self._before(new)
        if before != version_of(new):
            self._fail("a resync with another state than the last one", before, new)
        self._findings.count("resyncs")

    def on_delete(self, obj: Any) -> None:
        key, before = self._before(obj)
        last = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        if before is None:
            # A new server that has passed the version of a watch was not noticed.
            if not self._world.has_lost_state:
                self._fail("a deletion of an object that is not there", before, last)
        elif last.metadata.uid != before[0] and not self._world.has_lost_state:
            self._fail("a deletion of another uid", before, last)
        self.state.pop(key, None)
        self._findings.count("tombstones" if last is not obj else "deletions")
        self._after()

    def _before(self, obj: Any) -> tuple[str, Version | None]:
        key = deletion_handling_meta_namespace_key(obj)
        return key, self.state.get(key)

    def _after(self) -> None:
        self._findings.count("notifications")
        if self._rng.random() < self._block:
            time.sleep(0.05)
        if self._rng.random() < self._raise:
            raise DeliberateError("the handler fails")

    def _fail(self, kind: str, before: Version | None, obj: Any) -> None:
        name, lost = obj.metadata.name, self._world.lost_text()
        self._findings.fail(kind, f"{self.name}: {name} is {version_of(obj)} after {before}{lost}")


class InformerRun(SoakClient):
    """One informer with random settings, its thread and its handlers."""

    def __init__(self, world: World, client: Client, number: int) -> None:
        rng = self._rng = random.Random(world.rng.random())
        self._world = world
        self._client = client
        self._stop = threading.Event()
        self._number = number
        self.kind = rng.choice(KINDS)
        self._selection = random_selection(self.kind, rng)
        self._split = rng.random() < 0.3
        self._resync = rng.choice((0.0, 0.0, 1.0))
        source, expected = self._source(client)
        queue = rng.choice((DELTA_FIFO, REAL_FIFO))
        streamed, page = rng.random() < 0.5, rng.choice((0, 0, 7, 50))
        self.name = (
            f"informer {number} of {self.kind.__name__} ({getattr(expected, '__name__', 'dict')},"
            f" {queue.make.__name__}, streamed={streamed}, page={page}, {self._selection.labels}"
            f" {self._selection.fields} {self._selection.namespace}, split={self._split})"
        )
        self.informer: SharedIndexInformer[Any] = SharedIndexInformer(
            source,
            expected,
            name=f"soak-{number}",
            resync_period=self._resync,
            indexers={"group": lambda obj: [(obj.metadata.labels or {}).get("group", "")]},
            queue=queue,
            transform=rng.choice((None, CompactMetadata(), lambda obj: obj)),
            split_recreated=self._split,
            page_size=page,
            stream_initial_list=streamed,
            delays=BackoffManager(QUICK, 5.0),
        )
        world.findings.track(self.informer)
        self._handlers: dict[int, tuple[Replay, Any, Callable[[Any], bool]]] = {}
        self._handler_number = 0
        for _ in range(rng.randint(1, 3)):
            self.add_handler()
        self._thread = threading.Thread(
            target=self.informer.run, args=(self._stop,), name=self.name, daemon=True
        )
        self._thread.start()

    def _source(self, client: Client) -> tuple[ResourceListWatch, Any]:
        """Return the source of typed, unstructured or metadata-only objects, and their type."""
        form = self._rng.choice(("typed", "unstructured", "metadata"))
        selection, declared = self._selection, resource_of(self.kind)
        tweak = selecting(labels=selection.labels, fields=selection.fields)
        resource: Any
        expected: Any
        if form == "typed":
            resource, expected = client.resource(self.kind), self.kind
        elif form == "unstructured":
            resource = client.resource(declared)
            expected = GroupVersionKind(declared.group, declared.version, declared.kind)
        else:
            resource, expected = client.metadata(self.kind), PartialObjectMetadata
        return ResourceListWatch(resource, selection.namespace, tweak), expected

    def add_handler(self) -> None:
        rng = self._rng
        self._handler_number += 1
        coalesce, filtered = rng.random() < 0.25, rng.random() < 0.25
        replay = Replay(
            f"{self.name} handler {self._handler_number} coalesce={coalesce} filtered={filtered}",
            self._world,
            chance_to_raise=rng.choice((0.0, 0.0, 0.05)),
            chance_to_block=rng.choice((0.0, 0.0, 0.02)),
            split=self._split,
        )
        group = rng.choice(GROUPS)

        def accepts(obj: Any) -> bool:
            return not filtered or (obj.metadata.labels or {}).get("group") == group

        handler = FilteringHandler(accepts, replay) if filtered else replay
        registration = self.informer.add_event_handler(
            handler, coalesce=coalesce, resync_period=rng.choice((None, 0.0, 2.0))
        )
        self._handlers[self._handler_number] = replay, registration, accepts

    def remove_handler(self) -> None:
        if len(self._handlers) > 1:
            number = self._rng.choice(list(self._handlers))
            _, registration, _ = self._handlers.pop(number)
            if self._rng.random() < 0.5:
                self.informer.remove_event_handler(registration)
            else:
                self.informer.shut_down_event_handler(registration)

    def disturb(self) -> None:
        """Add or remove a handler."""
        self._rng.choice((self.add_handler, self.remove_handler))()

    def replaced(self) -> InformerRun:
        """Stop, and return another informer."""
        self.stop()
        return InformerRun(self._world, self._client, self._number + 10)

    def problem(self) -> str:
        """Return how cache, indexes and handlers differ from the server; empty if they do not."""
        there = {
            key: obj
            for key, obj in self._world.state(self.kind).items()
            if self._selection.selects(obj)
        }
        expected = {key: version_of(obj) for key, obj in there.items()}
        indexer = self.informer.indexer
        cached = {key: indexer.get_by_key(key) for key in indexer.list_keys()}
        have = {key: version_of(obj) for key, obj in cached.items() if obj is not None}
        if have != expected:
            return f"{self.name}: cache and server differ: {difference(have, expected)}; {self}"
        for group in (*GROUPS, ""):
            indexed = {
                deletion_handling_meta_namespace_key(o) for o in indexer.by_index("group", group)
            }
            right = {
                k for k, o in there.items() if (o.metadata.labels or {}).get("group", "") == group
            }
            if indexed != right:
                return f"{self.name}: the index {group!r} differs: {indexed ^ right}"
        for replay, registration, accepts in list(self._handlers.values()):
            wanted = {key: v for key, v in expected.items() if accepts(there[key])}
            if replay.state != wanted:
                return (
                    f"{replay.name} differs: {difference(replay.state, wanted)}; "
                    f"{registration.statistics()}"
                )
            if not registration.has_synced():
                return f"{replay.name} has not synced"
        if not self.informer.has_synced():
            return f"{self.name} has not synced"
        return ""

    def __str__(self) -> str:
        return str(self.informer.statistics())

    def stop(self) -> None:
        began = time.monotonic()
        self._stop.set()
        self._thread.join(60)
        took = time.monotonic() - began
        if self._thread.is_alive() or took > STOP_BOUND:
            self._world.findings.fail("an informer does not stop", f"{self.name}: {took:.1f} s")


def difference(have: dict[str, Any], expected: dict[str, Any]) -> str:
    keys = sorted(k for k in have.keys() | expected.keys() if have.get(k) != expected.get(k))
    shown = ", ".join(f"{k}: {have.get(k)} not {expected.get(k)}" for k in keys[:4])
    return f"{len(keys)} keys, {shown}"
