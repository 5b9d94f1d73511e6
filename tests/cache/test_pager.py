"""Listing in pages."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from clientgo.cache import ListPager
from clientgo.meta import (
    ExpiredError,
    GoneError,
    InternalServerError,
    ListMeta,
    ListOptions,
    ObjectList,
    ObjectMeta,
    Undecodable,
)
from clientgo.util.wait import WaitCancelledError
from tests.cache.builders import foo, ref, refs


class Page(ObjectList[Any], weakref=True):
    """A page that reports when it is freed."""


def page(*names: str, rv: str = "10", token: str = "", bad: int = 0) -> Page:
    return Page(
        metadata=ListMeta(resource_version=rv, continue_=token),
        items=[foo(name) for name in names],
        undecodable=[Undecodable("broken", b"{}", ObjectMeta())] * bad,
    )


class Server:
    """Answers with pages and errors in turn."""

    def __init__(self, *answers: Any) -> None:
        self._answers = iter(answers)
        self.asked: list[ListOptions] = []

    def __call__(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        self.asked.append(options)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[no-any-return]


def listed(server: Callable[..., Any], options: ListOptions | None = None, **config: Any) -> Any:
    return ListPager(server, **config).list(options or ListOptions(), threading.Event())


class TestList:
    def test_the_callers_limit_wins_over_the_page_size(self) -> None:
        """PGR-01."""
        for options, config, limit in (
            (ListOptions(), {}, 500),
            (ListOptions(), {"page_size": 7}, 7),
            (ListOptions(limit=3), {"page_size": 7}, 3),
            (ListOptions(), {"page_size": 0}, 0),
        ):
            server = Server(page("a"))
            listed(server, options, **config)
            assert server.asked[0].limit == limit

    def test_selectors_are_passed_on_and_later_pages_carry_the_token_alone(self) -> None:
        """PGR-01, PGR-02."""
        server = Server(page("a", token="t1"), page("b", token="t2"), page("c"))
        options = ListOptions(
            label_selector="x=y", resource_version="5", resource_version_match="Exact"
        )
        listed(server, options)

        assert [asked.label_selector for asked in server.asked] == ["x=y"] * 3
        assert [asked.continue_ for asked in server.asked] == ["", "t1", "t2"]
        assert [asked.resource_version for asked in server.asked] == ["5", "", ""]
        assert [asked.resource_version_match for asked in server.asked] == ["Exact", "", ""]

    def test_a_single_page_is_returned_as_it_came(self) -> None:
        """PGR-03."""
        only = page("a")
        assert listed(Server(only)) == (only, False)

    def test_several_pages_become_one_list_of_the_first_version(self) -> None:
        """PGR-03: what could not be decoded stays known."""
        result, paginated = listed(
            Server(page("a", rv="10", token="t", bad=1), page("b", rv="20", bad=2))
        )
        assert paginated
        assert refs(result.items) == ["a@1", "b@1"]
        assert result.metadata.resource_version == "10"
        assert len(result.undecodable) == 3

    def test_an_expired_token_is_made_up_for_by_a_full_list(self) -> None:
        """PGR-04."""
        full = page("z", rv="12")
        server = Server(page("a", token="t"), ExpiredError.of("too old"), full)
        options = ListOptions(resource_version="5", resource_version_match="NotOlderThan")

        assert listed(server, options) == (full, True)
        assert server.asked[2] == options

    @pytest.mark.parametrize(
        ("answers", "config"),
        [
            ([ExpiredError.of("old")], {}),
            ([page("a", token="t"), ExpiredError.of("old")], {"full_list_if_expired": False}),
            ([page("a", token="t"), GoneError.of("gone")], {}),
            ([page("a", token="t"), InternalServerError.of("oops")], {}),
            ([page("a", token="t"), ExpiredError.of("old"), InternalServerError.of("oops")], {}),
        ],
    )
    def test_other_failures_are_final(self, answers: list[Any], config: dict[str, Any]) -> None:
        """PGR-04."""
        server = Server(*answers)
        with pytest.raises(type(answers[-1])):
            listed(server, **config)
        assert len(server.asked) == len(answers)

    def test_a_stop_is_noticed_before_each_page(self) -> None:
        """PGR-05."""
        stop = threading.Event()

        def stopping(options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
            stop.set()
            return page("a", token="t")

        with pytest.raises(WaitCancelledError):
            ListPager(stopping).list(ListOptions(), stop)
        with pytest.raises(WaitCancelledError):
            ListPager(Server()).list(ListOptions(), stop)

    def test_an_answer_that_is_not_a_list_is_an_error(self) -> None:
        """PGR-05."""
        with pytest.raises(TypeError, match="ObjectList"):
            listed(lambda options, stop: foo("a"))

    def test_objects_do_not_keep_their_page_alive(self) -> None:
        """PGR-06."""
        pages = [page("a", token="t"), page("b")]
        watchers = [weakref.ref(each) for each in pages]
        server = Server(*pages)
        del pages

        result, _ = listed(server)
        del server
        gc.collect()

        assert refs(result.items) == ["a@1", "b@1"]
        assert [watcher() for watcher in watchers] == [None, None]


class TestEachItem:
    def visit(self, server: Any, **config: Any) -> list[str]:
        visited: list[str] = []
        pager = ListPager(server, **config)
        pager.each_item(ListOptions(), lambda obj: visited.append(ref(obj)), threading.Event())
        return visited

    @pytest.mark.parametrize("prefetch", [0, 1, 10])
    def test_every_item_is_visited_in_order(self, prefetch: int) -> None:
        """PGR-07."""
        server = Server(page("a", "b", token="1"), page("c", token="2"), page("d"))
        assert self.visit(server, prefetch=prefetch) == ["a@1", "b@1", "c@1", "d@1"]

    def test_later_pages_carry_no_version(self) -> None:
        """PGR-08: upstream sends it, which servers refuse."""
        server = Server(page("a", token="t"), page("b"))
        ListPager(server).each_item(
            ListOptions(resource_version="5"), lambda obj: None, threading.Event()
        )
        assert [asked.resource_version for asked in server.asked] == ["5", ""]

    @pytest.mark.parametrize("prefetch", [0, 1, 2])
    def test_so_many_pages_are_fetched_ahead(self, prefetch: int) -> None:
        """PGR-07: and one more is on its way."""
        numbers = iter(range(1, 100))
        fetched: list[int] = []
        far_enough = threading.Event()

        def endless(options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
            fetched.append(next(numbers))
            if len(fetched) == prefetch + 2:
                far_enough.set()
            return page("a", token=f"more {len(fetched)}")

        def visit(obj: Any) -> None:
            assert far_enough.wait(30)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ListPager(endless, prefetch=prefetch).each_item(ListOptions(), visit, threading.Event())
        assert len(fetched) == prefetch + 2

    def test_a_failing_visitor_ends_it_all(self) -> None:
        """PGR-07."""
        visited: list[str] = []

        def visit(obj: Any) -> None:
            visited.append(ref(obj))
            if len(visited) == 2:
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ListPager(Server(page("a", token="1"), page("b", "c", token="2"), page("d"))).each_item(
                ListOptions(), visit, threading.Event()
            )
        assert visited == ["a@1", "b@1"]
        assert "pager-prefetch" not in [thread.name for thread in threading.enumerate()]

    def test_a_failing_list_is_raised_after_the_items_before_it(self) -> None:
        """PGR-07: no full list replaces it."""
        visited: list[str] = []
        pager = ListPager(Server(page("a", token="1"), ExpiredError.of("old")))
        with pytest.raises(ExpiredError):
            pager.each_item(ListOptions(), lambda obj: visited.append(ref(obj)), threading.Event())
        assert visited == ["a@1"]

    def test_a_stop_finishes_the_page_in_hand(self) -> None:
        """PGR-05, PGR-07."""
        stop = threading.Event()
        visited: list[str] = []

        def visit(obj: Any) -> None:
            visited.append(ref(obj))
            stop.set()

        pager = ListPager(Server(page("a", "b", token="1"), page("c", token="2"), page("d")))
        with pytest.raises(WaitCancelledError):
            pager.each_item(ListOptions(), visit, stop)
        assert visited == ["a@1", "b@1"]

    def test_the_page_function_is_stopped_when_its_page_is_not_needed(self) -> None:
        """PGR-07: so that no request outlives the listing."""
        answers = iter([page("a", token="1")])
        second = threading.Event()

        def hanging(options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
            for answer in answers:
                return answer
            second.set()
            assert stop.wait(30)
            raise WaitCancelledError

        def visit(obj: Any) -> None:
            assert second.wait(30)
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            ListPager(hanging).each_item(ListOptions(), visit, threading.Event())

    def test_a_negative_prefetch_is_refused(self) -> None:
        """PGR-07."""
        with pytest.raises(ValueError, match="-1"):
            ListPager(Server(), prefetch=-1)
