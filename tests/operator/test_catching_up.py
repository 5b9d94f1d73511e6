"""What a new leader waits for: that its caches have what the one before it wrote."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.cache import ResourceEventHandler
from clientgo.client import Client
from clientgo.meta import ForbiddenError, ObjectMeta, ObjectName
from clientgo.operator import Context, LeaderElection, Manager
from clientgo.operator.cache.kind_cache import KindCache
from clientgo.operator.cache.scope import EVERYWHERE
from clientgo.operator.manager.sharing import SharedWork
from clientgo.rest import HTTPTransport, RestConfig
from clientgo.testcluster.server.faults import FreezeWatches, Requests
from clientgo.testing.operator import eventually
from clientgo.testing.recording_transport import RecordingTransport
from clientgo.util.clock import REAL_CLOCK
from clientgo.util.wait import StopEvent, wait_for_event
from tests.background import Background
from tests.operator.world import PATIENCE, Gadget, Part, World, gadget, part

ELECTION = LeaderElection(id="replicas", namespace="default", lease=60, renew=40, retry=0.2)
PARTS = Requests(verbs=("watch",), resource="parts")


@contextmanager
def frozen(world: World) -> Iterator[None]:
    """Hold back what the watches of parts bring, until the end of the block."""
    fault = FreezeWatches(requests=PARTS)
    world.server.inject(fault)
    try:
        yield
    finally:
        world.server.lift(fault)


class Maker:
    """Makes one part for each gadget of size 2, whose name the server chooses."""

    def __init__(self) -> None:
        self.seen: list[int] = []
        self.made = threading.Event()

    def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
        parts = ctx.secondaries(Part)
        self.seen.append(len(parts))
        if obj.spec.size == 2 and not parts:
            metadata = ObjectMeta(generate_name="p-", namespace="default")
            ctx.client.create(ctx.own(Part(metadata=metadata)))
            self.made.set()


def lists_parts(action: Any) -> bool:
    return (action.verb, action.resource.resource) == ("list", "parts")


def test_a_new_leader_sees_what_the_last_one_wrote(make_world: Callable[..., World]) -> None:
    """OP-LE-12: however late its watch is. It would make the part a second time otherwise."""
    world = make_world(gadget(), leader_election=ELECTION, real_time=True)
    first, second = Maker(), Maker()
    world.manager.controller(Gadget).owns(Part).build(first)
    config = RestConfig(server=world.server.url, qps=-1)
    asked = RecordingTransport(HTTPTransport(config))
    follows = Manager(Client(config, transport=asked), metrics="0", leader_election=ELECTION)
    follows.controller(Gadget).owns(Part).build(second)
    world.manager.start()
    assert world.manager.elected.wait(PATIENCE)
    with follows:
        with frozen(world):
            world.patch(gadget(), {"spec": {"size": 2}})
            assert first.made.wait(PATIENCE)
            asked.clear()
            world.manager.stop()
            asked.wait_for(lambda actions: any(map(lists_parts, actions)))
            assert world.get(Lease, "replicas").spec.holder_identity
            assert second.seen == []
        assert follows.elected.wait(PATIENCE)
        eventually(lambda: second.seen)
    assert second.seen == [1]
    assert len(world.client.resource(Part).namespace("default").list().items) == 1


def test_a_new_owner_of_a_shard_sees_what_the_last_one_wrote(
    make_world: Callable[..., World],
) -> None:
    """OP-LE-12: before any run in the shard, also one that an edit asks for."""
    world = make_world(gadget(), real_time=True)
    config = RestConfig(server=world.server.url, qps=-1)
    makers, managers, asked, shards = [], [], [], []
    for _ in range(2):
        asked.append(RecordingTransport(HTTPTransport(config)))
        makers.append(Maker())
        managers.append(
            Manager(
                Client(config, transport=asked[-1]),
                metrics="0",
                leader_election=replace(ELECTION, retry=0.1, shards=2),
            )
        )
        controller = managers[-1].controller(Gadget).owns(Part).build(makers[-1])
        ownership = controller.services.ownership
        assert ownership is not None
        shards.append(ownership)
    with managers[0], managers[1]:
        eventually(lambda: [len(each.owned) for each in shards] == [1, 1])
        owner = next(n for n in range(2) if shards[n].owns(ObjectName("default", "a")))
        heir = 1 - owner
        eventually(lambda: makers[owner].seen)
        before = len(makers[heir].seen)
        with frozen(world):
            world.patch(gadget(), {"spec": {"size": 2}})
            assert makers[owner].made.wait(PATIENCE)
            asked[heir].clear()
            managers[owner].stop()
            asked[heir].wait_for(lambda actions: any(map(lists_parts, actions)))
            world.patch(gadget(), {"metadata": {"labels": {"edited": "now"}}})
            assert len(makers[heir].seen) == before
        eventually(lambda: len(makers[heir].seen) > before)
    assert set(makers[heir].seen[before:]) == {1}
    assert len(world.client.resource(Part).namespace("default").list().items) == 1


class Unanswered:
    """A controller whose cache asks an API server that does not answer."""

    def __init__(self) -> None:
        self.asked, self.taken = threading.Event(), threading.Event()

    def written_caches(self) -> set[Unanswered]:
        return {self}

    def catch_up(self, _deadline: float, stop: threading.Event) -> None:
        self.asked.set()
        wait_for_event(stop, PATIENCE)

    def take(self, _is_gained: Callable[[ObjectName], bool]) -> None:
        self.taken.set()

    def release(self, _is_lost: Callable[[ObjectName], bool]) -> None: ...


@contextmanager
def sharing(
    world: World, controller: Unanswered, election: LeaderElection = ELECTION
) -> Iterator[SharedWork]:
    """Share the work of a controller; at the end stop."""
    settings, failures = replace(election, shards=2), list[BaseException]()
    config, controllers = RestConfig(server=world.server.url), [controller]
    work = SharedWork(settings, config, lambda: cast(Any, controllers), REAL_CLOCK)
    work.start(failures.append)
    try:
        yield work
    finally:
        assert work.stop(PATIENCE) == failures == []


def test_a_new_owner_does_not_wait_longer_than_its_lease_allows(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-LE-12: for an API server that does not answer; a warning says so."""
    controller = Unanswered()
    with sharing(world, controller, replace(ELECTION, lease=5, renew=0.4, retry=0.1)):
        assert controller.taken.wait(PATIENCE / 2)
    (late,) = [line for line in caplog.messages if "older state" in line]
    assert late.endswith("the caches did not have it within 0.2 s")


def test_a_new_owner_that_is_stopped_waits_no_longer(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-LE-12"""
    controller = Unanswered()
    with sharing(world, controller) as work:
        assert controller.asked.wait(PATIENCE)
        assert work.stop(5.0) == []
    assert "older state" not in caplog.text


@pytest.fixture
def parts(world: World) -> Iterator[KindCache]:
    """A cache of parts that knows a, b and c."""
    world.create(*(part(name) for name in "abc"))
    cache = world.manager.cache.declare(Part)
    subscription = cache.subscribe(ResourceEventHandler(), EVERYWHERE)
    cache.start()
    assert cache.wait_synced(subscription, PATIENCE)
    yield cache
    cache.stop()


def stored(cache: KindCache) -> list[str]:
    (informer,) = cache.informers().values()
    return sorted(informer.indexer.list_keys())


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda world: world.create(part("d")), "abcd"),
        (lambda world: world.delete(part("b")), "ac"),
        (lambda world: world.patch(part("a"), {"spec": {"size": 5}}), "abc"),
    ],
    ids=["created", "deleted", "changed"],
)
def test_a_cache_catches_up_with_every_change(
    world: World, parts: KindCache, change: Callable[[World], object], expected: str
) -> None:
    """OP-LE-12"""
    (informer,) = parts.informers().values()
    known = len(informer.statistics().handlers)
    with frozen(world):
        change(world)
        catching_up = Background(lambda: parts.catch_up(time.monotonic() + PATIENCE, StopEvent()))
        eventually(
            lambda: len(informer.statistics().handlers) > known or not catching_up.is_running,
            every=0.01,
        )
        assert catching_up.is_running, "its handler waits for the change"
    catching_up.result()
    assert stored(parts) == [f"default/{name}" for name in expected]
    changed: Any = parts.stored(ObjectName("default", "a"))
    assert changed.spec.size == world.get(Part).spec.size


def test_a_cache_that_has_everything_is_not_waited_for(world: World, parts: KindCache) -> None:
    """OP-LE-12: nor is one that is stopped, or a watch that is late for long, which is told."""
    parts.catch_up(time.monotonic() - 1, StopEvent())
    stopped = StopEvent()
    stopped.set()
    with frozen(world):
        world.create(part("d"))
        parts.catch_up(time.monotonic() + PATIENCE, stopped)


def test_what_cannot_be_waited_for_is_told(
    world: World, parts: KindCache, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-LE-12"""
    with frozen(world):
        world.create(part("d"))
        parts.catch_up(time.monotonic() + 0.05, StopEvent())

    def forbid(action: Any) -> None:
        if action.verb == "list":
            raise ForbiddenError.of("not for you")

    world.asked.before = forbid
    parts.catch_up(time.monotonic() + PATIENCE, StopEvent())
    late, refused = [line for line in caplog.messages if "older state" in line]
    assert late == (
        "parts.example.com: the watch is late; runs may begin with an older state than was written "
        "before"
    )
    assert "not for you" in refused
