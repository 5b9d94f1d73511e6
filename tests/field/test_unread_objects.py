"""Objects that a list holds and that cannot be read: they are there, and not gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from clientgo.api.core_v1 import Pod
from clientgo.cache import DELTA_FIFO, REAL_FIFO, QueueChoice, SharedIndexInformer
from clientgo.client import Client, ResourceListWatch
from clientgo.meta import APIResource, Codec, Unstructured, object_key
from clientgo.rest import RestConfig
from clientgo.testing.scripted_server import (
    Script,
    answer,
    chunk,
    send,
    stay_silent,
    watch_begin,
    watch_end,
)
from tests.cache.running import RecordingHandler, no_delays
from tests.field.informers import running
from tests.field.objects import NAMESPACE, bookmark, deleted, expired, key, listing, pod
from tests.field.scenario import Field
from tests.too_deep import TOO_DEEP, nested

pytestmark = pytest.mark.small_stack

PODS = APIResource(group="", version="v1", kind="Pod", plural="pods")


UNREAD = {
    "nested too deeply": nested(TOO_DEEP),
    "of another type": b"5",
    "no UTF-8": b'"\xff"',
    "a number that is too large": b"1e999",
}
"""Values of a label."""


def broken(name: str, version: int) -> dict[str, Any]:
    return pod(name, version, labels={"bad": "UNREAD"})


def encode(what: Any, unread: str = "nested too deeply") -> bytes:
    return msgspec.json.encode(what).replace(b'"UNREAD"', UNREAD[unread])


def events(*sent: Any, then: Script) -> Script:
    return [*watch_begin(), *send(*(chunk(encode(one) + b"\n") for one in sent)), *then]


def script(field: Field, lists: Sequence[Sequence[Any]], last: Any, how: str) -> None:
    """Send lists, one after the other, in pages or as streams; each but the last one expires."""
    ends = [(expired(),)] * (len(lists) - 1) + [(last,)]
    if how == "list":
        field.pods.on_list(*(answer(body=encode(listing(*objs))) for objs in lists))
        field.pods.on_watch(
            *(events(*end, then=watch_end()) for end in ends[:-1]),
            events(*ends[-1], then=stay_silent()),
        )
        return
    marker = bookmark(10, **{"k8s.io/initial-events-end": "true"})
    field.pods.on_stream(
        *(
            events(
                *({"type": "ADDED", "object": obj} for obj in objs),
                marker,
                *end,
                then=stay_silent() if end is ends[-1] else watch_end(),
            )
            for objs, end in zip(lists, ends, strict=True)
        )
    )


@pytest.mark.parametrize("goes", ["by a later list", "by an event"])
@pytest.mark.parametrize("kind", ["typed", "unstructured"])
@pytest.mark.parametrize("queue", [DELTA_FIFO, REAL_FIFO], ids=["DeltaFIFO", "RealFIFO"])
@pytest.mark.parametrize("lists", ["list", "stream"])
def test_a_listed_object_that_cannot_be_read_is_not_deleted(
    field: Field, lists: str, queue: QueueChoice, kind: str, goes: str
):
    """FIELD-83: the cache keeps its last good state, until a list or an event shows it gone."""
    bad, b = broken("bad", 7), pod("b", 8)
    last = {"type": "ADDED", "object": pod("last", 11)}
    first, second = [pod("a", 1), pod("bad", 2)], [pod("a", 1), bad, b]
    if goes == "by an event":
        script(field, [first, second], deleted(bad), lists)
    else:
        script(field, [first, second, [pod("a", 1), b]], last, lists)
    handler = RecordingHandler()

    with Client(RestConfig(server=field.server.url, qps=-1)) as client:
        source = {
            "typed": ResourceListWatch(client.resource(Pod), NAMESPACE),
            "unstructured": ResourceListWatch(client.resource(PODS), NAMESPACE),
        }[kind]
        expected = Pod if kind == "typed" else Unstructured
        informer: SharedIndexInformer[Any] = SharedIndexInformer(
            source, expected, queue=queue, delays=no_delays()
        )
        informer.add_event_handler(handler)
        with running(informer):
            handler.calls.wait_for(lambda notes: any(note[0] in "-†" for note in notes))
            quarantined = informer.statistics().quarantined

    changes = [note for note in handler.notes if "last" not in note and "→" not in note]
    assert changes == ["+a@1!", "+bad@2!", "+b@8", "†bad@2"]
    assert informer.indexer.get_by_key(key("bad")) is None
    assert quarantined == 1 + (goes == "by an event")


@pytest.mark.parametrize("unread", UNREAD)
@pytest.mark.parametrize("type_", [Pod, Unstructured])
def test_the_name_of_an_object_that_cannot_be_read_is_found(type_: Any, unread: str):
    """FIELD-83: without it, a list would not show that the object is there."""
    listed = Codec(type_).decode_list(encode(listing(broken("bad", 7)), unread))

    assert [object_key(obj) for obj in listed.undecodable] == [key("bad")]
