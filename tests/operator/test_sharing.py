"""Replicas that all work: each on the objects of its own shards."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from queue import SimpleQueue
from typing import Any

import pytest

from clientgo.client import Client
from clientgo.meta import ObjectName
from clientgo.operator import Context, LeaderElection, Manager, controller
from clientgo.operator.addons.tasks import daemon
from clientgo.operator.errors import ConfigError, DeclarationError
from clientgo.rest import RestConfig
from clientgo.sharding import Ownership, ShardLeases, ShardMember, ShardsLostError
from clientgo.testing.operator import eventually
from tests.operator.world import PATIENCE, Gadget, Recording, World, gadget, record_triggers

SHARED = LeaderElection(id="replicas", namespace="default", lease=60, renew=40, retry=0.1, shards=8)
NAMES = [f"g{number}" for number in range(16)]
LEAVING = ObjectName("default", "leaving")


class Ledger:
    """Which replica has reconciled each object last."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.last: dict[str, str] = {}
        self.running: set[str] = set()
        self.overlaps: list[str] = []

    def wait_for(self, condition: Callable[[dict[str, str]], object]) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: condition(self.last), PATIENCE), self.last

    def reconciler(self, me: str) -> Any:
        ledger = self

        @controller(Gadget, name="gadgets")
        class Gadgets:
            def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
                name = obj.metadata.name
                with ledger.changed:
                    if name in ledger.running:
                        ledger.overlaps.append(name)
                    ledger.running.add(name)
                with ledger.changed:
                    ledger.running.discard(name)
                    ledger.last[name] = me
                    ledger.changed.notify_all()

        return Gadgets()


@pytest.fixture
def world(make_world: Callable[..., World]) -> World:
    return make_world(*(gadget(name) for name in NAMES), real_time=True)


@pytest.fixture
def replica(world: World) -> Iterator[Callable[..., Manager]]:
    """Makes managers that share the work, and stops them."""
    made: list[Manager] = []

    def make(**settings: Any) -> Manager:
        config = RestConfig(server=world.server.url, qps=-1)
        manager = Manager(Client(config), **{"metrics": "0", "leader_election": SHARED, **settings})
        made.append(manager)
        return manager

    yield make
    for manager in made:
        manager.stop()


def test_replicas_share_the_objects(replica: Callable[..., Manager]) -> None:
    ledger = Ledger()
    one, two = replica(), replica()
    first = one.register(ledger.reconciler("one"))
    two.register(ledger.reconciler("two"))
    one.start()
    ledger.wait_for(lambda last: last.keys() == {*NAMES})
    two.start()
    ledger.wait_for(lambda last: "two" in last.values())
    with ledger.changed:
        theirs = next(name for name, who in ledger.last.items() if who == "two")
    codes = [reason.code for reason in first.explain(f"default/{theirs}").reasons]
    assert "shard" in codes
    two.stop()
    ledger.wait_for(lambda last: set(last.values()) == {"one"})
    assert ledger.overlaps == []


def test_the_objects_of_a_gained_shard_can_wait_and_deletions_cannot(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OP-CTL-06"""
    world.create(gadget("leaving", finalizers=["example.com/held"]))
    recording = Recording()
    controller = world.register(recording)
    with world.running():
        recording.wait_for_runs(len(NAMES) + 1)
        triggers = record_triggers(monkeypatch, controller)
        world.delete(gadget("leaving"))
        eventually(lambda: triggers)  # its deletion is in the cache, and has reached the queue
        eventually(world.at_rest)
        triggers.clear()
        controller.take(lambda key: key.name in ("g1", "g2", "leaving"))
    assert sorted(triggers) == [("g1", -100), ("g2", -100), ("leaving", 0)]


def test_the_queue_of_a_replica_forgets_what_others_own(replica: Callable[..., Manager]) -> None:
    ledger = Ledger()
    one, two = replica(), replica()
    first, second = (m.register(ledger.reconciler(n)) for m, n in ((one, "one"), (two, "two")))
    one.start()
    ledger.wait_for(lambda last: last.keys() == {*NAMES})
    two.start()
    ledger.wait_for(lambda last: "two" in last.values())
    known = first.queue.statistics().known + second.queue.statistics().known
    assert known <= len(NAMES)


@pytest.mark.parametrize("by_key", [False, True])
def test_a_deletion_in_a_shard_of_others_reaches_its_next_owner(
    world: World, replica: Callable[..., Manager], by_key: bool
) -> None:
    patient = replace(SHARED, lease=60.0, renew=40.0)
    config = RestConfig(server=world.server.url)
    leases = ShardLeases(config, patient.namespace, patient.id, patient.timing())
    other = ShardMember(
        leases, Ownership[Any](8), on_acquired=lambda _shards: None, timing=patient.timing()
    )
    other.step()  # it has all shards, and never looks whether others have come
    told: SimpleQueue[str] = SimpleQueue()

    class WhenGone:
        def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None:
            if ctx.deleted:
                told.put(obj.metadata.name)

    class ByKey:
        def reconcile_key(self, ctx: Context[Any], key: Any) -> None:
            if ctx.obj is None:
                told.put(key.name)

    manager = replica(leader_election=patient)
    if by_key:
        manager.register(controller(Gadget, name="gadgets")(ByKey)())
    else:
        manager.register(controller(Gadget, name="gadgets")(WhenGone)(), on_deleted=True)
    manager.start()
    world.delete(gadget("g3"))
    while not other.step(leaving=True):
        pass
    assert told.get(timeout=PATIENCE) == "g3"
    leases.close()


def test_nothing_is_written_once_the_lease_has_ended(replica: Callable[..., Manager]) -> None:
    manager = replica()
    with pytest.raises(ShardsLostError):
        manager.client.create(gadget("another"))


def test_what_needs_a_leader_is_refused(replica: Callable[..., Manager]) -> None:
    manager = replica()
    with pytest.raises(DeclarationError, match="none leads; pass needs_leadership=False"):
        manager.add_runnable(lambda _stop: None, name="report")
    manager.add_runnable(lambda _stop: None, name="report", needs_leadership=False)


def test_tasks_move_with_the_shards_of_their_objects(replica: Callable[..., Manager]) -> None:
    ledger = Ledger()
    running: dict[str, str] = {}

    def tasks(me: str) -> Any:
        @controller(Gadget, name="gadgets")
        class WithTask:
            @daemon()
            def follow(self, ctx: Context[Gadget], obj: Gadget) -> None:
                name = obj.metadata.name
                with ledger.changed:
                    if name in running:
                        ledger.overlaps.append(name)
                    running[name] = ledger.last[name] = me
                    ledger.changed.notify_all()
                ctx.cancelled.wait()
                ownership: Any = registered[me].services.ownership
                with ledger.changed:
                    if ownership.shard_of(ctx.key) not in ownership.busy():
                        ledger.overlaps.append(f"{name} runs, and its shard is free")
                    del running[name]

            def reconcile(self, ctx: Context[Gadget], obj: Gadget) -> None: ...

        return WithTask()

    one, two = replica(), replica()
    registered = {"one": one.register(tasks("one")), "two": two.register(tasks("two"))}
    one.start()
    ledger.wait_for(lambda _last: running.keys() == {*NAMES})
    two.start()
    ledger.wait_for(
        lambda _last: running.keys() == {*NAMES} and {*running.values()} == {"one", "two"}
    )
    two.stop()
    ledger.wait_for(lambda _last: running == dict.fromkeys(NAMES, "one"))
    one.stop()
    assert not running
    assert ledger.overlaps == []


def test_a_controller_that_needs_no_leader_runs_everywhere(
    replica: Callable[..., Manager],
) -> None:
    one, two, ledgers = replica(), replica(), (Ledger(), Ledger())
    for manager, ledger in zip((one, two), ledgers, strict=True):
        manager.register(ledger.reconciler("me"), needs_leadership=False)
        manager.start()
    for ledger in ledgers:
        ledger.wait_for(lambda last: last.keys() == {*NAMES})


def test_another_number_of_shards_is_said(
    replica: Callable[..., Manager], caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger()
    one, two = replica(), replica(leader_election=replace(SHARED, shards=4))
    one.register(ledger.reconciler("one"))
    one.start()
    ledger.wait_for(lambda last: last.keys() == {*NAMES})
    said = threading.Event()

    class Said(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            if "the group has 8 shards, not 4" in record.getMessage():
                said.set()

    handler = Said()
    logging.getLogger("clientgo.sharding").addHandler(handler)
    try:
        two.start()
        assert said.wait(PATIENCE)
    finally:
        logging.getLogger("clientgo.sharding").removeHandler(handler)


def test_shards_are_a_number() -> None:
    with pytest.raises(ConfigError, match="shards must not be negative, but -1 is"):
        Manager("http://127.0.0.1:1", metrics="0", leader_election=replace(SHARED, shards=-1))
