"""The reflector's transitions while it watches."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from clientgo.cache import DeletedFinalStateUnknown
from clientgo.cache.reflector.errors import (
    ServerWentBackError,
    StoreRefusedError,
    UnexpectedObjectError,
    VeryShortWatchError,
)
from clientgo.cache.reflector.state import (
    Apply,
    Backoff,
    Bookmark,
    Closed,
    Expected,
    Failed,
    Memory,
    Opened,
    OpenWatch,
    Quarantine,
    Reached,
    Refused,
    Relist,
    Skip,
    Waited,
    Watching,
)
from clientgo.cache.reflector.step import step, watch_options
from clientgo.cache.store.changes import Delta, DeltaType
from clientgo.meta import (
    DecodeError,
    GroupVersionKind,
    ObjectMeta,
    Status,
    Undecodable,
    Unstructured,
    WatchEvent,
)
from clientgo.testing.fake_source import bookmark_event
from tests.cache.builders import foo
from tests.cache.reflector.steps import (
    EXPIRED,
    LISTS,
    SYNCED,
    THROTTLED,
    WATCHING,
    after,
    bookmark,
    error,
    event,
    received,
)


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
            Delta(DeltaType.ADDED, added.object),
            Delta(DeltaType.UPDATED, changed.object),
            Delta(DeltaType.DELETED, gone.object),
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
        added, quarantine, deleted, reached = taken.messages
        assert isinstance(added, Apply)
        assert isinstance(quarantine, Quarantine)
        assert deleted == Apply([Delta(DeltaType.DELETED, DeletedFinalStateUnknown("ns/x", None))])
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
