"""The transform that makes objects smaller; others are tested with the informer."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from clientgo.cache import (
    CompactMetadata,
    DeletedFinalStateUnknown,
    Delta,
    DeltaFIFO,
    DeltaType,
    Queue,
    RealFIFO,
)
from clientgo.cache.informer import transforming_store
from clientgo.cache.informer.transforming_store import TransformingStore
from clientgo.cache.reflector.quarantine import QuarantineLog
from clientgo.meta import Codec, deep_copy
from tests.cache.builders import Foo
from tests.cache.queue_entries import Store, drain


def decoded(name: str, **metadata: object) -> Foo:
    plain = {"metadata": {"name": name, "namespace": "ns", **metadata}}
    return Codec(Foo).decode(msgspec.json.encode(plain))


def test_objects_share_what_is_equal_and_keep_no_managed_fields() -> None:
    """INF-20."""
    compact = CompactMetadata()
    managed = [{"manager": "kubectl"}]
    a, b, c = (
        compact(decoded("a", labels={"app": "web"}, managedFields=managed)),
        compact(decoded("b", labels={"app": "web"})),
        compact(decoded("c", labels={"app": "db"}, annotations={"x": "y"})),
    )
    assert a.metadata.labels is b.metadata.labels
    assert c.metadata.labels == {"app": "db"}
    assert c.metadata.annotations == {"x": "y"}
    assert a.metadata.namespace is c.metadata.namespace
    assert a.metadata.managed_fields == ()
    assert a.to_dict()["metadata"] == {"name": "a", "namespace": "ns", "labels": {"app": "web"}}


def test_a_copy_can_be_changed() -> None:
    """INF-20."""
    compact = CompactMetadata()
    a, b = compact(decoded("a", labels={"app": "web"})), compact(decoded("b"))
    copy = deep_copy(a)
    copy.metadata.labels["more"] = copy.metadata.annotations["more"] = "yes"
    assert a.metadata.labels == {"app": "web"}
    assert b.metadata.annotations == {}


def test_what_is_shared_does_not_grow_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """INF-20."""
    monkeypatch.setattr(transforming_store, "_SHARED_AT_MOST", 10)
    compact = CompactMetadata()
    objs = [compact(decoded(f"a-{n}", labels={"pod": str(n)})) for n in range(25)]
    assert [obj.metadata.labels["pod"] for obj in objs] == [str(n) for n in range(25)]
    assert len(compact._labels) == 5


def test_values_of_other_kinds_stay_as_they_are() -> None:
    """INF-20."""
    plain = {"metadata": {"name": "a"}}
    assert CompactMetadata()(plain) is plain
    assert plain == {"metadata": {"name": "a"}}


def refuse_bad(obj: Foo) -> Foo:
    if obj.metadata.name == "bad":
        raise ZeroDivisionError
    return obj


def test_each_object_is_transformed_once_but_no_tombstone() -> None:
    """DFI-16, RFI-15, STO-06, INF-20."""
    seen: list[str] = []

    def note(obj: Foo) -> Foo:
        seen.append(obj.metadata.name)
        return obj

    store = TransformingStore(RealFIFO(), note, QuarantineLog("foos"))
    store.add(decoded("a"))
    store.update(decoded("b"))
    store.delete(decoded("c"))
    store.delete(DeletedFinalStateUnknown("ns/d", decoded("d")))
    store.replace([decoded("e")], "5")
    store.resync()
    assert seen == ["a", "b", "c", "e"]


@pytest.mark.parametrize("make", [DeltaFIFO, RealFIFO])
def test_the_transform_may_fail_for_one_object_and_the_others_are_queued(make: Any) -> None:
    """DFI-16, RFI-15, STO-06, INF-20."""
    queue: Queue = make()
    store = TransformingStore(queue, refuse_bad, QuarantineLog("foos"))
    store.apply([Delta(DeltaType.ADDED, decoded(name)) for name in ("a", "bad", "b")])
    assert [entry for (entry,) in drain(queue)] == ["Added a@", "Added b@"]


def test_a_listed_object_that_the_transform_fails_for_is_not_deleted() -> None:
    """DFI-07, INF-20: the list has it, so it is not gone."""
    known = Store(decoded("bad"), decoded("gone"))
    queue = DeltaFIFO(known_objects=known)
    store = TransformingStore(queue, refuse_bad, QuarantineLog("foos"))
    store.replace([decoded("a"), decoded("bad")], "5")
    assert drain(queue) == [["Replaced a@"], ["Deleted †ns/gone(gone@)"]]


def test_an_object_of_which_the_transform_returns_nothing_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """INF-20: it is the transform that is at fault, and not the store."""
    queue, quarantine = DeltaFIFO(), QuarantineLog("foos")
    store = TransformingStore(queue, lambda obj: None, quarantine)

    store.add(decoded("a"))
    store.replace([decoded("b")], "1")

    assert queue.statistics().pending == 0
    assert quarantine.count == 2
    assert "ns/a: the transform failed: it returned None; return the object" in caplog.text
