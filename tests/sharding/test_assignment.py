"""Which shard a key belongs to, and which member should hold each shard."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from clientgo.sharding import plan, shard_of

MEMBERS = st.sets(st.sampled_from("abcdefg"), min_size=1)
HOLDERS = st.lists(st.sampled_from(["", *"abcdefghi"]), min_size=1, max_size=40)


def test_a_key_has_the_same_shard_in_every_process() -> None:
    assert [shard_of(f"default/foo-{n}", 16) for n in range(4)] == [13, 11, 3, 15]


def test_keys_spread_over_the_shards() -> None:
    counts = Counter(shard_of(f"default/foo-{n}", 16) for n in range(16_000))
    assert min(counts.values()) > 900
    assert max(counts.values()) < 1_100


@given(HOLDERS, MEMBERS)
def test_a_plan_is_balanced_to_one_shard(holders: list[str], members: set[str]) -> None:
    counts = Counter(plan(holders, members))
    numbers = [counts[member] for member in members]
    assert counts.keys() <= members
    assert max(numbers) - min(numbers) <= 1


@given(HOLDERS, MEMBERS)
def test_a_plan_moves_no_more_shards_than_balance_needs(
    holders: list[str], members: set[str]
) -> None:
    wanted = plan(holders, members)
    moved = sum(new != old for new, old in zip(wanted, holders, strict=True))
    held = sorted((holders.count(member) for member in members), reverse=True)
    least, more = divmod(len(holders), len(members))
    kept = sum(min(count, least + (place < more)) for place, count in enumerate(held))
    assert moved == len(holders) - kept


@given(HOLDERS, MEMBERS)
def test_a_plan_is_kept_when_it_is_made_again(holders: list[str], members: set[str]) -> None:
    wanted = plan(holders, members)
    assert plan(wanted, members) == wanted


@given(HOLDERS, MEMBERS)
def test_the_order_of_the_members_does_not_matter(holders: list[str], members: set[str]) -> None:
    assert plan(holders, sorted(members)) == plan(holders, sorted(members, reverse=True))


def test_without_members_no_shard_has_a_holder() -> None:
    assert plan(["a", "b"], set()) == ["", ""]
