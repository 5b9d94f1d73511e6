"""One member of a group, step by step."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from clientgo.leaderelection import WorkStillRunningError
from clientgo.sharding import ShardsLostError
from clientgo.testing import FakeClock
from tests.sharding.shared_leases import Replica, SharedLeases, key_in, settle

ALL = frozenset(range(8))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def shared() -> SharedLeases:
    return SharedLeases()


def test_a_single_member_owns_all_shards(shared: SharedLeases, clock: FakeClock) -> None:
    a = Replica("a", shared, clock)
    a.member.step()
    assert a.owned == ALL
    assert a.acquired == [ALL]


def test_before_work_begins_in_a_shard_it_is_taken_and_not_owned(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, answers = Replica("a", shared, clock), iter([OSError("no answer"), None])
    seen: list[tuple[frozenset[int], list[str]]] = []

    def wait() -> None:
        seen.append((a.owned, list(a.leases.writes)))
        if error := next(answers):
            raise error

    a.member._before_work = wait
    a.member.step()
    assert a.owned == frozenset(), "it is asked again"
    assert a.acquired == []
    a.member.step()
    assert [owned for owned, _ in seen] == [frozenset(), frozenset()]
    assert seen[0][1][-1] == "write"
    assert a.acquired == [ALL]


def test_a_new_member_gets_its_share(shared: SharedLeases, clock: FakeClock) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a)
    settle(clock, a, b)
    assert len(a.owned) == len(b.owned) == 4
    assert a.owned | b.owned == ALL
    assert b.acquired == [b.owned]
    assert a.released == [b.owned]


def test_while_nothing_changes_a_member_writes_its_own_lease_only(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b, seconds=20)
    a.leases.writes.clear()
    settle(clock, a, b, seconds=60)
    assert a.leases.writes == ["renew"] * 10


def test_a_shard_changes_hands_when_the_work_in_it_has_ended(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    a.member.step()
    keys = [key_in(shard, a.ownership) for shard in ALL]
    assert all(a.ownership.begin(key) for key in keys)
    settle(clock, a, b, seconds=60)
    assert b.owned == frozenset()
    assert len(a.owned) == 4
    for key in keys:
        a.ownership.end(key)
    settle(clock, a, b, seconds=4)
    assert a.owned | b.owned == ALL
    assert len(b.owned) == 4


def test_keys_are_listed_again_if_a_shard_is_not_given_up_after_all(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    a.member.step()
    keys = [key_in(shard, a.ownership) for shard in ALL]
    assert all(a.ownership.begin(key) for key in keys)
    settle(clock, a, b)
    draining = ALL - a.owned
    a.acquired.clear()
    assert b.member.step(leaving=True)  # nothing was given to it yet
    a.member.step()
    assert a.owned == ALL
    assert a.acquired == [draining]


def test_the_shards_of_a_dead_member_are_taken_after_its_lease(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b, seconds=20)
    died = clock.monotonic()
    while a.owned != ALL:
        assert clock.monotonic() - died < 15 + 5
        a.member.step()
        clock.step(1.0)
    assert clock.monotonic() - died > 10


def test_a_member_that_leaves_gives_everything_up_immediately(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b, seconds=20)
    assert b.member.step(leaving=True)
    assert b.owned == frozenset()
    assert "b" not in shared.group.members
    a.member.step()
    assert a.owned == ALL


def test_the_log_says_which_shards_are_taken_and_given_up(
    shared: SharedLeases, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    a = Replica("a", shared, clock)
    a.member.step()
    a.member.step(leaving=True)
    assert [record.getMessage() for record in caplog.records] == [
        "shards: a took the shards 0, 1, 2, 3, 4, 5, 6, 7 and gave up none",
        "shards: a took no shards and gave up 0, 1, 2, 3, 4, 5, 6, 7",
    ]


def test_a_member_leaves_when_its_work_has_ended(shared: SharedLeases, clock: FakeClock) -> None:
    a = Replica("a", shared, clock)
    a.member.step()
    key = key_in(3, a.ownership)
    assert a.ownership.begin(key)
    assert not a.member.step(leaving=True)
    assert shared.group.holders.count("a") == 1
    a.ownership.end(key)
    assert a.member.step(leaving=True)
    assert shared.group.holders.count("") == 8


def test_a_member_leaves_though_the_api_server_does_not_answer(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a = Replica("a", shared, clock)
    a.member.step()
    shared.reachable = False
    assert a.member.step(leaving=True)


def test_during_an_outage_nothing_is_owned_and_afterwards_all_is_again(
    shared: SharedLeases, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b, seconds=20)
    shared.reachable = False
    settle(clock, a, b, seconds=45)
    assert a.owned == b.owned == frozenset()
    assert not any(a.may_begin(shard) or b.may_begin(shard) for shard in ALL)
    shared.reachable = True
    settle(clock, a, b, seconds=30)
    assert a.owned | b.owned == ALL
    assert len(a.owned) == 4
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(warnings) == 4, warnings  # for each: the first failure, and what it lost


def test_work_that_outlasts_the_lease_ends_the_process(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a = Replica("a", shared, clock)
    a.member.step()
    assert a.ownership.begin(key_in(3, a.ownership))
    shared.reachable = False
    clock.step(13.0)
    a.member.step()
    clock.step(2.0)
    with pytest.raises(WorkStillRunningError, match="work in the shards 3 goes on"):
        a.member.step()


def test_what_was_lost_is_taken_back_by_a_write_only(
    shared: SharedLeases, clock: FakeClock
) -> None:
    """Another member may be about to take the shards, based on the version from before."""
    a = Replica("a", shared, clock)
    a.member.step()
    before = shared.group
    clock.step(14.0)
    a.member.step()
    assert a.owned == ALL
    assert shared.group.version != before.version


def test_of_two_members_that_take_a_shard_one_succeeds(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    b.leases.before_call = lambda request: request == "write" and a.member.step()
    b.member.step()
    assert b.owned == frozenset()
    assert len(a.owned) == 4
    b.leases.before_call = lambda _request: None
    b.member.step()
    assert b.owned == ALL - a.owned


def test_a_release_whose_answer_was_lost_is_noticed(shared: SharedLeases, clock: FakeClock) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    a.member.step()
    b.member.step()

    write = a.leases.write

    def lose_answer(group: object, holders: tuple[str, ...]) -> None:
        write(group, holders)  # type: ignore[arg-type]
        raise ConnectionError("the answer was lost")

    a.leases.write = lose_answer  # type: ignore[assignment]
    a.member.step()
    a.leases.write = write  # type: ignore[method-assign]
    settle(clock, b, a, seconds=6)
    assert len(a.owned) == len(b.owned) == 4
    assert a.owned | b.owned == ALL


def test_another_number_of_shards_is_refused_while_others_work(
    shared: SharedLeases, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock, shards=4)
    a.member.step()
    b.member.step()
    assert b.owned == frozenset()
    assert "the group has 8 shards, not 4; stop its other members (a)" in caplog.text
    assert a.member.step(leaving=True)
    b.member.step()
    assert b.owned == frozenset(range(4))


def test_nothing_is_left_to_a_member_with_another_number_of_shards(
    shared: SharedLeases, clock: FakeClock
) -> None:
    """It takes nothing, so no member would process the shards that are given up for it."""
    a, b = Replica("a", shared, clock), Replica("b", shared, clock, shards=4)
    settle(clock, a)
    settle(clock, a, b, seconds=60)
    assert a.owned == ALL
    assert a.released == []
    assert list(shared.group.members) == ["a"]


def test_nothing_is_left_for_long_to_one_that_has_joined_before_the_number_was_known(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock, shards=4)

    def overtake(request: str) -> None:
        if request == "write":
            a.leases.before_call = lambda _request: None
            b.member.step()

    a.leases.before_call = overtake
    a.member.step()
    assert set(shared.group.members) == {"a", "b"}
    settle(clock, a, b, seconds=20)
    assert b.owned == frozenset(range(4))


def test_the_lease_of_a_member_that_is_long_dead_is_removed(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b)
    settle(clock, a, seconds=160)
    assert list(shared.group.members) == ["a"]


def test_a_lease_that_is_deleted_by_hand_is_no_sign_of_death(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a, b = Replica("a", shared, clock), Replica("b", shared, clock)
    settle(clock, a, b, seconds=20)
    owned = a.owned
    a.leases.remove("a")
    b.member.step()
    assert b.owned == ALL - owned
    settle(clock, a, b)
    assert a.owned == owned


def test_an_error_while_keys_are_queued_is_raised(shared: SharedLeases, clock: FakeClock) -> None:
    """Otherwise the keys of the shards would be lost."""
    a = Replica("a", shared, clock)

    def fail(_shards: frozenset[int]) -> None:
        raise RuntimeError("no cache")

    a.member._on_acquired = fail
    with pytest.raises(RuntimeError, match="no cache"):
        a.member.step()


def test_a_shard_is_taken_back_when_the_work_from_before_has_ended(
    shared: SharedLeases, clock: FakeClock
) -> None:
    a = Replica("a", shared, clock)
    a.member.step()
    key = key_in(3, a.ownership)
    assert a.ownership.begin(key)
    clock.step(13.5)
    a.member.step()
    assert a.owned == ALL - {3}
    a.ownership.end(key)
    a.member.step()
    assert a.owned == ALL


def test_work_in_a_shard_that_another_member_took_ends_the_process(
    shared: SharedLeases, clock: FakeClock
) -> None:
    """The member learns of it from the holders, before its own clock says so."""
    a = Replica("a", shared, clock)
    a.member.step()
    assert a.ownership.begin(key_in(3, a.ownership))
    shared.group = replace(
        shared.group, holders=("b",) * 8, version="changed", members={**shared.group.members}
    )
    a.member.step()
    with pytest.raises(ShardsLostError):
        a.ownership.check()
    clock.step(2.0)
    with pytest.raises(WorkStillRunningError):
        a.member.step()
