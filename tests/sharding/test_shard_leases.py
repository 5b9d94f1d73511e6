"""The Leases of a group on an API server."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from clientgo.api.coordination_v1 import Lease
from clientgo.client import Client
from clientgo.leaderelection import USUAL_TIMING
from clientgo.meta import AlreadyExistsError, ConflictError, ObjectName
from clientgo.sharding import Ownership, ShardLeases, shard_member
from clientgo.util.process import SupervisedThread


@pytest.fixture
def leases(kube_client: Client) -> ShardLeases:
    return ShardLeases(kube_client.config, "default", "foos", USUAL_TIMING)


def test_a_group_without_leases_is_empty(leases: ShardLeases) -> None:
    group = leases.read()
    assert (group.holders, group.members, group.version) == ((), {}, "")


def test_members_and_holders_are_read_together(leases: ShardLeases) -> None:
    leases.renew("a")
    leases.renew("b")
    leases.renew("a")
    leases.write(leases.read(), ("a", "b", ""))
    group = leases.read()
    assert group.holders == ("a", "b", "")
    assert group.members.keys() == {"a", "b"}
    leases.write(group, ("b", "b", ""))
    assert leases.read().transitions == group.transitions + 1


def test_a_renewal_changes_the_version_of_the_lease(leases: ShardLeases) -> None:
    leases.renew("a")
    before = leases.read().members["a"]
    leases.renew("a")
    assert leases.read().members["a"] != before


@pytest.mark.parametrize("first", [True, False])
def test_holders_are_replaced_in_the_version_that_was_read_only(
    leases: ShardLeases, first: bool
) -> None:
    if not first:
        leases.write(leases.read(), ("",))
    group = leases.read()
    leases.write(group, ("a",))
    with pytest.raises((ConflictError, AlreadyExistsError)):
        leases.write(group, ("b",))
    assert leases.read().holders == ("a",)


def test_a_lease_is_removed_in_the_version_that_was_seen_only(leases: ShardLeases) -> None:
    leases.renew("a")
    seen = leases.read().members["a"]
    leases.renew("a")
    with pytest.raises(ConflictError):
        leases.remove("a", seen)
    leases.remove("a")
    leases.remove("a")
    assert leases.read().members == {}


def test_groups_do_not_mix(kube_client: Client, leases: ShardLeases) -> None:
    other = ShardLeases(kube_client.config, "default", "bars", USUAL_TIMING)
    other.renew("x")
    assert leases.read().members == {}


def test_a_member_runs_until_it_is_stopped(kube_client: Client) -> None:
    ownership: Ownership[ObjectName] = Ownership(4)
    acquired, stop = threading.Event(), threading.Event()
    member = shard_member(
        replace(kube_client.config),
        "default",
        "foos",
        ownership,
        on_acquired=lambda _shards: acquired.set(),
    )
    thread = SupervisedThread(member.run, args=(stop,), name="member", then="the test fails")
    thread.start()
    assert acquired.wait(30)
    assert ownership.owned == {0, 1, 2, 3}
    stop.set()
    thread.join(30)
    assert not thread.is_alive()
    assert ownership.held() == frozenset()
    names = [x.metadata.name for x in kube_client.resource(Lease).namespace("default").list().items]
    assert names == ["foos"]
