"""The Leases of a group in memory, and members that a test moves by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from clientgo.leaderelection import USUAL_TIMING
from clientgo.meta import ConflictError, ObjectName, Status
from clientgo.sharding import Deletions, Group, Ownership, ShardMember
from clientgo.testing import FakeClock


class SharedLeases:
    """What all members read and write; ``reachable`` is False during an outage."""

    def __init__(self) -> None:
        self.group = Group()
        self.reachable = True
        self.version = 0

    def next_version(self) -> str:
        self.version += 1
        return str(self.version)


class MemberLeases:
    """One member's way to the Leases; ``before_call`` runs before each request."""

    def __init__(self, shared: SharedLeases) -> None:
        self.shared = shared
        self.before_call: Callable[[str], object] = lambda _request: None
        self.writes: list[str] = []

    def read(self) -> Group:
        self._arrive("read")
        group = self.shared.group
        return replace(group, members=dict(group.members))

    def renew(self, identity: str) -> None:
        self._arrive("renew")
        self.writes.append("renew")
        members = {**self.shared.group.members, identity: self.shared.next_version()}
        self.shared.group = replace(self.shared.group, members=members)

    def write(self, group: Group, holders: tuple[str, ...]) -> None:
        self._arrive("write")
        if group.version != self.shared.group.version:
            raise ConflictError(Status(message="another member has written"))
        self.writes.append("write")
        self.shared.group = replace(
            self.shared.group, holders=holders, version=self.shared.next_version()
        )

    def remove(self, identity: str, version: str = "") -> None:
        self._arrive("remove")
        members = dict(self.shared.group.members)
        if not version or members.get(identity) == version:
            members.pop(identity, None)
        self.shared.group = replace(self.shared.group, members=members)

    def close(self) -> None:
        """Do nothing: there is no connection."""

    def _arrive(self, request: str) -> None:
        self.before_call(request)
        if not self.shared.reachable:
            raise ConnectionError("the API server does not answer")


class Replica:
    """A process of the group, without its threads."""

    def __init__(
        self, name: str, shared: SharedLeases, clock: FakeClock, *, shards: int = 8
    ) -> None:
        self.name = name
        self.leases = MemberLeases(shared)
        self.ownership: Ownership[ObjectName] = Ownership(shards, clock=clock)
        self.deletions: Deletions[ObjectName] = Deletions(clock=clock)
        self.queue: set[ObjectName] = set()
        self.acquired: list[frozenset[int]] = []
        self.released: list[frozenset[int]] = []
        self.member = ShardMember(
            self.leases,
            self.ownership,
            on_acquired=self.on_acquired,
            on_released=self.released.append,
            identity=name,
            timing=USUAL_TIMING,
            clock=clock,
        )

    def on_acquired(self, shards: frozenset[int]) -> None:
        self.acquired.append(shards)
        gone = self.deletions.select(lambda key: self.ownership.shard_of(key) in shards)
        self.queue |= {key for key, _ in gone}

    def see_deletion(self, key: ObjectName) -> None:
        """Handle the event of a deletion."""
        self.deletions.note(key)
        if self.ownership.owns(key):
            self.queue.add(key)

    def sync_queue(self) -> set[ObjectName]:
        """Take the queue; return the keys that were synced, and forget those of others."""
        synced = set()
        for key in self.queue:
            if self.ownership.begin(key):
                synced.add(key)
                self.ownership.end(key)
        self.queue.clear()
        return synced

    @property
    def owned(self) -> frozenset[int]:
        return self.ownership.owned

    def may_begin(self, shard: int) -> bool:
        """Return True if work in a shard may begin now."""
        key = key_in(shard, self.ownership)
        begun = self.ownership.begin(key)
        if begun:
            self.ownership.end(key)
        return begun


def key_in(shard: int, ownership: Ownership[ObjectName]) -> ObjectName:
    """Return a key of a shard."""
    names = (ObjectName("default", f"foo-{number}") for number in range(10_000))
    return next(name for name in names if ownership.shard_of(name) == shard)


def settle(clock: FakeClock, *replicas: Replica, seconds: float = 10.0) -> None:
    """Let the replicas look at the group every two seconds, for so long."""
    for _ in range(round(seconds / 2)):
        for replica in replicas:
            replica.member.step()
        clock.step(2.0)
