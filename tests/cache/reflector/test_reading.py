"""A list that comes again keeps the stored objects that have not changed.

What batches of events contain is tested with the transitions.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from clientgo.cache import DELTA_FIFO, REAL_FIFO, QueueChoice, Reflector, SharedIndexInformer
from clientgo.meta import Codec, ListOptions, ObjectList, Status, WatchEvent
from clientgo.testing.fake_source import FakeSource, FakeStream
from tests.cache.builders import Foo, foo
from tests.cache.running import RecordingHandler, RecordingStore, no_delays, running

CODEC = Codec(Foo)
EXPIRED = WatchEvent("ERROR", Status(code=410, reason="Expired"))


class OverTheWire:
    """A source whose objects are decoded from JSON each time that they are sent."""

    def __init__(self, source: FakeSource, *, supports_watch_list: bool) -> None:
        self.source = source
        self.supports_watch_list = supports_watch_list
        self.defaults: dict[str, Any] = {}
        """Fields that the server adds to every object."""

    def list(self, options: ListOptions, stop: threading.Event) -> ObjectList[Any]:
        page = self.source.list(options, stop)
        return replace(
            page, items=[CODEC.decode(msgspec.json.encode(self._plain(obj))) for obj in page.items]
        )

    def watch(self, options: ListOptions, stop: threading.Event) -> DecodedStream:
        return DecodedStream(self.source.watch(options, stop), self._sent)

    def _sent(self, event: WatchEvent[Any]) -> WatchEvent[Any]:
        if not isinstance(event.object, Foo):
            return event
        line = {"type": event.type, "object": self._plain(event.object)}
        return CODEC.decode_event(msgspec.json.encode(line))

    def _plain(self, obj: Foo) -> dict[str, Any]:
        return obj.to_dict() | self.defaults


class DecodedStream:
    """The stream of a watch whose events are decoded."""

    def __init__(self, stream: FakeStream, sent: Any) -> None:
        self._stream = stream
        self._sent = sent
        self.stop = stream.stop

    def read(self) -> Sequence[WatchEvent[Any]]:
        return [self._sent(event) for event in self._stream.read()]


@pytest.fixture(params=[True, False], ids=["streamed", "in pages"])
def wire(request: pytest.FixtureRequest) -> OverTheWire:
    source = FakeSource([foo("a"), foo("b"), foo("c")], sample=foo("sample"))
    return OverTheWire(source, supports_watch_list=request.param)


def relisted(
    wire: OverTheWire,
    queue: QueueChoice = DELTA_FIFO,
    defaults: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the cached objects before and after a list that comes again.

    A watch has changed b before, and has missed a change of c. ``defaults`` are what the server
    adds from then on.
    """
    source = wire.source
    informer: SharedIndexInformer[Foo] = SharedIndexInformer(
        wire, Foo, page_size=2, delays=no_delays(), queue=queue, **options
    )
    recorder = RecordingHandler()
    informer.add_event_handler(recorder)
    with running(informer):
        recorder.calls.wait_for_count(3)
        source.wait_for_watch()
        source.update(foo("b"))
        recorder.calls.wait_for_count(4)
        before = {obj.metadata.name: obj for obj in informer.indexer.list()}
        source.update(foo("c"), unseen=True)
        wire.defaults = defaults or {}
        source.expire_history()
        source.send(EXPIRED)
        recorder.calls.wait_for_count(7)
        after = {obj.metadata.name: obj for obj in informer.indexer.list()}
    assert sorted(recorder.notes[4:]) == ["a@1→a@1", "b@4→b@4", "c@3→c@5"]
    return before, after


@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["delta", "real"])
def test_what_has_not_changed_stays_the_same_object(wire: OverTheWire, queue: QueueChoice) -> None:
    """EVH-06: handlers are called all the same."""
    before, after = relisted(wire, queue)
    assert {name for name in after if after[name] is before[name]} == {"a", "b"}
    assert after["c"].metadata.resource_version == "5"


def test_a_change_without_a_new_version_is_seen(wire: OverTheWire) -> None:
    """A definition has a new default, or the server was restored from a backup."""
    before, after = relisted(wire, defaults={"status": {"ready": True}})
    assert not {name for name in after if after[name] is before[name]}
    assert after["a"].to_dict()["status"] == {"ready": True}


def test_a_transform_gets_every_object_of_the_list(wire: OverTheWire) -> None:
    """DFI-16: once, and none that is in the cache."""
    transformed: list[Foo] = []

    def transform(obj: Foo) -> Foo:
        transformed.append(obj)
        return obj

    before, after = relisted(wire, transform=transform)
    assert len({id(obj) for obj in transformed}) == len(transformed) == 7
    assert not {name for name in after if after[name] is before[name]}


def test_a_first_list_is_not_compared(wire: OverTheWire) -> None:
    asked: list[Any] = []
    store = RecordingStore()
    reflector = Reflector(wire, store, expected=Foo, delays=no_delays(), stored=asked.append)
    with running(reflector):
        store.calls.wait_for_count(1)
        wire.source.wait_for_watch()
        assert not asked
        wire.source.expire_history()
        wire.source.send(EXPIRED)
        store.calls.wait_for_count(2)
    assert [obj.metadata.name for obj in asked] == ["a", "b", "c"]
