"""The reflector's transitions while it lists."""

from __future__ import annotations

import pytest

from clientgo.cache.reflector.errors import (
    ListFailedError,
    StoreRefusedError,
)
from clientgo.cache.reflector.state import (
    Failed,
    ListPage,
    Memory,
    Quarantine,
    Refused,
    Relist,
    Replace,
    State,
)
from clientgo.cache.reflector.step import begin, step
from clientgo.meta import DecodeError, ObjectMeta, Undecodable
from clientgo.testing.fake_source import too_large_resource_version_error
from tests.cache.builders import foo
from tests.cache.reflector.steps import EXPIRED, INTERNAL, LISTS, SYNCED, after, page


class TestAList:
    def test_the_first_list_may_come_from_the_watch_cache(self) -> None:
        """RFL-09, RFL-10."""
        state = begin(LISTS, Memory())
        assert isinstance(state, ListPage)
        assert (state.options.resource_version, state.options.limit) == ("0", 500)

    def test_later_lists_do_not_go_back_in_time_and_come_in_one_piece(self) -> None:
        """RFL-09, RFL-10."""
        state = begin(LISTS, SYNCED)
        assert isinstance(state, ListPage)
        assert (state.options.resource_version, state.options.limit) == ("10", 0)

    def test_without_a_watch_cache_later_lists_come_in_pages(self) -> None:
        """RFL-11."""
        first = after(begin(LISTS, Memory()), page(foo("a"), more="next"))
        watch = after(first, page(foo("b")))
        again = begin(LISTS, watch.memory)
        assert isinstance(again, ListPage)
        assert (again.options.resource_version, again.options.limit) == ("10", 500)

    def test_pages_become_one_list_with_the_version_of_the_first(self) -> None:
        """RFL-15, PGR-02."""
        state = begin(LISTS, Memory())
        first = step(LISTS, state, page(foo("a"), version="10", more="next"))
        assert first.messages == []
        assert isinstance(first.next, ListPage)
        assert (first.next.options.continue_, first.next.options.resource_version) == ("next", "")
        second = step(LISTS, first.next, page(foo("b"), version="11"))
        assert second.messages == [Replace([foo("a"), foo("b")], "10")]
        assert second.next.memory.version == "10"

    def test_a_token_that_expires_leads_to_the_list_in_one_piece(self) -> None:
        """PGR-04."""
        second = after(begin(LISTS, Memory()), page(foo("a"), more="next"))
        whole = after(second, Failed(EXPIRED, 0.0))
        assert isinstance(whole, ListPage)
        assert (whole.options.resource_version, whole.options.limit) == ("0", 0)
        assert step(LISTS, whole, page(foo("b"))).messages == [Replace([foo("b")], "10")]

    @pytest.mark.parametrize("tokens", [["a"], ["a", "b"], ["a", "b", "c"]])
    def test_a_token_that_comes_again_is_an_error_and_no_list(self, tokens: list[str]) -> None:
        """FIELD-40: client-go asks with it until memory runs out."""
        state: State = begin(LISTS, SYNCED)
        for token in tokens:
            state = after(state, page(foo("a"), more=token))
        again = step(LISTS, state, page(foo("b"), more="a"))
        assert isinstance(again.next, Relist)
        assert again.messages == ()
        assert "the continue token 'a' a second time" in str(again.next.error)
        assert isinstance(again.next.error.__cause__, DecodeError)
        assert again.next.memory == SYNCED

    @pytest.mark.parametrize("unavailable", [EXPIRED, too_large_resource_version_error("10", 3)])
    def test_a_version_that_the_server_does_not_have_leads_to_the_newest_list_once(
        self, unavailable: Exception
    ) -> None:
        """RFL-12, RFL-13, RFL-14."""
        newest = after(begin(LISTS, SYNCED), Failed(unavailable, 0.0))
        assert isinstance(newest, ListPage)
        assert (newest.options.resource_version, newest.options.limit) == ("", 500)
        again = after(newest, Failed(unavailable, 0.0))
        assert isinstance(again, Relist)
        assert again.memory.unavailable

    def test_a_list_refused_at_a_version_that_is_not_a_number_asks_for_the_newest_state(
        self,
    ) -> None:
        """RFL-13: asking for the same version again could fail for ever."""
        newest = after(begin(LISTS, Memory(version="odd")), Failed(INTERNAL, 0.0))
        assert isinstance(newest, ListPage)
        assert newest.options.resource_version == ""
        assert isinstance(after(newest, Failed(INTERNAL, 0.0)), Relist)

    def test_a_list_that_succeeds_makes_the_version_available_again(self) -> None:
        """RFL-15."""
        newest = after(begin(LISTS, SYNCED), Failed(EXPIRED, 0.0))
        assert not after(newest, page(version="20")).memory.unavailable

    def test_any_other_error_is_reported_with_what_was_listed_and_its_cause(self) -> None:
        """RFL-15, RFL-18."""
        state = after(begin(LISTS, Memory()), Failed(INTERNAL, 0.0))
        assert isinstance(state, Relist)
        assert isinstance(state.error, ListFailedError)
        assert str(state.error) == "failed to list foos: oops"
        assert state.error.__cause__ is INTERNAL

    def test_a_list_that_the_store_refuses_is_not_remembered(self) -> None:
        """RFL-15."""
        state = begin(LISTS, Memory())
        refused = after(state, Refused(ValueError("no")))
        assert isinstance(refused, Relist)
        assert isinstance(refused.error, StoreRefusedError)
        assert refused.memory.version == ""

    def test_what_does_not_decode_is_quarantined_and_the_rest_is_delivered(self) -> None:
        """FIELD-13."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="x"))
        taken = step(LISTS, begin(LISTS, Memory()), page(foo("a"), bad=(broken,)))
        assert taken.messages == [Quarantine(broken), Replace([foo("a")], "10", frozenset(["x"]))]

    def test_what_did_not_decode_on_any_page_is_known_to_exist(self) -> None:
        """FIELD-83: an object without a readable name cannot be told from others."""
        first, second, nameless = (
            Undecodable("bad", b"{}", ObjectMeta(name=name, namespace="ns"))
            for name in ("x", "y", "")
        )
        state = after(begin(LISTS, Memory()), page(more="1", bad=(first, nameless)))
        (*_, replaced) = step(LISTS, state, page(foo("a"), bad=(second,))).messages
        assert replaced == Replace([foo("a")], "10", frozenset(["ns/x", "ns/y"]))

    def test_a_list_in_one_piece_forgets_what_did_not_decode_on_the_pages_before(self) -> None:
        """FIELD-83."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="x", namespace="ns"))
        paged = after(begin(LISTS, Memory()), page(more="1", bad=(broken,)))
        whole = after(paged, Failed(EXPIRED, 0.0))
        (replaced,) = step(LISTS, whole, page(foo("a"))).messages
        assert replaced == Replace([foo("a")], "10")
