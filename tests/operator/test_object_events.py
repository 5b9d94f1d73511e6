"""Events about the object in hand, for the people who look at it."""

from __future__ import annotations

import logging
from typing import Any

import msgspec
import pytest

from clientgo.api.events_v1 import Event
from clientgo.meta import Codec
from clientgo.operator import Context
from clientgo.operator.client.events import EventPublisher, ObjectEvents
from clientgo.testing import FakeClient
from clientgo.testing.fake_clock import FakeClock
from tests.operator.world import Gadget, Planet, Recording, World, gadget, part


def recorded(client: FakeClient) -> list[Event]:
    """The events that were created, in order."""
    created = [a for a in client.actions() if a.verb == "create"]
    return [_event(action.body) for action in created]


def _event(plain: dict[str, Any]) -> Event:
    return Codec(Event).decode(msgspec.json.encode(plain))


@pytest.fixture
def client() -> FakeClient:
    return FakeClient()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def publisher(client: FakeClient, clock: FakeClock) -> EventPublisher:
    return EventPublisher(client, clock)


def about(publisher: EventPublisher, obj: Any, controller: str = "gadgets") -> ObjectEvents:
    return ObjectEvents(publisher.recorder(controller), obj)


def test_an_event_says_what_happened_to_whom(client: FakeClient, publisher: EventPublisher) -> None:
    """OP-EVT-01, OP-EVT-04, BP-12: by which controller, and what it did."""
    events = about(publisher, gadget(uid="1"))
    events.normal("Synced", "all is well")
    events.warning("ErrResourceExists", "it is taken", related=part(uid="2"), action="Create")
    publisher.shutdown()
    first, second = sorted(recorded(client), key=lambda event: event.reason or "", reverse=True)
    assert (first.type, first.reason, first.note, first.action) == (
        "Normal",
        "Synced",
        "all is well",
        "Reconcile",
    )
    assert (first.regarding.kind, first.regarding.name) == ("Gadget", "a")
    assert first.reporting_controller == "gadgets"
    assert first.reporting_instance
    assert (second.type, second.action) == ("Warning", "Create")
    assert second.related is not None
    assert second.related.name == "p"


def test_an_event_may_be_about_another_object(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-01: regarding="""
    about(publisher, gadget(uid="1")).normal("Made", "a part", regarding=part(uid="2"))
    publisher.shutdown()
    assert recorded(client)[0].regarding.name == "p"


def test_an_event_of_a_cluster_scoped_object_is_in_the_default_namespace(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-04"""
    earth = Planet()
    earth.metadata.name, earth.metadata.uid = "earth", "1"
    about(publisher, earth).normal("Turning", "still")
    publisher.shutdown()
    assert recorded(client)[0].metadata.namespace == "default"


def test_a_long_name_of_a_controller_is_cut(client: FakeClient, publisher: EventPublisher) -> None:
    """OP-EVT-04: to the 128 letters that the API server takes."""
    about(publisher, gadget(uid="1"), "c" * 200).normal("Synced", "ok")
    publisher.shutdown()
    assert recorded(client)[0].reporting_controller == "c" * 128


@pytest.mark.parametrize(("note", "size"), [("x" * 2000, 1024), ("é" * 600, 1023), ("ok", 2)])
def test_a_long_note_is_cut_between_letters(
    client: FakeClient, publisher: EventPublisher, note: str, size: int
) -> None:
    """OP-EVT-06: at 1024 bytes."""
    about(publisher, gadget(uid="1")).normal("Synced", note)
    publisher.shutdown()
    written = recorded(client)[0].note or ""
    assert len(written.encode()) == size
    assert written == note or written.endswith("...")


def test_equal_events_are_counted_and_not_repeated(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-03: a hundred of them are one Event, which becomes a series."""
    events = about(publisher, gadget(uid="1"))
    for _ in range(100):
        events.normal("Synced", "ok")
    publisher.shutdown()
    assert len(recorded(client)) == 1


def test_what_is_said_in_other_words_is_an_event_of_its_own(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """BP-18: so the newest says how things are now."""
    events = about(publisher, gadget(uid="1"))
    events.warning("ProcessingError", "no disk")
    events.warning("ProcessingError", "no network")
    publisher.shutdown()
    assert sorted(event.note or "" for event in recorded(client)) == ["no disk", "no network"]


def test_who_has_too_much_to_say_is_silenced_for_a_while(
    client: FakeClient, publisher: EventPublisher, clock: FakeClock
) -> None:
    """OP-EVT-03: 25 at once, then one every five minutes; for each object, and repetitions are
    free."""
    events, others = about(publisher, gadget("a", uid="1")), about(publisher, gadget("b", uid="2"))
    for number in range(30):
        events.normal("Counted", str(number))
        events.normal("Counted", "0")
    others.normal("Counted", "1")
    clock.step(300)
    events.normal("Counted", "31")
    events.normal("Counted", "32")
    publisher.shutdown()
    assert (len(recorded(client)), publisher.silenced) == (25 + 1 + 1, 5 + 1)


def test_what_goes_well_does_not_silence_what_does_not(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-03: nor the other way round."""
    events = about(publisher, gadget(uid="1"))
    for number in range(30):
        events.normal("Counted", str(number))
    for number in range(30):
        events.warning("Failed", str(number))
    publisher.shutdown()
    types = [event.type for event in recorded(client)]
    assert (types.count("Normal"), types.count("Warning")) == (25, 25)


def test_warnings_do_not_silence_those_of_another_reason(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-03: warnings are counted by their reason."""
    events = about(publisher, gadget(uid="1"))
    for number in range(30):
        events.warning("NoDisk", str(number))
    events.warning("NoNetwork", "at all")
    publisher.shutdown()
    reasons = [event.reason for event in recorded(client)]
    assert (reasons.count("NoDisk"), reasons.count("NoNetwork")) == (25, 1)


def test_events_are_mirrored_to_the_log(
    publisher: EventPublisher, caplog: pytest.LogCaptureFixture
) -> None:
    """OP-EVT-05: at DEBUG."""
    with caplog.at_level(logging.DEBUG, "clientgo.operator.events"):
        about(publisher, gadget(uid="1")).warning("ProcessingError", "no disk")
        publisher.shutdown()
    assert caplog.messages == ["Warning Event ProcessingError: no disk"]


def test_an_event_that_cannot_be_made_fails_nobody(
    client: FakeClient, publisher: EventPublisher
) -> None:
    """OP-EVT-02: nor does one that comes after the end."""
    about(publisher, object()).normal("Synced", "about nothing")
    publisher.shutdown()
    about(publisher, gadget(uid="1")).normal("Synced", "too late")
    assert recorded(client) == []


def test_a_reconciler_records_events_about_its_object(world: World) -> None:
    """OP-EVT-01, OP-MGR-10: what was recorded is written before the manager has stopped."""
    world.create(gadget())

    def tell(ctx: Context[Any], _obj: Gadget) -> None:
        ctx.events.normal("Synced", "100 % done")

    recording = Recording(tell)
    world.register(recording)
    with world.running():
        recording.wait_for_runs(1)
    (event,) = world.client.resource(Event).namespace("default").list().items
    assert (event.note, event.regarding.name) == ("100 % done", "a")
