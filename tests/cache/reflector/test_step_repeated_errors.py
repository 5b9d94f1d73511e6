"""The reflector's transitions when a watch fails again and again."""

from __future__ import annotations

from msgspec.structs import replace

from clientgo.cache.reflector.state import (
    ListPage,
    Memory,
    OpenWatch,
    Relist,
    Settings,
    State,
    Watching,
)
from clientgo.cache.reflector.step import MOST_EXPIRIES, begin
from clientgo.meta import Status
from tests.cache.reflector.steps import LISTS, SYNCED, after, error, event, received


class TestInternalErrors:
    SETTINGS = replace(LISTS, internal_error_window=10.0)

    def fail(self, memory: Memory, at: float, settings: Settings = SETTINGS) -> State:
        failure = received(error(Status(code=500, reason="InternalError")), at=at)
        return after(Watching(memory, since=0.0), failure, settings)

    def test_without_a_window_they_lead_to_a_list(self) -> None:
        """RFL-23."""
        assert isinstance(self.fail(SYNCED, 1.0, LISTS), Relist)

    def test_within_the_window_the_watch_is_opened_again_immediately(self) -> None:
        """RFL-23: the limit is inclusive."""
        first = self.fail(SYNCED, 5.0)
        assert isinstance(first, OpenWatch)
        assert isinstance(self.fail(first.memory, 15.0), OpenWatch)
        assert isinstance(self.fail(first.memory, 15.1), Relist)

    def test_the_window_starts_again_once_it_was_exceeded(self) -> None:
        """RFL-23."""
        first = self.fail(SYNCED, 5.0)
        exceeded = self.fail(first.memory, 16.0)
        assert isinstance(self.fail(exceeded.memory, 17.0), OpenWatch)

    def test_a_minute_without_one_is_forgiven(self) -> None:
        """RFL-23."""
        first = self.fail(SYNCED, 5.0)
        assert isinstance(self.fail(first.memory, 65.0), OpenWatch)


class TestExpiries:
    def expire(self, memory: Memory) -> Memory:
        failure = received(error(Status(code=410, reason="Expired")))
        return after(Watching(memory, since=0.0), failure).memory

    def test_a_server_that_never_has_what_it_listed_is_asked_for_the_newest_state(self) -> None:
        """Pitfall 7."""
        memory = SYNCED
        for _ in range(MOST_EXPIRIES):
            assert not memory.unavailable
            memory = self.expire(memory)
        state = begin(LISTS, memory)
        assert isinstance(state, ListPage)
        assert state.options.resource_version == ""

    def test_one_event_proves_that_it_has(self) -> None:
        """Pitfall 7."""
        memory = self.expire(self.expire(SYNCED))
        assert after(Watching(memory, 0.0), received(event("ADDED"))).memory.expiries == 0
