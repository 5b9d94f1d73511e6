"""The reflector's transitions while a list is streamed."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from clientgo.cache.reflector.errors import (
    StreamedListOverdueError,
)
from clientgo.cache.reflector.state import (
    Apply,
    Backoff,
    Closed,
    Failed,
    ListPage,
    Memory,
    OpenStream,
    Reached,
    Refused,
    Replace,
    State,
    StreamingList,
    Watching,
)
from clientgo.cache.reflector.step import MOST_CUT_STREAMS, begin, step, watch_options
from clientgo.meta import InvalidError, ObjectMeta, Status, Undecodable, WatchEvent
from tests.cache.builders import ref
from tests.cache.reflector.steps import (
    EXPIRED,
    INTERNAL,
    STREAMS,
    SYNCED,
    THROTTLED,
    after,
    bookmark,
    error,
    event,
    received,
)


def _sent(text: str) -> WatchEvent[Any]:
    """``+a@1`` is added, ``~a@2`` modified, ``-a@3`` deleted; ``+a`` does not decode."""
    kind = {"+": "ADDED", "~": "MODIFIED", "-": "DELETED"}[text[0]]
    name, _, version = text[1:].partition("@")
    if version:
        return event(kind, name, int(version))
    return WatchEvent(kind, Undecodable("bad", b"{}", ObjectMeta(name=name, namespace="ns")))


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

    @pytest.mark.parametrize(
        ("events", "objects", "unknown"),
        [
            ("+x", "", "ns/x"),
            ("+a@1 +x ~b@2", "a@1 b@2", "ns/x"),
            ("+x +x@2", "x@2", ""),
            ("+x@1 ~x", "x@1", ""),
            ("+x -x@2", "", ""),
            ("+x -x", "", ""),
            ("+x -x +x", "", "ns/x"),
        ],
    )
    @pytest.mark.parametrize("reads", ["one", "several"])
    def test_what_does_not_decode_is_known_to_exist(
        self, events: str, objects: str, unknown: str, reads: str
    ) -> None:
        """FIELD-83: an event without a version is one that does not decode."""
        came = [*map(_sent, events.split()), bookmark(10, end=True)]
        state: State = self.STREAMING
        for part in [came] if reads == "one" else [[one] for one in came]:
            taken = step(STREAMS, state, received(*part))
            state = taken.next
        (replaced,) = [message for message in taken.messages if isinstance(message, Replace)]
        assert [ref(obj) for obj in replaced.objects] == objects.split()
        assert replaced.unknown == frozenset(unknown.split())

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
