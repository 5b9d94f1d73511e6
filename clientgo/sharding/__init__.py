"""Sharding: the replicas of one controller share its objects.

::

    key ──► shard (a hash) ──► member that holds it (a Lease with all holders)

    handler ──► ownership.owns(key)?  ──► queue ──► worker ──► ownership.begin(key)? ──► sync
                                            ▲
    ShardMember ──► on_acquired(shards) ────┘ every key of them: cached, or deleted lately

Each replica watches all objects and queues the keys of its own shards. :class:`ShardMember` keeps
the replica in the group; :class:`Ownership` is what handlers and workers ask. ``ControlLoop`` and
the operator layer's ``Manager`` connect them.

docs/library/sharding.md says what is assumed of clocks and of the guarded work.
"""

from clientgo.sharding.assignment import plan, shard_of
from clientgo.sharding.deletions import Deletions
from clientgo.sharding.member import (
    ShardCountError,
    ShardMember,
    member_identity,
    shard_member,
)
from clientgo.sharding.ownership import Ownership, ShardsLostError
from clientgo.sharding.processes import (
    address_of_process,
    process_number,
    run_processes,
    stop_with_parent,
)
from clientgo.sharding.shard_leases import Group, Leases, ShardLeases
from clientgo.sharding.sharing import work_in_shards

__all__ = [
    "ShardMember",
    "shard_member",
    "member_identity",
    "work_in_shards",
    "ShardCountError",
    # what handlers and workers ask
    "Ownership",
    "ShardsLostError",
    "Deletions",
    # the Leases
    "Leases",
    "ShardLeases",
    "Group",
    # several processes on one machine
    "run_processes",
    "process_number",
    "stop_with_parent",
    "address_of_process",
    # which shard, which member
    "shard_of",
    "plan",
]
