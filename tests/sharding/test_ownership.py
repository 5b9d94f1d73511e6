"""What handlers and workers ask, and what a member tells."""

from __future__ import annotations

import pytest

from clientgo.meta import ObjectName
from clientgo.sharding import Ownership, ShardsLostError
from clientgo.testing import FakeClock
from tests.sharding.shared_leases import key_in

ALL = frozenset(range(4))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def ownership(clock: FakeClock) -> Ownership[ObjectName]:
    """One that owns all four shards for ten seconds."""
    ownership: Ownership[ObjectName] = Ownership(4, clock=clock)
    ownership.renewed(clock.monotonic() + 10)
    ownership.grant(ALL)
    return ownership


def test_nothing_is_owned_before_a_member_says_so() -> None:
    ownership: Ownership[ObjectName] = Ownership(4, clock=FakeClock())
    key = ObjectName("default", "a")
    assert not ownership.owns(key)
    assert not ownership.begin(key)
    with pytest.raises(ShardsLostError):
        ownership.check()


def test_keys_of_other_processes_are_dropped(ownership: Ownership[ObjectName]) -> None:
    handled: list[ObjectName] = []
    handle = ownership.guarded(handled.append)
    ownership.drop(frozenset({1}))
    ours, theirs = key_in(0, ownership), key_in(1, ownership)
    handle(ours)
    handle(theirs)
    assert handled == [ours]
    assert ownership.owns(ours)
    assert not ownership.owns(theirs)


def test_a_handler_that_raises_has_ended(ownership: Ownership[ObjectName]) -> None:
    def fail(_key: ObjectName) -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        ownership.guarded(fail)(key_in(0, ownership))
    assert ownership.busy() == frozenset()


def test_a_shard_is_idle_when_the_last_work_in_it_has_ended(
    ownership: Ownership[ObjectName],
) -> None:
    idle: list[str] = []
    ownership.on_idle(lambda: idle.append("idle"))
    key = key_in(2, ownership)
    assert ownership.begin(key)
    assert ownership.begin(key)
    assert ownership.drain(frozenset({2, 3})) == {3}
    assert not ownership.begin(key)
    ownership.end(key)
    assert idle == []
    ownership.end(key)
    assert idle == ["idle"]
    assert ownership.drain(frozenset({2, 3})) == {2, 3}
    assert ownership.held() == ALL


def test_no_work_begins_after_the_lease_has_ended(
    ownership: Ownership[ObjectName], clock: FakeClock
) -> None:
    clock.step(10)
    assert not ownership.begin(key_in(0, ownership))
    with pytest.raises(ShardsLostError, match="could not renew its Lease"):
        ownership.check()
    assert ownership.expire()
    assert ownership.held() == frozenset()
    assert not ownership.expire()


def test_a_renewal_that_comes_too_late_gives_nothing_back(
    ownership: Ownership[ObjectName], clock: FakeClock
) -> None:
    clock.step(5)
    assert ownership.renewed(clock.monotonic() + 10)
    clock.step(10)
    assert not ownership.renewed(clock.monotonic() + 10)
    assert ownership.held() == frozenset()


def test_the_text_of_a_key_decides_about_its_shard() -> None:
    ownership: Ownership[ObjectName] = Ownership(64, lambda key: key.namespace)
    shards = {ownership.shard_of(ObjectName("team-a", f"foo-{n}")) for n in range(50)}
    assert len(shards) == 1


def test_there_is_at_least_one_shard() -> None:
    with pytest.raises(ValueError, match="at least one shard, not 0"):
        Ownership(0)


def test_work_in_a_shard_that_another_process_took_may_not_write(
    ownership: Ownership[ObjectName],
) -> None:
    key = key_in(2, ownership)
    assert ownership.begin(key)
    ownership.lose(frozenset({2}))
    with pytest.raises(ShardsLostError):
        ownership.check()
    ownership.end(key)
    ownership.check()
