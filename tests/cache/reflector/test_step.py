"""The reflector's transitions, without a server, a store or a clock."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.cache.reflector.state import (
    Apply,
    Backoff,
    Bookmark,
    Closed,
    Expected,
    Failed,
    ListFailedError,
    ListPage,
    Memory,
    Opened,
    OpenStream,
    OpenWatch,
    Page,
    Quarantine,
    Reached,
    Received,
    Refused,
    Relist,
    Replace,
    ServerWentBackError,
    Settings,
    Skip,
    State,
    StoreRefusedError,
    StreamedListOverdueError,
    StreamingList,
    UnexpectedObjectError,
    VeryShortWatchError,
    Waited,
    Watching,
)
from clientgo.cache.reflector.step import (
    MOST_CUT_STREAMS,
    MOST_EXPIRIES,
    ImpossibleEventError,
    begin,
    step,
    transitions,
    watch_options,
)
from clientgo.cache.store.changes import DeltaType
from clientgo.meta import (
    DecodeError,
    ExpiredError,
    GroupVersionKind,
    InternalServerError,
    InvalidError,
    ListMeta,
    ObjectList,
    ObjectMeta,
    Status,
    TooManyRequestsError,
    Undecodable,
    Unstructured,
    WatchEvent,
)
from clientgo.testing.fake_source import bookmark_event, too_large_resource_version_error
from tests.cache.builders import Foo, foo, ref

LISTS = Settings(description="foos", expected=Expected.of(Foo), stream_initial_list=False)
STREAMS = replace(LISTS, stream_initial_list=True)
SYNCED = Memory(version="10")
WATCHING = Watching(SYNCED, since=0.0)

EXPIRED = ExpiredError.of("too old")
THROTTLED = TooManyRequestsError.of("slow down")
INTERNAL = InternalServerError.of("oops")


def page(
    *objs: Any, version: str = "10", more: str = "", bad: tuple[Undecodable, ...] = ()
) -> Page:
    metadata = ListMeta(resource_version=version, continue_=more)
    return Page(ObjectList(metadata=metadata, items=list(objs), undecodable=list(bad)))


def event(kind: str, name: str = "a", rv: int = 11) -> WatchEvent[Any]:
    return WatchEvent(kind, foo(name, rv=rv))


def received(*events: WatchEvent[Any], at: float = 5.0) -> Received:
    return Received(events, at)


def bookmark(version: int, *, end: bool = False) -> WatchEvent[Any]:
    return bookmark_event(version, foo("a"), ends_initial_events=end)


def error(status: Status) -> WatchEvent[Any]:
    return WatchEvent("ERROR", status)


def after(state: State, event: Any, settings: Settings = LISTS) -> State:
    return step(settings, state, event).next


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
        assert taken.messages == [Quarantine(broken), Replace([foo("a")], "10")]


class TestAWatch:
    def test_it_goes_on_from_the_last_version_and_asks_for_bookmarks(self) -> None:
        """RFL-16."""
        options = watch_options(OpenWatch(SYNCED))
        assert (options.resource_version, options.allow_watch_bookmarks) == ("10", True)

    @pytest.mark.parametrize("refusal", [THROTTLED, ConnectionRefusedError()])
    def test_an_overloaded_or_absent_server_is_asked_again_without_a_list(
        self, refusal: Exception
    ) -> None:
        """RFL-18."""
        opening = OpenWatch(SYNCED)
        pause = after(opening, Failed(refusal, 0.0))
        assert pause == Backoff(SYNCED, opening, refusal)
        assert after(pause, Waited()) == opening

    def test_a_refused_connection_is_recognised_behind_other_errors(self) -> None:
        """RFL-18."""
        wrapped = RuntimeError("no answer")
        wrapped.__cause__ = ConnectionRefusedError()
        assert isinstance(after(OpenWatch(SYNCED), Failed(wrapped, 0.0)), Backoff)

    def test_any_other_refusal_leads_to_a_list(self) -> None:
        """RFL-18."""
        assert after(OpenWatch(SYNCED), Failed(EXPIRED, 0.0)) == Relist(SYNCED, EXPIRED)

    def test_events_are_delivered_together_and_their_last_version_is_reached(self) -> None:
        """RFL-24, RFL-27."""
        added, changed = event("ADDED", "a", 11), event("MODIFIED", "b", 12)
        gone = event("DELETED", "c", 13)
        taken = step(LISTS, WATCHING, received(added, changed, gone))
        apply, reached = taken.messages
        assert isinstance(apply, Apply)
        assert apply.changes == [
            (DeltaType.ADDED, added.object),
            (DeltaType.UPDATED, changed.object),
            (DeltaType.DELETED, gone.object),
        ]
        assert reached == Reached("13")
        assert taken.next == replace(WATCHING, memory=Memory(version="13"), accepted=3)

    @pytest.mark.parametrize(
        ("versions", "reached"),
        [
            (["11", ""], "11"),
            (["", ""], "10"),
            (["12", "11"], "11"),
            (["11", "odd"], "10"),
        ],
    )
    def test_it_resumes_from_a_version_before_which_nothing_is_lost(
        self, versions: list[str], reached: str
    ) -> None:
        """RFL-27: never from an empty version, and from the lower one after a decrease."""
        events = [WatchEvent("ADDED", foo(f"o{n}", rv=rv)) for n, rv in enumerate(versions)]
        watching = after(WATCHING, received(*events))
        assert watching.memory.version == reached
        resumed = after(watching, Closed(9.0))
        assert isinstance(resumed, OpenWatch)
        assert watch_options(resumed).resource_version == reached

    def test_events_of_a_server_that_went_back_do_not_hide_it(self) -> None:
        """RFL-27: their versions are followed, and a bookmark is compared with those before."""
        watching = after(WATCHING, received(WatchEvent("ADDED", foo("a", rv="3"))))
        watching = after(watching, received(WatchEvent("ADDED", foo("b", rv="4"))))
        assert watching.memory.version == "4"
        relist = after(watching, received(bookmark_event("5", foo("a"))))
        assert isinstance(relist, Relist)
        assert isinstance(relist.error, ServerWentBackError)

    def test_a_bookmark_that_is_older_shows_that_the_server_went_back(self) -> None:
        """kubernetes/kubernetes#107457: what was deleted meanwhile shows in a list only."""
        events = [WatchEvent("ADDED", foo("a", rv="12")), bookmark_event("9", foo("a"))]
        taken = step(LISTS, WATCHING, received(*events))
        assert taken.messages == ()
        assert isinstance(taken.next, Relist)
        assert isinstance(taken.next.error, ServerWentBackError)
        assert taken.next.memory.unavailable
        assert not taken.next.expected

    def test_a_bookmark_without_a_version_says_nothing(self) -> None:
        """RFL-27."""
        taken = step(LISTS, WATCHING, received(bookmark_event("", foo("a"))))
        assert taken.messages == []
        assert taken.next.memory.version == "10"

    def test_versions_that_are_not_numbers_are_followed_where_the_list_has_none_either(
        self,
    ) -> None:
        """RFL-27."""
        watching = Watching(Memory(version="odd-1"), since=0.0)
        added = WatchEvent("ADDED", foo("a", rv="odd-2"))
        assert after(watching, received(added)).memory.version == "odd-2"

    def test_a_watch_that_never_had_a_version_is_followed_by_a_list(self) -> None:
        """RFL-27: a watch from the newest state would miss the deletions before it."""
        closed = after(Watching(Memory(), since=0.0), Closed(9.0))
        assert isinstance(closed, Relist)
        assert closed.expected

    def test_a_bookmark_keeps_its_place_among_the_events(self) -> None:
        """RFL-24."""
        taken = step(
            LISTS, WATCHING, received(event("ADDED", rv=11), bookmark(12), event("ADDED", rv=13))
        )
        kinds = [type(message) for message in taken.messages]
        assert kinds == [Apply, Bookmark, Apply, Reached]

    def test_nothing_is_reached_by_the_initial_additions_of_a_watch_without_a_version(self) -> None:
        """RFL-27."""
        opened = after(OpenWatch(Memory(version="0")), Opened(0.0))
        filled = after(opened, received(event("ADDED", rv=15), event("ADDED", rv=12)))
        assert filled.memory.version == "0"
        assert after(filled, received(event("MODIFIED", rv=16))).memory.version == "16"

    def test_an_object_of_a_foreign_kind_is_skipped_and_reaches_nothing(self) -> None:
        """RFL-02."""
        stranger = WatchEvent("ADDED", Unstructured(metadata=ObjectMeta(name="x")))
        taken = step(LISTS, WATCHING, received(stranger))
        assert taken.messages == [Skip(stranger.object, "expected Foo, got Unstructured")]
        assert taken.next == WATCHING

    def test_unstructured_objects_must_be_of_the_kind(self) -> None:
        """RFL-02."""
        expected = Expected.of(GroupVersionKind("example.com", "v1", "Foo"))
        settings = replace(LISTS, expected=expected)
        right = Unstructured(api_version="example.com/v1", kind="Foo", metadata=foo("a").metadata)
        wrong = Unstructured(api_version="example.com/v1", kind="Bar", metadata=foo("b").metadata)
        taken = step(
            settings, WATCHING, received(WatchEvent("ADDED", right), WatchEvent("ADDED", wrong))
        )
        kinds = [type(message) for message in taken.messages]
        assert kinds == [Skip, Apply, Reached]

    @pytest.mark.parametrize(
        ("api_version", "is_skipped"),
        [("meta.k8s.io/v1", True), ("meta.k8s.io/v1beta1", True), ("example.com/v1", False)],
    )
    def test_printed_tables_are_no_objects(self, api_version: str, is_skipped: bool) -> None:
        """RFL-03."""
        table = Unstructured(api_version=api_version, kind="Table", metadata=foo("t").metadata)
        settings = replace(LISTS, expected=Expected())
        taken = step(settings, WATCHING, received(WatchEvent("ADDED", table)))
        assert isinstance(taken.messages[0], Skip) is is_skipped

    def test_a_value_without_metadata_is_skipped(self) -> None:
        """RFL-26."""
        settings = replace(LISTS, expected=Expected())
        taken = step(settings, WATCHING, received(WatchEvent("ADDED", 7)))
        assert taken.messages == [Skip(7, "int has no object metadata")]

    def test_what_does_not_decode_is_quarantined_and_the_rest_is_delivered(self) -> None:
        """FIELD-13."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="x"))
        taken = step(LISTS, WATCHING, received(WatchEvent("ADDED", broken), event("ADDED")))
        kinds = [type(message) for message in taken.messages]
        assert kinds == [Quarantine, Apply, Reached]

    def test_a_deletion_that_does_not_decode_removes_the_object_by_its_name(self) -> None:
        """FIELD-13: an older state that did decode would stay in the store."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="x", namespace="ns"))
        taken = step(LISTS, WATCHING, received(event("ADDED"), WatchEvent("DELETED", broken)))
        quarantine, apply, reached = taken.messages
        assert isinstance(quarantine, Quarantine)
        assert isinstance(apply, Apply)
        assert apply.changes[1] == (
            DeltaType.DELETED,
            DeletedFinalStateUnknown("ns/x", None),
        )
        assert reached == Reached("11")

    def test_only_a_deletion_that_does_not_decode_reaches_no_version(self) -> None:
        """FIELD-13."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="x", namespace="ns"))
        taken = step(LISTS, WATCHING, received(WatchEvent("DELETED", broken)))
        assert taken.next == WATCHING

    def test_a_clean_end_leads_to_a_new_watch_immediately(self) -> None:
        """RFL-19."""
        state = replace(WATCHING, accepted=1)
        assert after(state, Closed(0.5)) == OpenWatch(SYNCED)
        assert after(WATCHING, Closed(1.0)) == OpenWatch(SYNCED)

    def test_an_end_within_a_second_without_an_event_is_an_error(self) -> None:
        """RFL-20."""
        state = after(WATCHING, Closed(0.999))
        assert isinstance(state, Relist)
        assert isinstance(state.error, VeryShortWatchError)

    def test_a_broken_connection_counts_as_the_end_of_its_stream(self) -> None:
        """RFL-19, RFL-20."""
        broken = ConnectionResetError()
        assert after(replace(WATCHING, accepted=1), Failed(broken, 0.1)) == OpenWatch(SYNCED)
        assert isinstance(after(WATCHING, Failed(broken, 0.1)), Relist)

    def test_rubbish_in_the_stream_leads_to_a_list(self) -> None:
        """FIELD-21."""
        rubbish = DecodeError("not json")
        assert after(WATCHING, Failed(rubbish, 9.0)) == Relist(SYNCED, rubbish)

    def test_events_before_an_error_are_delivered(self) -> None:
        """RFL-21."""
        status = Status(code=410, reason="Expired")
        taken = step(LISTS, WATCHING, received(event("ADDED"), error(status)))
        assert [type(message) for message in taken.messages] == [Apply, Reached]
        assert isinstance(taken.next, Relist)
        assert taken.next.memory.version == "11"

    def test_an_expired_version_is_not_reported(self) -> None:
        """RFL-22."""
        state = after(WATCHING, received(error(Status(code=410, reason="Expired"))))
        assert isinstance(state, Relist)
        assert state.expected

    def test_a_throttled_watch_is_opened_again_without_a_list(self) -> None:
        """RFL-22."""
        state = after(WATCHING, received(error(Status(code=429, reason="TooManyRequests"))))
        assert isinstance(state, Backoff)
        assert state.then == OpenWatch(SYNCED)

    def test_an_error_that_is_not_a_status_leads_to_a_list(self) -> None:
        """RFL-21."""
        state = after(WATCHING, received(WatchEvent("ERROR", foo("a"))))
        assert isinstance(state, Relist)
        assert isinstance(state.error, UnexpectedObjectError)

    def test_an_unknown_type_of_event_is_skipped_but_reaches_its_version(self) -> None:
        """RFL-24."""
        taken = step(LISTS, WATCHING, received(event("WEIRD")))
        assert [type(message) for message in taken.messages] == [Skip, Reached]

    def test_a_refused_event_leads_to_a_list_from_the_version_before_it(self) -> None:
        """RFL-25, FIELD-12."""
        state = after(WATCHING, Refused(ValueError("no")))
        assert isinstance(state, Relist)
        assert isinstance(state.error, StoreRefusedError)
        assert state.memory == SYNCED


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


class TestAStreamedList:
    OPEN = OpenStream(Memory())
    STREAMING = StreamingList(Memory(), since=0.0)

    def test_it_asks_for_the_existing_objects_at_any_version_first(self) -> None:
        """WLS-01, WLS-02."""
        assert begin(STREAMS, Memory()) == self.OPEN
        options = watch_options(self.OPEN)
        assert options.send_initial_events
        assert (options.resource_version, options.resource_version_match) == ("", "NotOlderThan")
        assert watch_options(OpenStream(SYNCED)).resource_version == "10"
        unavailable = replace(SYNCED, unavailable=True)
        assert watch_options(OpenStream(unavailable)).resource_version == ""

    def test_nothing_is_delivered_before_the_end_marker(self) -> None:
        """WLS-03, WLS-04."""
        taken = step(STREAMS, self.STREAMING, received(event("ADDED"), bookmark(12)))
        assert taken.messages == []
        assert taken.next.memory.version == ""

    def test_the_end_marker_replaces_everything_and_the_stream_becomes_the_watch(self) -> None:
        """WLS-05."""
        filling = after(
            self.STREAMING,
            received(event("ADDED", "a", 1), event("ADDED", "b", 2), event("ADDED", "c", 3)),
            STREAMS,
        )
        taken = step(
            STREAMS,
            filling,
            received(
                event("MODIFIED", "a", 4),
                event("DELETED", "b", 5),
                bookmark(10, end=True),
                event("ADDED", "d", 11),
                at=7.0,
            ),
        )
        replaced, applied, reached = taken.messages
        assert isinstance(replaced, Replace)
        assert ([ref(obj) for obj in replaced.objects], replaced.version) == (["a@4", "c@3"], "10")
        assert isinstance(applied, Apply)
        assert reached == Reached("11")
        assert taken.next == Watching(Memory(version="11"), since=7.0, accepted=1)

    @pytest.mark.parametrize("has_uids", [True, False])
    def test_a_list_of_additions_alone_is_taken_as_it_came(self, has_uids: bool) -> None:
        """WLS-05."""
        events = [event("ADDED", name, 1) for name in "bac"]
        for number, each in enumerate(events):
            each.object.metadata.uid = f"uid-{number}" if has_uids else ""
        filling = after(self.STREAMING, received(*events[:2]), STREAMS)
        taken = step(STREAMS, filling, received(events[2], bookmark(10, end=True)))
        assert isinstance(taken.messages[0], Replace)
        assert [ref(obj) for obj in taken.messages[0].objects] == ["b@1", "a@1", "c@1"]

    def test_an_object_that_is_added_twice_is_in_the_list_once(self) -> None:
        """WLS-05."""
        filling = after(self.STREAMING, received(event("ADDED", "a", 1)), STREAMS)
        again = received(event("ADDED", "a", 2), bookmark(10, end=True))
        replaced = step(STREAMS, filling, again).messages[0]
        assert isinstance(replaced, Replace)
        assert [ref(obj) for obj in replaced.objects] == ["a@2"]

    def test_an_object_whose_deletion_does_not_decode_is_not_in_the_list(self) -> None:
        """WLS-05."""
        broken = Undecodable("bad", b"{}", ObjectMeta(name="a", namespace="ns"))
        taken = step(
            STREAMS,
            self.STREAMING,
            received(event("ADDED", "a", 1), WatchEvent("DELETED", broken), bookmark(10, end=True)),
        )
        _, replaced, *_ = taken.messages
        assert replaced == Replace([], "10")

    @pytest.mark.parametrize("refusal", [THROTTLED, ConnectionRefusedError()])
    def test_an_overloaded_or_absent_server_is_asked_again(self, refusal: Exception) -> None:
        """WLS-06."""
        assert after(self.OPEN, Failed(refusal, 0.0)) == Backoff(Memory(), self.OPEN, refusal)

    def test_an_expired_version_is_given_up_immediately_but_only_once(self) -> None:
        """WLS-06."""
        newest = after(OpenStream(SYNCED), Failed(EXPIRED, 0.0))
        assert newest == OpenStream(replace(SYNCED, unavailable=True))
        assert isinstance(after(newest, Failed(EXPIRED, 0.0)), Backoff)

    @pytest.mark.parametrize("refusal", [InvalidError.of("unknown option"), INTERNAL, ValueError()])
    def test_any_other_error_leads_to_a_list_and_is_forgotten(self, refusal: Exception) -> None:
        """WLS-07."""
        listing = after(self.OPEN, Failed(refusal, 0.0))
        assert isinstance(listing, ListPage)
        assert begin(STREAMS, listing.memory) == self.OPEN

    def test_an_error_event_discards_what_came_before_it(self) -> None:
        """WLS-07."""
        filling = after(self.STREAMING, received(event("ADDED")))
        failed = step(STREAMS, filling, received(error(Status(code=403, reason="Forbidden"))))
        assert failed.messages == []
        assert isinstance(failed.next, ListPage)

    def test_a_stream_that_is_cut_starts_over_and_after_some_times_lists_for_good(self) -> None:
        """WLS-08."""
        memory = Memory()
        for _ in range(MOST_CUT_STREAMS - 1):
            state = after(StreamingList(memory, 0.0, accepted=1), Closed(0.1))
            assert isinstance(state, OpenStream)
            memory = state.memory
        listing = after(StreamingList(memory, 0.0, accepted=1), Closed(0.1))
        assert isinstance(listing, ListPage)
        assert isinstance(begin(STREAMS, listing.memory), ListPage)

    def test_an_end_within_a_second_without_an_event_leads_to_a_list(self) -> None:
        """WLS-07."""
        assert isinstance(after(self.STREAMING, Closed(0.9)), ListPage)

    def test_an_overdue_one_leads_to_lists_for_good(self) -> None:
        """FIELD-33."""
        overdue = Failed(StreamedListOverdueError(), 60.0)
        listing = after(replace(self.STREAMING, accepted=3), overdue)
        assert isinstance(listing, ListPage)
        assert isinstance(begin(STREAMS, listing.memory), ListPage)

    def test_one_that_the_store_refuses_leads_to_a_list(self) -> None:
        """WLS-07."""
        assert isinstance(after(self.STREAMING, Refused(ValueError())), ListPage)


def test_what_cannot_happen_is_loud() -> None:
    with pytest.raises(ImpossibleEventError):
        step(LISTS, OpenWatch(SYNCED), Waited())


def test_every_state_that_follows_is_drawn_and_every_state_can_be_left() -> None:
    drawn = transitions()
    names = {state.__name__ for state in State.__args__}  # type: ignore[attr-defined]
    assert {target for _, _, target in drawn} == names
    assert {source for source, _, _ in drawn} == names
