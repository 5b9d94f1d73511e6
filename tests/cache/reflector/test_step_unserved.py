"""What follows when the server says that it does not serve the kind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from clientgo.cache import NotServedError
from clientgo.cache.reflector.errors import StoreRefusedError
from clientgo.cache.reflector.state import (
    ListPage,
    Memory,
    NotServed,
    OpenStream,
    OpenWatch,
    Refused,
    Relist,
    Replace,
    State,
    Unserved,
    Waited,
)
from clientgo.cache.reflector.step import begin, step
from clientgo.meta import ListOptions
from tests.cache.reflector.steps import LISTS, STREAMS, SYNCED, after

DELETED = NotServed(NotServedError("foos", "no definition", objects_deleted=True))
UNKNOWN = NotServed(NotServedError("foos", "not in this version"))
REQUESTS = [ListPage(SYNCED, ListOptions()), OpenWatch(SYNCED), OpenStream(SYNCED)]


@pytest.mark.parametrize("state", REQUESTS, ids=lambda state: type(state).__name__)
def test_the_cache_is_emptied_if_the_objects_are_deleted(state: State) -> None:
    taken = step(LISTS, state, DELETED)

    assert isinstance(taken.next, Unserved)
    assert taken.messages == [Replace((), "10")]


@pytest.mark.parametrize("state", REQUESTS, ids=lambda state: type(state).__name__)
def test_the_cache_is_kept_if_it_is_unknown_what_became_of_the_objects(state: State) -> None:
    taken = step(LISTS, state, UNKNOWN)

    assert isinstance(taken.next, Unserved)
    assert taken.messages == []


def test_a_cache_that_was_never_filled_is_not_filled_with_nothing() -> None:
    """An empty list would say that the first list has come."""
    taken = step(LISTS, begin(LISTS, Memory()), DELETED)

    assert taken.messages == []


@pytest.mark.parametrize("settings", [LISTS, STREAMS], ids=["list", "stream"])
def test_after_a_pause_the_newest_state_is_listed(settings: object) -> None:
    unserved = after(OpenWatch(SYNCED), DELETED)

    following = step(settings, unserved, Waited()).next  # type: ignore[arg-type]

    assert following == begin(settings, replace(SYNCED, unavailable=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("state", REQUESTS, ids=lambda state: type(state).__name__)
def test_a_store_that_refuses_to_be_emptied_is_filled_again(state: State) -> None:
    relist = after(state, Refused(OSError("full")))

    assert type(relist) is Relist
    assert isinstance(relist.error, StoreRefusedError)
