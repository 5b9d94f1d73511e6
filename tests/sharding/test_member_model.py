"""Members that come, leave, die, hang and race: no shard is ever worked on twice at a time."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from clientgo.leaderelection import WorkStillRunningError
from clientgo.meta import ObjectName
from clientgo.sharding import ShardsLostError
from clientgo.testing import FakeClock
from tests.sharding.shared_leases import Replica, SharedLeases, key_in, settle

SHARDS = 4


def may_write(replica: Replica) -> bool:
    """Return True unless the Lease has ended during which the replica's work began."""
    try:
        replica.ownership.check()
    except ShardsLostError:
        return False
    return True


class GroupMachine(RuleBasedStateMachine):
    """Replicas on one clock. Between the requests of one anything may happen to the others."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.shared = SharedLeases()
        self.replicas: dict[str, Replica] = {}
        self.leaving: set[str] = set()
        self.work: list[tuple[Replica, ObjectName, int]] = []
        self.joined = 0
        self.inside: set[str] = set()
        self.deleted: dict[ObjectName, tuple[float, set[str]]] = {}
        """Keys of deleted objects that were not synced: since when, and which replicas know."""

    @precondition(lambda self: len(self.replicas) < 3)
    @rule()
    def join(self) -> None:
        self.joined += 1
        name = f"r{self.joined}"
        self.replicas[name] = Replica(name, self.shared, self.clock, shards=SHARDS)

    @precondition(lambda self: self.replicas)
    @rule(data=st.data(), rounds=st.sampled_from([1, 3, 10]), busy=st.booleans())
    def run(self, data: st.DataObject, rounds: int, busy: bool) -> None:
        """Let some replicas look at the group every two seconds, while the others hang."""
        names = sorted(self.replicas)
        hanging = data.draw(st.sets(st.sampled_from(names), max_size=len(names) - 1))
        for _ in range(rounds):
            for name in names:
                if name not in hanging and name in self.replicas:
                    self.step_one(name, data)
                    if busy:
                        self.begin_all(name)
                    self.nobody_works_twice()
            self.clock.step(2.0)
            self.nobody_works_twice()

    def begin_all(self, name: str) -> None:
        """Begin work in every shard in which the replica may."""
        replica = self.replicas.get(name)
        for shard in range(SHARDS) if replica else ():
            key = key_in(shard, replica.ownership)
            if replica.ownership.begin(key):
                self.work.append((replica, key, shard))

    def step_one(self, name: str, data: st.DataObject) -> None:
        """Let a replica look at the group; before one of its requests others may act."""
        replica = self.replicas[name]
        moment = data.draw(st.sampled_from(["", "", "", "read", "write", "renew"]))

        def meanwhile(request: str) -> None:
            if request != moment:
                return
            self.clock.step(data.draw(st.sampled_from([0.0, 1.0, 6.0, 16.0])))
            for other in sorted(self.replicas.keys() - self.inside):
                if data.draw(st.booleans()):
                    self.step_one(other, data)
            self.nobody_works_twice()

        self.inside.add(name)
        replica.leases.before_call = meanwhile
        try:
            left = replica.member.step(leaving=name in self.leaving)
        except WorkStillRunningError:
            left = True  # the process ends, and its work with it
        self.inside.discard(name)
        if left:
            self.end(name)

    @precondition(lambda self: self.replicas)
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        self.leaving.add(data.draw(st.sampled_from(sorted(self.replicas))))

    @precondition(lambda self: self.replicas)
    @rule(data=st.data())
    def die(self, data: st.DataObject) -> None:
        self.end(data.draw(st.sampled_from(sorted(self.replicas))))

    def end(self, name: str) -> None:
        replica = self.replicas.pop(name)
        self.leaving.discard(name)
        self.work = [each for each in self.work if each[0] is not replica]

    @precondition(lambda self: self.work)
    @rule(data=st.data())
    def end_work(self, data: st.DataObject) -> None:
        """Let the work of one replica end."""
        replica = data.draw(st.sampled_from([each[0] for each in self.work]))
        for worker, key, _ in self.work:
            if worker is replica:
                worker.ownership.end(key)
        self.work = [each for each in self.work if each[0] is not replica]

    @precondition(lambda self: self.replicas)
    @rule(shard=st.sampled_from(range(SHARDS)))
    def delete(self, shard: int) -> None:
        """Delete an object; every replica that watches has the event."""
        replicas = self.replicas.values()
        key = key_in(shard, next(iter(replicas)).ownership)
        self.deleted[key] = self.clock.monotonic(), {*self.replicas}
        for replica in replicas:
            replica.queue.discard(key)
            replica.see_deletion(key)

    @precondition(lambda self: self.replicas)
    @rule(data=st.data())
    def sync(self, data: st.DataObject) -> None:
        self.sync_queue_of(data.draw(st.sampled_from(sorted(self.replicas))))

    def sync_queue_of(self, name: str) -> None:
        for key in self.replicas[name].sync_queue():
            self.deleted.pop(key, None)

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0, 14.0, 20.0]))
    def pass_time(self, seconds: float) -> None:
        self.clock.step(seconds)

    @rule(reachable=st.booleans())
    def reach(self, reachable: bool) -> None:
        self.shared.reachable = reachable

    @invariant()
    def nobody_works_twice(self) -> None:
        for shard in range(SHARDS):
            # Work that outlasts the Lease ends with its process.
            working = {
                replica.name for replica, _, of in self.work if of == shard and may_write(replica)
            }
            may = {name for name, r in self.replicas.items() if r.may_begin(shard)}
            assert len(working | may) <= 1, (shard, working, may)

    def teardown(self) -> None:
        """When all is quiet again, all shards have owners."""
        self.shared.reachable = True
        for replica, key, _ in self.work:
            replica.ownership.end(key)
        for name in self.leaving & self.replicas.keys():
            self.replicas.pop(name)
        replicas = list(self.replicas.values())
        for replica in replicas:
            replica.leases.before_call = lambda _request: None
        if replicas:
            settle(self.clock, *replicas, seconds=60)
            owned = [shard for replica in replicas for shard in replica.owned]
            assert sorted(owned) == list(range(SHARDS))
            numbers = [len(replica.owned) for replica in replicas]
            assert max(numbers) - min(numbers) <= 1
            self.deletions_are_synced()

    def deletions_are_synced(self) -> None:
        """Check that a deletion is lost only if its owner joined after it, or it is long ago."""
        for name in self.replicas:
            self.sync_queue_of(name)
        for key, (since, known_to) in self.deleted.items():
            owner = next(name for name, r in self.replicas.items() if r.ownership.owns(key))
            assert owner not in known_to or self.clock.monotonic() > since + 500, key


GroupMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=15, deadline=None)
TestGroup = GroupMachine.TestCase
